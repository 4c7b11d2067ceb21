"""Page loads on one connection: which request is due when, and which stream is whose. Pure; what it sees are events.

Rules:
1. Loads come one after another. A load makes the requests that wait for nothing, in order; when a resource is
   complete, those that wait for it.
2. A load is finished when each of its streams has ended.
"""

from collections.abc import Iterable, Sequence

from client.pieces import DataHeader, DataPiece
from client.records import Record
from client.valve import Opening
from common.formats.events import Event, Kind
from common.formats.plan import Plan, Request


class LoadFailed(Exception):
    """A page load came to nothing; the text says why, and `events` holds what was seen up to then."""

    def __init__(self, reason: str, events: Iterable[Event] = ()) -> None:
        super().__init__(reason)
        self.events = list(events)


class Loads:
    """The streams of a connection, for an engine of any protocol. Times are CLOCK_MONOTONIC."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._awaited = {request.after for request in plan.requests}
        self._number = 0
        self._gone: str | None = None
        self._open: dict[int, Request] = {}
        self._answered: set[int] = set()
        self._names: dict[int, str] = {}

    @property
    def loading(self) -> bool:
        """Whether the current load still has streams open."""
        return bool(self._open)

    @property
    def unfinished(self) -> list[str]:
        """Names of the resources that have not ended."""
        return [request.name for request in self._open.values()]

    def begin(self, now_ns: int) -> tuple[Event, Sequence[Request]]:
        """The next load has begun; what it asks for. Raises LoadFailed where the front has said GOAWAY before."""
        self._number += 1
        if self._gone is not None:
            raise LoadFailed(f"the front had said GOAWAY ({self._gone})")
        return self.event(Kind.LOAD_STARTED, now_ns), self._plan.due(None)

    def asked(self, stream_id: int, request: Request, now_ns: int, detail: str | None) -> Event:
        """A request has been made on that stream. detail: the priority that was sent with it."""
        self._open[stream_id] = request
        self._names[stream_id] = request.name
        return self.event(Kind.REQUEST_SENT, now_ns, stream_id, detail=detail)

    def open_stream(self, name: str) -> int | None:
        """The stream of that resource, None if it is not open."""
        return next((stream_id for stream_id, request in self._open.items() if request.name == name), None)

    @property
    def awaited(self) -> list[int]:
        """Open streams of resources that others wait for, as they were requested."""
        return [stream_id for stream_id, request in self._open.items() if request.name in self._awaited]

    @property
    def resources(self) -> list[int]:
        """Open streams of all other resources, as they were requested."""
        return [stream_id for stream_id, request in self._open.items() if request.name not in self._awaited]

    @property
    def all_answered(self) -> bool:
        """Whether all that are open have had their headers."""
        return self._open.keys() <= self._answered

    def is_open(self, stream_id: int) -> bool:
        """Whether that stream has been asked for, and has not ended."""
        return stream_id in self._open

    def is_resource(self, stream_id: int) -> bool:
        """Whether that stream is open, and no other request waits for its resource."""
        request = self._open.get(stream_id)
        return request is not None and request.name not in self._awaited

    def arrived(self, piece: DataHeader | DataPiece, now_ns: int, record: Record | None) -> Event:
        """A DATA frame begins, or payload of it is here."""
        if isinstance(piece, DataHeader):
            kind, size_bytes = Kind.DATA_HEADER, piece.length_bytes
        else:
            kind, size_bytes = Kind.DATA, piece.size_bytes
        return self.event(kind, now_ns, piece.stream_id, size_bytes=size_bytes, record=record)

    def opened(self, openings: Iterable[Opening], now_ns: int) -> list[Event]:
        """Windows have grown."""
        return [
            self.event(Kind.WINDOW_OPENED, now_ns, opening.stream_id or None, size_bytes=opening.size_bytes)
            for opening in openings
        ]

    def ended(self, stream_id: int, now_ns: int) -> tuple[list[Event], Sequence[Request]]:
        """A stream has ended; what to ask for now. Raises KeyError for one that is not open.

        Raises LoadFailed where there is more to ask for and the front is going.
        """
        events = [self.event(Kind.ENDED, now_ns, stream_id)]
        due = self._plan.due(self._open.pop(stream_id).name)
        if due and self._gone is not None:
            raise LoadFailed(f"the front said GOAWAY ({self._gone})", events)
        if not self._open and not due:
            events.append(self.event(Kind.LOAD_FINISHED, now_ns))
        return events, due

    def answered(self, stream_id: int, status: str, now_ns: int, record: Record | None) -> Event:
        """The headers of a response are complete. Raises LoadFailed unless the status is 200.

        They have their place, too: they are in the way of what follows.
        """
        if status != "200":
            raise LoadFailed(f"the front answered {self._names[stream_id]} with status {status}")
        self._answered.add(stream_id)
        return self.event(Kind.HEADERS, now_ns, stream_id, detail=status, record=record)

    def was_reset(self, stream_id: int, code: str, now_ns: int) -> LoadFailed:
        """What to raise when the front has reset a stream."""
        event = self.event(Kind.RESET, now_ns, stream_id, detail=code)
        return LoadFailed(f"the front reset the stream of {event.resource}: {code}", [event])

    def going(self, code: str) -> None:
        """The front is about to say GOAWAY: it came together with what is looked at first."""
        self._gone = code

    def goaway(self, code: str, now_ns: int) -> Event:
        """The front has said GOAWAY. Raises LoadFailed if a stream is open."""
        self.going(code)
        event = self.event(Kind.GOAWAY, now_ns, detail=code)
        if self._open:
            raise LoadFailed(f"the front said GOAWAY ({code})", [event])
        return event

    def event(
        self,
        kind: Kind,
        now_ns: int,
        stream_id: int | None = None,
        *,
        size_bytes: int | None = None,
        detail: str | None = None,
        record: Record | None = None,
    ) -> Event:
        """An event of the current load. record: the TLS record that held it, where that is known."""
        return Event(
            t_ns=now_ns,
            kind=kind,
            load=self._number,
            stream_id=stream_id,
            resource=None if stream_id is None else self._names.get(stream_id),
            size_bytes=size_bytes,
            detail=detail,
            tcp_bytes=record.end_bytes if record else None,
            record_ns=record.started_ns if record else None,
        )
