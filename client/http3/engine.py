"""The engine for HTTP/3, built on aioquic, without socket and clock.

The caller gives the engine the received datagrams and the time. The engine returns events and the datagrams to send.

The engine differs from the interface in client/engine.py in two points: its input and output are datagrams, and QUIC
needs a timer. Times are integer nanoseconds of CLOCK_MONOTONIC; aioquic counts seconds as floating-point numbers.
"""

from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import TextIO

from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection, encode_frame
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

from priolab.client.flow_control_probe import MOST_PARKED_TURNS, PARKED_BYTES, WIDE_BYTES, Valve
from priolab.client.http3.windows import INITIAL_BYTES, HeldConnection
from priolab.client.load_scheduler import LoadFailed, Loads
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import FILLER
from priolab.common.formats.plan import Plan, Request, Steps

_NS = 10**9
_PRIORITY_UPDATE = 0xF0700  # RFC 9218, 7.2, for a request's stream
_CONTROL_STREAM = 2
"""The client's control stream: aioquic makes it first, and 2 is a client's first stream in one direction."""


class Http3Engine:
    """An HTTP/3 client connection, from its first datagram on."""

    def __init__(self, plan: Plan, ca_file: Path, key_log: TextIO) -> None:
        self._plan = plan
        self._loads = Loads(plan)
        self._address = (plan.address, plan.port)
        self._changing = {change.resource for change in plan.changes}
        self._has_changed = False
        self._valve = _valve(plan.steps) if plan.steps else None
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=[plan.protocol],
            server_name=plan.server_name,
            cafile=str(ca_file),
            secrets_log_file=key_log,
            max_data=INITIAL_BYTES if self._valve else plan.whole_window_bytes,
            max_stream_data=PARKED_BYTES if self._valve else plan.window_bytes,
            idle_timeout=plan.load_deadline_ns / _NS,
        )
        self._held = HeldConnection(configuration=configuration) if self._valve else None
        self._connection = self._held or QuicConnection(configuration=configuration)
        self._http: H3Connection | None = None

    @property
    def ready(self) -> bool:
        """True once the handshake is complete."""
        return self._http is not None

    @property
    def loading(self) -> bool:
        """True while the current load has open streams, unless a probe has ended the load early."""
        return self._loads.loading and not (self._valve and self._valve.is_left)

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
        self._has_changed = False
        events = [begun, *self._ask_all(due, now_ns)]
        if self._held:
            for stream_id in self._loads.awaited:
                self._held.enlarge(stream_id, WIDE_BYTES)
        return events

    def quiet(self, now_ns: int) -> list[Event]:
        """Enlarges flow-control windows if the load is a probe; returns the events.

        Called when nothing has arrived for a while.
        """
        if self._held is None or self._valve is None:
            return []
        openings = self._valve.turn(
            self._loads.resources, begun=self._loads.all_answered, left_bytes=self._held.left_bytes
        )
        for opening in openings:
            self._held.enlarge(opening.stream_id, opening.size_bytes)
        return self._loads.opened(openings, now_ns)

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
        begun = any(event.kind is Kind.DATA and event.resource in self._changing for event in events)
        if begun and not self._has_changed:
            self._has_changed = True
            events += self._change(self._changing, now_ns)
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
                fields = dict(headers)
                status = fields.get(b":status", b"1xx").decode(errors="replace")  # trailers have no status
                size = len(fields.get(FILLER.encode(), b""))
                is_final = not status.startswith("1")
                events = [self._loads.answered(stream_id, status, now_ns, None, filler_bytes=size)] if is_final else []
            case DataReceived(stream_id=stream_id, data=data, stream_ended=ended):
                events = [self._loads.event(Kind.DATA, now_ns, stream_id, size_bytes=len(data))] if data else []
            case _:
                return []
        if ended:
            told, due = self._loads.ended(stream_id, now_ns)
            events += told + self._ask_all(due, now_ns)
        return events

    def _ask_all(self, requests: Iterable[Request], now_ns: int) -> list[Event]:
        """Sends requests, and with each the change of its priority if the load's other changes have been sent."""
        events = []
        for request in requests:
            events.append(self._ask(request, now_ns))
            if self._has_changed:
                events += self._change([request.name], now_ns)
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

    def _change(self, names: Container[str], now_ns: int) -> list[Event]:
        """Sends the plan's priority changes for the resources with open streams; returns the events."""
        events = []
        for change in self._plan.changes:
            stream_id = self._loads.open_stream(change.resource)
            if stream_id is None or change.field is None or change.resource not in names:
                continue
            told = encode_uint_var(stream_id) + change.field.encode()
            self._connection.send_stream_data(_CONTROL_STREAM, encode_frame(_PRIORITY_UPDATE, told))
            events.append(self._loads.event(Kind.PRIORITY_SENT, now_ns, stream_id, detail=f"priority: {change.field}"))
        return events


def _valve(steps: Steps) -> Valve:
    return Valve(steps.size_bytes, leave=steps.leave, most_parked=MOST_PARKED_TURNS)
