"""The engine for HTTP/3, built on aioquic, without socket and clock.

The caller gives the engine the received datagrams and the time. The engine returns events and the datagrams to send.

The engine differs from the interface in client/engine.py in two points: its input and output are datagrams, and QUIC
needs a timer. Times are integer nanoseconds of CLOCK_MONOTONIC; aioquic counts seconds as floating-point numbers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.h3.exceptions import H3Error
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    QuicEvent,
    StopSendingReceived,
    StreamReset,
)

from client.loads import LoadFailed, Loads
from common.formats.events import Event, Kind
from common.formats.plan import Plan, Request

_NS = 10**9


class Http3Engine:
    """An HTTP/3 client connection, from its first datagram on."""

    def __init__(self, plan: Plan, ca_file: Path, key_log: TextIO) -> None:
        self._plan = plan
        self._loads = Loads(plan)
        self._address = (plan.address, plan.port)
        self._connection = QuicConnection(
            configuration=QuicConfiguration(
                is_client=True,
                alpn_protocols=[plan.protocol],
                server_name=plan.server_name,
                cafile=str(ca_file),
                secrets_log_file=key_log,
                max_data=plan.window_bytes,
                max_stream_data=plan.window_bytes,
                idle_timeout=plan.load_deadline_ns / _NS,
            )
        )
        self._http: H3Connection | None = None

    @property
    def ready(self) -> bool:
        """True once the handshake is complete."""
        return self._http is not None

    @property
    def loading(self) -> bool:
        """True while the current load has open streams."""
        return self._loads.loading

    @property
    def unfinished(self) -> list[str]:
        """Names of the requested resources whose streams have not ended."""
        return self._loads.unfinished

    def connect(self, now_ns: int) -> None:
        """Begins QUIC's handshake."""
        self._connection.connect(self._address, now=now_ns / _NS)

    def begin_load(self, now_ns: int) -> list[Event]:
        """Begins the next load by requesting the page; returns the events. Raises LoadFailed.

        The handshake must be complete.
        """
        begun, due = self._loads.begin(now_ns)
        return [begun, *(self._ask(request, now_ns) for request in due)]

    def datagrams_to_send(self, now_ns: int) -> Sequence[bytes]:
        """Returns the datagrams to send to the front now."""
        return [data for data, _ in self._connection.datagrams_to_send(now=now_ns / _NS)]

    @property
    def timer_ns(self) -> int | None:
        """The latest time at which `wake` must be called; None if no timer is set."""
        timer = self._connection.get_timer()
        return None if timer is None else round(timer * _NS)

    def wake(self, now_ns: int) -> list[Event]:
        """Handles the timer; returns the events that this causes. Raises LoadFailed."""
        self._connection.handle_timer(now=now_ns / _NS)
        return self._take(now_ns)

    def receive(self, datagram: bytes, now_ns: int) -> list[Event]:
        """Handles a datagram from the front; returns the events that it causes. Raises LoadFailed."""
        self._connection.receive_datagram(datagram, self._address, now=now_ns / _NS)
        return self._take(now_ns)

    def close(self) -> None:
        """Closes the connection. The next datagrams to send inform the front."""
        self._connection.close()

    def _take(self, now_ns: int) -> list[Event]:
        events: list[Event] = []
        try:
            while (event := self._connection.next_event()) is not None:
                events += self._of_quic(event, now_ns)
        except H3Error as error:
            raise LoadFailed(f"the front broke HTTP/3: {error!r}", events) from error
        except LoadFailed as error:
            raise LoadFailed(str(error), events + error.events) from error
        return events

    def _of_quic(self, event: QuicEvent, now_ns: int) -> list[Event]:
        match event:
            case HandshakeCompleted(alpn_protocol=chosen):
                if chosen != self._plan.protocol:
                    raise LoadFailed(f"the front chose {chosen!r} by ALPN, not {self._plan.protocol}")
                self._http = H3Connection(self._connection)
                return [self._loads.event(Kind.SECURED, now_ns)]
            case ConnectionTerminated(error_code=code, reason_phrase=phrase):
                why = f"{code:#x}{f', {phrase}' if phrase else ''}"
                if not self.ready:
                    raise LoadFailed(f"the handshake failed ({why})")
                return [self._loads.goaway(why, now_ns)]
            case (
                StreamReset(stream_id=stream_id, error_code=code)
                | StopSendingReceived(stream_id=stream_id, error_code=code)
            ) if self._loads.is_open(stream_id):
                raise self._loads.was_reset(stream_id, f"{code:#x}", now_ns)
        if self._http is None:
            return []
        events = []
        for found in self._http.handle_event(event):
            events += self._of_http(found, now_ns)
        return events

    def _of_http(self, event: H3Event, now_ns: int) -> list[Event]:
        match event:
            case HeadersReceived(stream_id=stream_id) | DataReceived(stream_id=stream_id) if not self._loads.is_open(
                stream_id
            ):
                raise LoadFailed(f"the front opened stream {stream_id}, or used it after its end")
            case HeadersReceived(stream_id=stream_id, headers=headers, stream_ended=ended):
                status = dict(headers).get(b":status", b"1xx").decode(errors="replace")  # trailers have no status
                events = [] if status.startswith("1") else [self._loads.answered(stream_id, status, now_ns, None)]
            case DataReceived(stream_id=stream_id, data=data, stream_ended=ended):
                events = [self._loads.event(Kind.DATA, now_ns, stream_id, size_bytes=len(data))] if data else []
            case _:
                return []
        if ended:
            told, due = self._loads.ended(stream_id, now_ns)
            events += told + [self._ask(request, now_ns) for request in due]
        return events

    def _ask(self, request: Request, now_ns: int) -> Event:
        assert self._http is not None, "no request can be sent before the handshake is complete"
        stream_id = self._connection.get_next_available_stream_id()
        field = request.signals.field
        headers = {
            ":method": "GET",
            ":scheme": "https",
            ":authority": self._plan.authority,
            ":path": request.path,
            "user-agent": "priolab",
            **({"priority": field} if field else {}),
        }
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._http.send_headers(stream_id, encoded, end_stream=True)
        return self._loads.asked(stream_id, request, now_ns, f"priority: {field}" if field else None)
