"""The client engine: plaintext bytes and the time in, events and bytes to send out. No socket, no clock.

Rules:
1. One connection, loads one after another. A load asks for the page; when the page is complete, for everything else.
2. A load is finished when each of its streams has ended.
3. The peer's misbehaviour, a reset stream and a GOAWAY while streams are open are one exception: LoadFailed.
"""

from collections.abc import Iterable
from dataclasses import replace

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from h2.events import Event as H2Event
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from client.events import Event, Kind
from client.frames import DataHeader, DataPiece, FrameScanner
from client.plan import Plan, Request
from client.records import Record

_INITIAL_CONNECTION_WINDOW = 65_535  # RFC 9113, 6.9.2: a setting cannot change it, only WINDOW_UPDATE can
_HTTP_OK = "200"


class LoadFailed(Exception):
    """A page load came to nothing; the text says why, and `events` holds what was seen up to then."""

    def __init__(self, reason: str, events: Iterable[Event] = ()) -> None:
        super().__init__(reason)
        self.events = list(events)


class Engine:
    """One client connection, from the preface on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._load = 0
        self._open: dict[int, Request] = {}
        self._names: dict[int, str] = {}
        self._scanner = FrameScanner()
        self._connection = H2Connection(H2Configuration(client_side=True))
        self._connection.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: plan.window_bytes,
            },
        )
        self._connection.initiate_connection()
        if plan.window_bytes > _INITIAL_CONNECTION_WINDOW:
            self._connection.increment_flow_control_window(plan.window_bytes - _INITIAL_CONNECTION_WINDOW)

    @property
    def loading(self) -> bool:
        """Whether the current load still has streams open."""
        return bool(self._open)

    @property
    def unfinished(self) -> list[str]:
        """Names of the resources that have not ended."""
        return [request.name for request in self._open.values()]

    def begin_load(self, now_ns: int) -> list[Event]:
        """Ask for the page of the next load."""
        self._load += 1
        started = Event(t_ns=now_ns, kind=Kind.LOAD_STARTED, load=self._load)
        return [started, self._ask(self._plan.page, now_ns)]

    def data_to_send(self) -> bytes:
        """Plaintext that has to go to the front now."""
        return self._connection.data_to_send()

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """Plaintext from the front, with the TLS record it came in where that is known. Raises LoadFailed."""
        events = [self._seen(piece, now_ns, record) for piece in self._scanner.feed(data)]
        try:
            for h2_event in self._connection.receive_data(data):
                events += [_placed(event, record) for event in self._react(h2_event, now_ns)]
        except ProtocolError as error:
            raise LoadFailed(f"the front broke HTTP/2: {error!r}", events) from error
        except LoadFailed as error:
            raise LoadFailed(str(error), events + error.events) from error
        return events

    def _seen(self, piece: DataHeader | DataPiece, now_ns: int, record: Record | None) -> Event:
        if isinstance(piece, DataHeader):
            kind, size_bytes = Kind.DATA_HEADER, piece.length_bytes
        else:
            kind, size_bytes = Kind.DATA, piece.size_bytes
        return Event(
            t_ns=now_ns,
            kind=kind,
            load=self._load,
            stream_id=piece.stream_id,
            resource=self._names.get(piece.stream_id),
            size_bytes=size_bytes,
            tcp_bytes=record.end_bytes if record else None,
            record_ns=record.started_ns if record else None,
        )

    def _on_stream(self, kind: Kind, stream_id: int, now_ns: int, *, detail: str | None = None) -> Event:
        return Event(
            t_ns=now_ns,
            kind=kind,
            load=self._load,
            stream_id=stream_id,
            resource=self._names.get(stream_id),
            detail=detail,
        )

    def _ask(self, request: Request, now_ns: int) -> Event:
        stream_id = self._connection.get_next_available_stream_id()
        headers = [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", self._plan.server_name),
            (":path", request.path),
            ("user-agent", "priolab"),
        ]
        if request.weight is None:
            self._connection.send_headers(stream_id, headers, end_stream=True)
        else:
            self._connection.send_headers(
                stream_id,
                headers,
                end_stream=True,
                priority_weight=request.weight,
                priority_depends_on=0,
                priority_exclusive=False,
            )
        self._open[stream_id] = request
        self._names[stream_id] = request.name
        detail = None if request.weight is None else f"weight={request.weight}"
        return self._on_stream(Kind.REQUEST_SENT, stream_id, now_ns, detail=detail)

    def _react(self, event: H2Event, now_ns: int) -> list[Event]:
        match event:
            case ResponseReceived(stream_id=int(stream_id), headers=headers):
                status = dict(headers or [])[b":status"].decode(errors="replace")
                if status != _HTTP_OK:
                    raise LoadFailed(f"the front answered {self._names[stream_id]} with status {status}")
                return [self._on_stream(Kind.HEADERS, stream_id, now_ns, detail=status)]
            case DataReceived(stream_id=int(stream_id), flow_controlled_length=int(length)):
                self._connection.acknowledge_received_data(length, stream_id)
                return []
            case StreamEnded(stream_id=int(stream_id)):
                return self._end_stream(stream_id, now_ns)
            case StreamReset(stream_id=int(stream_id), error_code=code):
                reset = self._on_stream(Kind.RESET, stream_id, now_ns, detail=_code_name(code))
                raise LoadFailed(f"the front reset the stream of {reset.resource}: {reset.detail}", [reset])
            case ConnectionTerminated(error_code=code):
                goaway = Event(t_ns=now_ns, kind=Kind.GOAWAY, load=self._load, detail=_code_name(code))
                if self._open:
                    raise LoadFailed(f"the front said GOAWAY ({goaway.detail})", [goaway])
                return [goaway]
        return []

    def _end_stream(self, stream_id: int, now_ns: int) -> list[Event]:
        events = [self._on_stream(Kind.ENDED, stream_id, now_ns)]
        if self._open.pop(stream_id) is self._plan.page:
            events += [self._ask(request, now_ns) for request in self._plan.resources]
        if not self._open:
            events.append(Event(t_ns=now_ns, kind=Kind.LOAD_FINISHED, load=self._load))
        return events


def _placed(event: Event, record: Record | None) -> Event:
    """HEADERS with their place, too: they are in the way of what follows."""
    if record is None or event.kind is not Kind.HEADERS:
        return event
    return replace(event, tcp_bytes=record.end_bytes, record_ns=record.started_ns)


def _code_name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else str(code)
