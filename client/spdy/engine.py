"""The client's engine for SPDY/3.1. client/engine.py has the interface of engines.

Rules:
1. Requests are GETs without a body, so only the client's receive windows matter. The client reopens a window when half
   of it is used; in a probe client/flow_control_probe.py enlarges the windows.
2. Pushed streams would take capacity of the link from requested streams. The client announces that it allows no pushed
   streams, as it does in HTTP/2. If the front opens a pushed stream nevertheless, the load fails.
3. If received bytes violate the protocol, the events of the bytes before the violation are reported, too.
4. The client sends no WINDOW_UPDATE for a stream that may have ended. A sender must ignore such a WINDOW_UPDATE (SPDY
   draft 3.1, 2.6.8), but spdy-transport resets the stream, and the reset overtakes waiting DATA.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab.client.data_frames import DataHeader, DataPiece
from priolab.client.flow_control_probe import PARKED_BYTES, WIDE_BYTES, Valve
from priolab.client.load_scheduler import LoadFailed, Loads
from priolab.client.priorities import NO_ORDER_LEVEL
from priolab.client.records import Record
from priolab.client.spdy import frames
from priolab.client.spdy.blocks import BlockReader, BlockWriter
from priolab.client.spdy.frames import Breach, FrameReader, Setting
from priolab.common.formats.events import Event
from priolab.common.formats.page import FILLER
from priolab.common.formats.plan import Plan, Request

SESSION_BYTES = 64 * 1024
"""The session's initial window; no setting changes it."""


class Window:
    """A flow-control window: the bytes of DATA payload that the peer may still send.

    whose: the window's owner, a stream or the session, for error messages.
    """

    def __init__(self, whose: str, size_bytes: int) -> None:
        self._whose = whose
        self._size_bytes = size_bytes
        self._taken_bytes = 0
        self.left_bytes = size_bytes

    def check(self, size_bytes: int) -> None:
        """Raises Breach if the peer may not send size_bytes."""
        if size_bytes > self.left_bytes:
            raise Breach(f"{size_bytes} bytes of DATA, but the window of {self._whose} allows {self.left_bytes}")

    def take(self, size_bytes: int) -> None:
        """Reduces the window by size_bytes of received DATA payload."""
        self.left_bytes -= size_bytes
        self._taken_bytes += size_bytes

    def open(self, size_bytes: int) -> None:
        """Allows the peer to send size_bytes more."""
        self.left_bytes += size_bytes

    def refill(self) -> int:
        """Opens the window to its full size if half of the window is used up.

        Returns the increase in bytes; 0 if the window stays as it is.
        """
        if 2 * self._taken_bytes < self._size_bytes:
            return 0
        taken, self._taken_bytes = self._taken_bytes, 0
        self.left_bytes += taken
        return taken


_LENGTH_DIGITS = 12
_RESETS = {
    1: "PROTOCOL_ERROR",
    2: "INVALID_STREAM",
    3: "REFUSED_STREAM",
    4: "UNSUPPORTED_VERSION",
    5: "CANCEL",
    6: "INTERNAL_ERROR",
    7: "FLOW_CONTROL_ERROR",
    8: "STREAM_IN_USE",
    9: "STREAM_ALREADY_CLOSED",
    11: "FRAME_TOO_LARGE",
}
_GOAWAYS = {0: "OK", 1: "PROTOCOL_ERROR", 2: "INTERNAL_ERROR"}


@dataclass
class _Stream:
    """An open stream. promised_bytes: the response's content-length; None without one."""

    window: Window
    is_answered: bool = False
    promised_bytes: int | None = None
    received_bytes: int = 0

    @property
    def may_have_ended(self) -> bool:
        """True if the front may have sent the whole response: the stream's window has room for the missing bytes."""
        return self.promised_bytes is not None and self.promised_bytes - self.received_bytes <= self.window.left_bytes


