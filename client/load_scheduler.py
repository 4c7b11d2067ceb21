"""Page loads on one connection: the requests that are due, the resource of each stream, and the events. Pure.

Rules:
1. Loads come one after another. A load begins with the requests that wait for nothing, in the plan's order. When a
   resource is complete, the requests that wait for it follow. A request may have a further time to wait.
2. A load is finished when each of its streams has ended, and no request is waiting.
"""

from collections.abc import Iterable, Sequence

from priolab.client.data_frames import DataHeader, DataPiece
from priolab.client.flow_control_probe import Opening
from priolab.client.records import Record
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import FILLER
from priolab.common.formats.plan import Plan, Request


class LoadFailed(Exception):
    """A page load failed. The text gives the reason. events: the load's events that are not yet recorded."""

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
        self._waiting: list[tuple[int, Request]] = []
        self._answered: set[int] = set()
        self._names: dict[int, str] = {}
        self._header_bytes = {each.name: each.header_bytes for each in plan.page.resources}

    @property
    def loading(self) -> bool:
        """True while the current load has open streams, or requests that wait for their time."""
        return bool(self._open or self._waiting)

    @property
    def next_due_ns(self) -> int | None:
        """The time at which the next request is due; None if none waits for its time."""
        return min((due_ns for due_ns, _ in self._waiting), default=None)

    def now_due(self, now_ns: int) -> Sequence[Request]:
        """Returns the requests whose time has come, in the order of their times.

        Raises LoadFailed if there are some after a GOAWAY of the front.
        """
        due = [request for due_ns, request in sorted(self._waiting, key=lambda each: each[0]) if due_ns <= now_ns]
        self._waiting = [each for each in self._waiting if each[0] > now_ns]
        if due and self._gone is not None:
            raise LoadFailed(f"the front sent GOAWAY ({self._gone})")
        return due

    def _at_once(self, requests: Iterable[Request], now_ns: int) -> Sequence[Request]:
        """Returns those requests that have no time to wait, and keeps the others until their time."""
        requests = list(requests)
        self._waiting += [(now_ns + request.wait_ns, request) for request in requests if request.wait_ns]
        return [request for request in requests if not request.wait_ns]

    @property
    def unfinished(self) -> list[str]:
        """Names of the requested resources whose streams have not ended."""
        return [request.name for request in self._open.values()]

    def begin(self, now_ns: int) -> tuple[Event, Sequence[Request]]:
        """Begins the next load; returns the event `load-started` and the load's first requests.

        Raises LoadFailed after a GOAWAY of the front.
        """
        self._number += 1
        if self._gone is not None:
            raise LoadFailed(f"the front had sent GOAWAY ({self._gone})")
        return self.event(Kind.LOAD_STARTED, now_ns), self._at_once(self._plan.due(None), now_ns)

    def asked(self, stream_id: int, request: Request, now_ns: int, detail: str | None) -> Event:
        """Notes that the request was sent on that stream; returns the event. detail: the request's priority signal."""
        self._open[stream_id] = request
        self._names[stream_id] = request.name
        return self.event(Kind.REQUEST_SENT, now_ns, stream_id, detail=detail)

    def named(self, stream_id: int, name: str) -> None:
        """Gives a stream that is no part of a load a name for its events."""
        self._names[stream_id] = name

    def open_stream(self, name: str) -> int | None:
        """Returns the open stream of the resource of that name; None if the resource has no open stream."""
        return next((stream_id for stream_id, request in self._open.items() if request.name == name), None)

    def number(self, name: str) -> int:
        """Returns the number of the newest stream of a resource, which may have ended. Raises KeyError."""
        return {name: stream_id for stream_id, name in self._names.items()}[name]

    @property
    def awaited(self) -> list[int]:
        """Open streams of the resources that other resources wait for, in the order of their requests."""
        return [stream_id for stream_id, request in self._open.items() if request.name in self._awaited]

    @property
    def resources(self) -> list[int]:
        """Open streams of the resources that no other resource waits for, in the order of their requests."""
        return [stream_id for stream_id, request in self._open.items() if request.name not in self._awaited]

    @property
    def resources_by_name(self) -> dict[str, int]:
        """Open streams of the resources that no other resource waits for, by name, in the order of their requests."""
        return {self._open[stream_id].name: stream_id for stream_id in self.resources}

    @property
    def all_answered(self) -> bool:
        """True if the response headers of all open streams have arrived."""
        return self._open.keys() <= self._answered

    def is_open(self, stream_id: int) -> bool:
        """True if a request was sent on that stream and the stream has not ended."""
        return stream_id in self._open

    def arrived(self, piece: DataHeader | DataPiece, now_ns: int, record: Record | None) -> Event:
        """Returns the event for the header of a DATA frame, or for a piece of its payload."""
        if isinstance(piece, DataHeader):
            kind, size_bytes = Kind.DATA_HEADER, piece.length_bytes
        else:
            kind, size_bytes = Kind.DATA, piece.size_bytes
        return self.event(kind, now_ns, piece.stream_id, size_bytes=size_bytes, record=record)

    def opened(self, openings: Iterable[Opening], now_ns: int) -> list[Event]:
        """Returns the events for windows that a probe has enlarged."""
        return [
            self.event(Kind.WINDOW_OPENED, now_ns, opening.stream_id, size_bytes=opening.size_bytes)
            for opening in openings
        ]

    def ended(self, stream_id: int, now_ns: int) -> tuple[list[Event], Sequence[Request]]:
        """Notes the end of a stream; returns the events and the requests to make now.

        Raises KeyError if the stream is not open, and LoadFailed if requests are due after a GOAWAY of the front.
        """
        events = [self.event(Kind.ENDED, now_ns, stream_id)]
        due = self._at_once(self._plan.due(self._open.pop(stream_id).name), now_ns)
        if due and self._gone is not None:
            raise LoadFailed(f"the front sent GOAWAY ({self._gone})", events)
        if not self._open and not due and not self._waiting:
            events.append(self.event(Kind.LOAD_FINISHED, now_ns))
        return events, due

    def answered(
        self, stream_id: int, status: str, now_ns: int, record: Record | None, *, filler_bytes: int = 0
    ) -> Event:
        """Notes that a response's headers are complete; returns the event.

        Raises LoadFailed unless the status is 200 and the headers have the page's `header_bytes`.
        filler_bytes: the size of the header field FILLER. record: the TLS record of the headers. The event has the
        record's position, as headers delay the bytes behind them.
        """
        if status != "200":
            raise LoadFailed(f"the front answered {self._names[stream_id]} with status {status}")
        name = self._names[stream_id]
        if (sent_bytes := self._header_bytes.get(name, 0)) and filler_bytes != sent_bytes:
            raise LoadFailed(f"{FILLER} of {name} has {filler_bytes} bytes at the client, {sent_bytes} at the origin")
        self._answered.add(stream_id)
        return self.event(Kind.HEADERS, now_ns, stream_id, detail=status, record=record)

    def was_reset(self, stream_id: int, code: str, now_ns: int) -> LoadFailed:
        """Returns the exception to raise when the front has reset a stream. code: the error code, as text."""
        event = self.event(Kind.RESET, now_ns, stream_id, detail=code)
        return LoadFailed(f"the front reset the stream of {event.resource}: {code}", [event])

    def going(self, code: str) -> None:
        """Notes a GOAWAY before the frames that arrived with it are handled: those frames must cause no requests.

        code: the error code, as text.
        """
        self._gone = code

    def goaway(self, code: str, now_ns: int) -> Event:
        """Handles a GOAWAY of the front. Raises LoadFailed if a stream is open. code: the error code, as text."""
        self.going(code)
        event = self.event(Kind.GOAWAY, now_ns, detail=code)
        if self._open:
            raise LoadFailed(f"the front sent GOAWAY ({code})", [event])
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
        """Returns an event of the current load. record: the TLS record whose bytes caused it, if known."""
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
