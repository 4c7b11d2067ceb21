"""The engine for HTTP/2, made of h2; see client/engine.py."""

from dataclasses import replace

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from h2.events import Event as H2Event
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from client.events import Event, Kind
from client.http2.frames import DataHeader, DataPiece, FrameScanner
from client.loads import LoadFailed, Loads
from client.plan import Plan, Request
from client.records import Record

_INITIAL_CONNECTION_WINDOW = 65_535  # RFC 9113, 6.9.2: a setting cannot change it, only WINDOW_UPDATE can


class Http2Engine:
    """One client connection, from the preface on; see Engine."""

    def __init__(self, plan: Plan) -> None:
        self._server_name = plan.server_name
        self._loads = Loads(plan)
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
        """See Engine."""
        return self._loads.loading

    @property
    def unfinished(self) -> list[str]:
        """See Engine."""
        return self._loads.unfinished

    def begin_load(self, now_ns: int) -> list[Event]:
        """See Engine."""
        begun, page = self._loads.begin(now_ns)
        return [begun, self._ask(page, now_ns)]

    def data_to_send(self) -> bytes:
        """See Engine."""
        return self._connection.data_to_send()

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """See Engine."""
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
        return self._loads.event(kind, now_ns, piece.stream_id, size_bytes=size_bytes, record=record)

    def _ask(self, request: Request, now_ns: int) -> Event:
        stream_id = self._connection.get_next_available_stream_id()
        headers = [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", self._server_name),
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
        detail = None if request.weight is None else f"weight={request.weight}"
        return self._loads.asked(stream_id, request, now_ns, detail)

    def _react(self, event: H2Event, now_ns: int) -> list[Event]:
        match event:
            case ResponseReceived(stream_id=int(stream_id), headers=headers):
                status = dict(headers or [])[b":status"].decode(errors="replace")
                return [self._loads.answered(stream_id, status, now_ns)]
            case DataReceived(stream_id=int(stream_id), flow_controlled_length=int(length)):
                self._connection.acknowledge_received_data(length, stream_id)
                return []
            case StreamEnded(stream_id=int(stream_id)):
                events, due = self._loads.ended(stream_id, now_ns)
                return events + [self._ask(request, now_ns) for request in due]
            case StreamReset(stream_id=int(stream_id), error_code=code):
                raise self._loads.was_reset(stream_id, _code_name(code), now_ns)
            case ConnectionTerminated(error_code=code):
                return [self._loads.goaway(_code_name(code), now_ns)]
        return []


def _placed(event: Event, record: Record | None) -> Event:
    """HEADERS with their place, too: they are in the way of what follows."""
    if record is None or event.kind is not Kind.HEADERS:
        return event
    return replace(event, tcp_bytes=record.end_bytes, record_ns=record.started_ns)


def _code_name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else str(code)