class SpdyEngine:
    """A SPDY client session, from its first frame on. Implements the interface Engine (client/engine.py)."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._loads = Loads(plan)
        self._valve = Valve(plan.steps.size_bytes, leave=plan.steps.leave) if plan.steps else None
        self._window_bytes = PARKED_BYTES if self._valve else plan.window_bytes
        self._streams: dict[int, _Stream] = {}
        self._next_stream = 1
        self._most_streams: int | None = None
        self._reader = FrameReader()
        self._packer = BlockWriter()
        self._unpacker = BlockReader()
        self._outgoing = frames.settings(
            {Setting.MAX_CONCURRENT_STREAMS: 0, Setting.INITIAL_WINDOW_SIZE: self._window_bytes}
        )
        offered = SESSION_BYTES if self._valve else max(plan.whole_window_bytes, SESSION_BYTES)
        self._session = Window("the session", offered)
        if offered > SESSION_BYTES:
            self._outgoing += frames.window_update(0, offered - SESSION_BYTES)

    @property
    def loading(self) -> bool:
        """True while the current load has open streams, unless a probe has ended the load early."""
        return self._loads.loading and not (self._valve and self._valve.is_left)

    @property
    def unfinished(self) -> list[str]:
        """Names of the requested resources whose streams have not ended."""
        return self._loads.unfinished

    def begin_load(self, now_ns: int) -> list[Event]:
        """Begins the next load by requesting the page; returns the events. Raises LoadFailed."""
        begun, due = self._loads.begin(now_ns)
        events = [begun, *self._ask(due, now_ns)]
        if self._valve:
            for stream_id in self._loads.awaited:
                self._open(stream_id, WIDE_BYTES)
        return events

    @property
    def next_due_ns(self) -> int | None:
        """The time at which the next request is due; None if none waits for its time."""
        return self._loads.next_due_ns

    def wake(self, now_ns: int) -> list[Event]:
        """Requests the resources whose time has come; returns the events. Raises LoadFailed."""
        return self._ask(self._loads.now_due(now_ns), now_ns)

    def data_to_send(self) -> bytes:
        """Returns the plaintext to send to the front now."""
        outgoing, self._outgoing = self._outgoing, b""
        return outgoing

    def quiet(self, now_ns: int) -> list[Event]:
        """Enlarges flow-control windows if the load is a probe; returns the events.

        Called when nothing has arrived for a while.
        """
        if self._valve is None:
            return []
        openings = self._valve.turn(
            self._loads.resources, begun=self._loads.all_answered, left_bytes=self._session.left_bytes
        )
        for opening in openings:
            self._open(opening.stream_id, opening.size_bytes)
        return self._loads.opened(openings, now_ns)

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """Handles plaintext from the front; returns the events. Raises LoadFailed.

        now_ns: the arrival time, CLOCK_MONOTONIC. record: the TLS record of the plaintext, if known.
        """
        events: list[Event] = []
        try:
            for seen in self._reader.feed(data):
                events += self._react(seen, now_ns, record)
                if isinstance(seen, frames.Block) and seen.is_last:
                    events += self._end(seen.stream_id, now_ns)
        except Breach as breach:
            raise LoadFailed(f"the front broke SPDY: {breach}", events) from breach
        except LoadFailed as error:
            raise LoadFailed(str(error), events + error.events) from error
        return events

    def _ask(self, requests: Sequence[Request], now_ns: int) -> list[Event]:
        """Sends requests; returns the events. Raises LoadFailed if the front does not allow so many streams."""
        if self._most_streams is not None and len(self._streams) + len(requests) > self._most_streams:
            raise LoadFailed(f"the front allows no more than {self._most_streams} streams at once")
        return [self._ask_one(request, now_ns) for request in requests]

    def _ask_one(self, request: Request, now_ns: int) -> Event:
        stream_id, self._next_stream = self._next_stream, self._next_stream + 2
        level = NO_ORDER_LEVEL if request.signals.level is None else request.signals.level
        fields = {
            ":method": "GET",
            ":path": request.path,
            ":version": "HTTP/1.1",
            ":host": self._plan.authority,
            ":scheme": "https",
            "user-agent": "priolab",
        }
        packed = self._packer.pack(fields)
        self._outgoing += frames.syn_stream(stream_id, level, packed)
        self._streams[stream_id] = _Stream(Window(f"stream {stream_id}", self._window_bytes))
        return self._loads.asked(stream_id, request, now_ns, f"priority={level}")

    def _open(self, stream_id: int | None, size_bytes: int) -> None:
        window = self._session if stream_id is None else self._streams[stream_id].window
        window.open(size_bytes)
        self._outgoing += frames.window_update(stream_id or 0, size_bytes)

    def _react(self, seen: frames.Seen, now_ns: int, record: Record | None) -> list[Event]:
        match seen:
            case DataHeader(stream_id=stream_id, length_bytes=length):
                self._check_data(stream_id, length)
                return [self._loads.arrived(seen, now_ns, record)]
            case DataPiece(stream_id=stream_id, size_bytes=size):
                self._take(stream_id, size)
                return [self._loads.arrived(seen, now_ns, record)]
            case frames.DataEnd(stream_id=stream_id):
                return self._end(stream_id, now_ns)
            case frames.Block():
                return self._read_block(seen, now_ns, record)
            case frames.RstStream(stream_id=stream_id, status=status):
                self._check_known(stream_id, "RST_STREAM")
                if stream_id in self._streams:
                    raise self._loads.was_reset(stream_id, _RESETS.get(status, str(status)), now_ns)
            case frames.Settings(values=values):
                self._most_streams = values.get(Setting.MAX_CONCURRENT_STREAMS, self._most_streams)
            case frames.Ping(number=number) if number % 2 == 0:
                self._outgoing += frames.ping(number)
            case frames.Goaway(status=status):
                return [self._loads.goaway(_GOAWAYS.get(status, str(status)), now_ns)]
            case frames.WindowUpdate(stream_id=stream_id, delta_bytes=delta):
                if stream_id:
                    self._check_known(stream_id, "WINDOW_UPDATE")
                if not delta:
                    raise Breach("a WINDOW_UPDATE of 0 bytes")
            case frames.SynStream(stream_id=stream_id):
                raise Breach(f"it opened stream {stream_id}, but it may not open streams")
        return []

    def _check_known(self, stream_id: int, what: str) -> None:
        """Raises Breach if the client never opened the stream. what: the type of the front's frame."""
        if stream_id % 2 == 0 or stream_id >= self._next_stream:
            raise Breach(f"{what} on stream {stream_id}, which was never opened")

    def _check_data(self, stream_id: int, length: int) -> None:
        self._check_known(stream_id, "DATA")
        stream = self._streams.get(stream_id)
        if stream is None:
            raise Breach(f"DATA on stream {stream_id}, which has ended")
        if not stream.is_answered:
            raise Breach(f"DATA on stream {stream_id} before SYN_REPLY")
        stream.window.check(length)
        self._session.check(length)

    def _take(self, stream_id: int, size: int) -> None:
        stream = self._streams[stream_id]
        stream.received_bytes += size
        for window, number in ((self._session, 0), (stream.window, stream_id)):
            window.take(size)
            if self._valve or (number and stream.may_have_ended):
                continue
            if delta := window.refill():
                self._outgoing += frames.window_update(number, delta)

    def _read_block(self, block: frames.Block, now_ns: int, record: Record | None) -> list[Event]:
        """Reads a SYN_REPLY or HEADERS; returns the events. Fields of HEADERS are ignored. Raises Breach."""
        what = "SYN_REPLY" if block.is_reply else "HEADERS"
        self._check_known(block.stream_id, what)
        fields = self._unpacker.unpack(block.block)
        stream = self._streams.get(block.stream_id)
        if stream is None:
            raise Breach(f"{what} on stream {block.stream_id}, which has ended")
        if stream.is_answered is block.is_reply:
            order = "a second SYN_REPLY" if block.is_reply else "HEADERS before SYN_REPLY"
            raise Breach(f"{order} on stream {block.stream_id}")
        events = []
        if block.is_reply:
            if not (status := fields.get(":status", "")) or ":version" not in fields:
                raise Breach(f"a SYN_REPLY on stream {block.stream_id} without :status or :version")
            stream.is_answered = True
            stream.promised_bytes = _length(fields.get("content-length"))
            code, size = status.partition(" ")[0], len(fields.get(FILLER, ""))
            events = [self._loads.answered(block.stream_id, code, now_ns, record, filler_bytes=size)]
        return events

    def _end(self, stream_id: int, now_ns: int) -> list[Event]:
        stream = self._streams.pop(stream_id)
        if stream.promised_bytes not in (None, stream.received_bytes):
            raise Breach(
                f"stream {stream_id} ended after {stream.received_bytes} bytes of DATA; its content-length was"
                f" {stream.promised_bytes}"
            )
        events, due = self._loads.ended(stream_id, now_ns)
        try:
            return events + self._ask(due, now_ns)
        except LoadFailed as error:
            raise LoadFailed(str(error), events) from error


def _length(text: str | None) -> int | None:
    """Parses the value of a content-length field. Raises Breach."""
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LENGTH_DIGITS):
        raise Breach(f"a content-length of {text!r}")
    return int(text)
