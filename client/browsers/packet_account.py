"""Converts the packets of a browser's connections and its TLS secrets into the account of its actions. Pure.

Rules:
1. All frames, sent and received, are decoded from the packets. So an event's time is the time at which the kernel
   received or sent the last packet of the TLS record.
2. A connection whose browser never sent HTTP/2's preface carried no requests.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

import dpkt
from h2.settings import SettingCodes
from hpack import Decoder
from hyperframe.frame import Frame as WireFrame
from hyperframe.frame import HeadersFrame, PriorityFrame

from priolab.client.browsers.browser_events import (
    FIRST_WINDOW_BYTES,
    Account,
    AccountWriter,
    initial_window_bytes,
    settings_in,
)
from priolab.client.browsers.connections import Connection
from priolab.client.browsers.tls13 import (
    Direction,
    Plaintext,
    Secrets,
    Unreadable,
    client_random,
    handshake_ended_ns,
    suite_of,
)
from priolab.client.http2.walker import PREFACE, Ended, FrameKind, FrameWalker
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan
from priolab.common.priority_signals import Saying
from priolab.common.tcp_streams import Stream, connections


@dataclass(frozen=True, kw_only=True)
class _Flow:
    """A connection: the browser's port, when it was established, and its two streams."""

    port: int
    connected_ns: int
    up: Stream
    down: Stream
    sent: tuple[Plaintext, ...]

    @property
    def speaks_http2(self) -> bool:
        return b"".join(plain.data for plain in self.sent[:2]).startswith(PREFACE)


class _Blocks:
    """Decodes the header blocks of one direction, in order."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._block = b""

    def fields(self, seen: Ended) -> dict[str, str] | None:
        """Returns the header fields that a HEADERS or CONTINUATION frame completes; None if more frames follow."""
        wire = _wire(seen)
        self._block += wire.data if isinstance(wire, HeadersFrame) else seen.payload
        if not seen.frame.ends_headers:
            return None
        fields = {_text(name): _text(value) for name, value in self._decoder.decode(self._block)}
        self._block = b""
        return fields


def _text(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _wire(seen: Ended) -> WireFrame:
    """Returns a frame with its fields parsed."""
    frame = seen.frame
    head = frame.length_bytes.to_bytes(3) + bytes([frame.kind, frame.flags]) + frame.stream_id.to_bytes(4)
    parsed, _ = WireFrame.parse_frame_header(memoryview(head))
    parsed.parse_body(memoryview(seen.payload))
    return parsed


def account(packets: Iterable[tuple[int, dpkt.tcp.TCP]], secrets: Secrets, plan: Plan, address: str) -> Account:
    """Converts packets into the report of the browser's actions.

    packets: the packets from and to the front, in order of time. secrets: the TLS secrets that the browser logged.
    address: the browser's address. Raises Unreadable if the measured connection cannot be decrypted.
    """
    made = Account()
    flows = [
        _flow(port, up.stream(), down.stream(), down.opened_ns, secrets)
        for port, (up, down) in connections(packets, plan.port).items()
    ]
    requests = {flow.port: list(_requests(flow)) for flow in flows}
    made.connections = [_listed(flow, len(requests[flow.port]), plan, address) for flow in flows if flow.connected_ns]
    page = plan.requests[0].path
    loads = sorted((t_ns, flow.port) for flow in flows for t_ns, path in requests[flow.port] if path == page)
    if not loads:
        alpn = ", ".join(str(each.alpn) for each in made.connections) or "no connection was made"
        made.trouble = LoadFailed(f"the browser requested no page over HTTP/2 (ALPN: {alpn})")
        return made
    flow = next(flow for flow in flows if flow.port == loads[-1][1])
    elsewhere = [t_ns for t_ns, port in loads if port != flow.port]
    _Following(flow, secrets, plan, made, elsewhere).follow(address)
    return made


def _flow(port: int, up: Stream, down: Stream, connected_ns: int, secrets: Secrets) -> _Flow:
    """Decrypts what the browser sent. A connection that cannot be decrypted has sent nothing."""
    sent: list[Plaintext] = []
    try:
        if up.content and down.content:
            client = Direction(secrets, "CLIENT", client_random(up.content), suite_of(down.content))
            sent = [plain for t_ns, data in up.pieces() for plain in client.feed(data, t_ns)]
    except Unreadable:
        sent = []
    return _Flow(port=port, connected_ns=connected_ns, up=up, down=down, sent=tuple(sent))


def _listed(flow: _Flow, requests: int, plan: Plan, address: str) -> Connection:
    return Connection(
        local=f"{address}:{flow.port}",
        remote=f"{plan.address}:{plan.port}",
        tls="TLS 1.3" if flow.sent else None,
        alpn="h2" if flow.speaks_http2 else None,
        requests=requests,
        received_bytes=len(flow.down.content),
    )


def _requests(flow: _Flow) -> Iterator[tuple[int, str]]:
    """Yields the time and the path of each request of a connection."""
    walker, blocks = FrameWalker(preface=True), _Blocks()
    if not flow.speaks_http2:
        return
    for plain in flow.sent:
        for seen in walker.feed(plain.data):
            if isinstance(seen, Ended) and seen.frame.kind in (FrameKind.HEADERS, FrameKind.CONTINUATION):
                fields = blocks.fields(seen)
                if fields and ":path" in fields:
                    yield plain.record.received_ns, fields[":path"]


class _Following:
    """A pass over the two streams of a connection, which writes its account."""

    def __init__(self, flow: _Flow, secrets: Secrets, plan: Plan, made: Account, elsewhere: list[int]) -> None:
        self._flow, self._made, self._elsewhere = flow, made, elsewhere
        self._server = Direction(secrets, "SERVER", client_random(flow.up.content), suite_of(flow.down.content))
        self._sent = FrameWalker(preface=True)
        self._asked_blocks, self._answered_blocks = _Blocks(), _Blocks()
        self._asked: Saying | None = None
        self._statuses: dict[int, str] = {}
        self._writer = AccountWriter(plan, made, self._status_of)

    def follow(self, address: str) -> None:
        """Writes the account. address: the browser's. Raises Unreadable."""
        flow = self._flow
        self._writer.connected(flow.connected_ns, address, flow.port)
        secured_ns = handshake_ended_ns(flow.up.pieces())
        if secured_ns is not None:
            self._writer.secured(secured_ns)
        happened: list[tuple[int, Plaintext | bytes | None]] = [(t_ns, None) for t_ns in self._elsewhere]
        happened += [(plain.record.received_ns, plain) for plain in flow.sent]
        happened += flow.down.pieces()
        for t_ns, what in sorted(happened, key=itemgetter(0)):
            match what:
                case None:
                    self._writer.loaded_elsewhere()
                case Plaintext():
                    self._has_sent(what)
                case data:
                    for plain in self._server.feed(data, t_ns):
                        self._writer.arrived(plain)
                    self._made.arrivals.append((t_ns, self._server.received_bytes))
        self._writer.conclude()

    def _has_sent(self, plain: Plaintext) -> None:
        t_ns = plain.record.received_ns
        for seen in self._sent.feed(plain.data):
            if isinstance(seen, Ended):
                self._made.frames_sent[seen.frame.name] += 1
                self._frame_sent(seen, t_ns)

    def _frame_sent(self, seen: Ended, t_ns: int) -> None:
        number = seen.frame.stream_id
        match seen.frame.kind:
            case FrameKind.HEADERS | FrameKind.CONTINUATION:
                if seen.frame.kind == FrameKind.HEADERS:
                    self._asked = _saying(_wire(seen), t_ns)
                fields = self._asked_blocks.fields(seen)
                if fields and ":path" in fields and self._asked:
                    self._writer.requested(fields[":path"], replace(self._asked, field=fields.get("priority")))
            case FrameKind.PRIORITY:
                self._writer.said_later(_saying(_wire(seen), t_ns))
            case FrameKind.PRIORITY_UPDATE:
                self._writer.updated(seen, t_ns)
            case FrameKind.SETTINGS:
                self._made.settings += [_setting(*pair) for pair in settings_in(seen).items()]
            case FrameKind.WINDOW_UPDATE if number == 0 and self._made.connection_window_bytes is None:
                self._made.connection_window_bytes = FIRST_WINDOW_BYTES + int.from_bytes(seen.payload)
            case FrameKind.WINDOW_UPDATE if number and self._made.stream_window_bytes is None:
                # sent with the stream's request
                first_bytes = initial_window_bytes(self._made.settings)
                self._made.stream_window_bytes = first_bytes + int.from_bytes(seen.payload)

    def _status_of(self, seen: Ended) -> str:
        fields = self._answered_blocks.fields(seen) or {}
        return self._statuses.setdefault(seen.frame.stream_id, fields.get(":status", ""))


def _saying(frame: WireFrame, t_ns: int) -> Saying:
    """Returns the signal of RFC 7540 in a HEADERS or PRIORITY frame."""
    assert isinstance(frame, HeadersFrame | PriorityFrame)
    if "PRIORITY" not in frame.flags and not isinstance(frame, PriorityFrame):
        return Saying(t_ns=t_ns, stream_id=frame.stream_id)
    return Saying(
        t_ns=t_ns,
        stream_id=frame.stream_id,
        weight=frame.stream_weight + 1,
        depends_on=frame.depends_on,
        exclusive=frame.exclusive,
    )


def _setting(number: int, value: int) -> str:
    """Returns a setting as Chromium's net log prints it."""
    name = SettingCodes(number).name if number in list(SettingCodes) else "UNKNOWN"
    return f"[id:{number} (SETTINGS_{name}) value:{value}]"
