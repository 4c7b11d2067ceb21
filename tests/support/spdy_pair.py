"""A client engine and a small SPDY/3.1 server that exchange bytes in memory.

The server has its own framing and compression: code shared with the client would hide an error in both.
"""

import struct
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from priolab.client.dialects import PLAIN
from priolab.client.priorities import Priorities
from priolab.client.spdy.blocks import DICTIONARY
from priolab.client.spdy.engine import SpdyEngine
from priolab.common.formats.events import Event
from priolab.common.formats.plan import Protocol, Steps
from tests.support.pages import maps_plan

PAGE, IMAGE, SCRIPT = 1, 3, 5
"""The streams of the first load."""
OK = {":status": "200 OK", ":version": "HTTP/1.1"}
SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9


def control(kind: int, body: bytes, flags: int = 0, version: int = 3) -> bytes:
    return struct.pack("!HHB", 0x8000 | version, kind, flags) + len(body).to_bytes(3) + body


def data_frame(stream_id: int, payload: bytes, flags: int = 0) -> bytes:
    return stream_id.to_bytes(4) + bytes([flags]) + len(payload).to_bytes(3) + payload


def block(fields: Mapping[str, str]) -> bytes:
    """Returns a header block that is not yet compressed."""
    pairs = (struct.pack("!I", len(text)) + text.encode() for pair in fields.items() for text in pair)
    return struct.pack("!I", len(fields)) + b"".join(pairs)


@dataclass(frozen=True)
class Asked:
    """A SYN_STREAM as the server saw it."""

    stream_id: int
    level: int
    flags: int
    fields: Mapping[str, str]


class SpdyServer:
    """A server that reads the client's bytes into `asked` and `frames`, and makes responses within the windows."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(zdict=DICTIONARY)
        self._deflater = zlib.compressobj(wbits=11, zdict=DICTIONARY)
        self._pending = b""
        self._window_bytes = 65_536
        self._opened: dict[int, int] = defaultdict(int)
        self.settings: dict[int, int] = {}
        self.asked: list[Asked] = []
        self.frames: list[tuple[int, bytes]] = []

    def receive(self, data: bytes) -> None:
        self._pending += data
        while len(self._pending) >= 8:
            size = 8 + int.from_bytes(self._pending[5:8])
            frame, self._pending = self._pending[:size], self._pending[size:]
            version, kind = struct.unpack("!HH", frame[:4])
            assert version == 0x8003, "it sends control frames only"
            assert len(frame) == size, "it sends whole frames"
            self.frames.append((kind, frame[8:]))
            self._read(kind, frame[4], frame[8:])

    def _read(self, kind: int, flags: int, body: bytes) -> None:
        if kind == SETTINGS:
            self.settings = {number & 0xFF_FFFF: value for number, value in struct.iter_unpack("!II", body[4:])}
            self._window_bytes = self.settings[7]
        elif kind == WINDOW_UPDATE:
            stream_id, delta = struct.unpack("!II", body)
            self._opened[stream_id] += delta
        elif kind == SYN_STREAM:
            stream_id, associated, level, slot = struct.unpack("!IIBB", body[:10])
            assert (associated, level & 0x1F, slot) == (0, 0, 0)
            self.asked.append(Asked(stream_id, level >> 5, flags, self._fields(body[10:])))

    def _fields(self, packed: bytes) -> dict[str, str]:
        rest = self._inflater.decompress(packed)
        (count,), rest = struct.unpack("!I", rest[:4]), rest[4:]
        texts = []
        for _ in range(2 * count):
            (size,) = struct.unpack("!I", rest[:4])
            texts.append(rest[4 : 4 + size].decode())
            rest = rest[4 + size :]
        assert rest == b""
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def window(self, stream_id: int) -> int:
        """Returns the number of bytes that may be sent on a stream now. Stream 0 is the session."""
        session = 65_536 + self._opened[0]
        return session if stream_id == 0 else min(session, self._window_bytes + self._opened[stream_id])

    def pack(self, fields: bytes) -> bytes:
        return self._deflater.compress(fields) + self._deflater.flush(zlib.Z_SYNC_FLUSH)

    def reply(self, stream_id: int, fields: Mapping[str, str] = OK, *, flags: int = 0, kind: int = SYN_REPLY) -> bytes:
        return control(kind, stream_id.to_bytes(4) + self.pack(block(fields)), flags)

    def data(self, stream_id: int, payload: bytes, *, end: bool = False) -> bytes:
        assert len(payload) <= self.window(stream_id)
        for window in (0, stream_id):
            self._opened[window] -= len(payload)
        return data_frame(stream_id, payload, int(end))


class SpdyPair:
    """A client engine and a server; every exchange advances the time by one nanosecond. events: the engine's events."""

    def __init__(
        self,
        priorities: Priorities = Priorities.SPDY,
        *,
        window_bytes: int = 2**24,
        connection_window_bytes: int | None = None,
        reloads: int = 0,
        steps: Steps | None = None,
    ) -> None:
        self.engine = SpdyEngine(
            maps_plan(
                address="198.18.1.2",
                port=443,
                server_name="maps.test",
                priorities=priorities,
                dialect=PLAIN,
                reloads=reloads,
                window_bytes=window_bytes,
                connection_window_bytes=connection_window_bytes,
                load_deadline_ns=1,
                steps=steps,
                protocol=Protocol.SPDY,
            )
        )
        self.server = SpdyServer()
        self.now_ns = 0
        self.events: list[Event] = []

    def begin_load(self) -> None:
        self.now_ns += 1
        self.events += self.engine.begin_load(self.now_ns)
        self.up()

    def up(self) -> None:
        self.server.receive(self.engine.data_to_send())

    def quiet(self) -> None:
        self.now_ns += 1
        self.events += self.engine.quiet(self.now_ns)
        self.up()

    def feed(self, data: bytes) -> None:
        self.now_ns += 1
        self.events += self.engine.receive(data, self.now_ns)
        self.up()

    def answer(self, stream_id: int, payload: bytes = b"x") -> None:
        self.feed(self.server.reply(stream_id) + self.server.data(stream_id, payload, end=True))


def page_asked(steps: Steps | None = None) -> SpdyPair:
    """Returns a pair whose client has requested the page."""
    pair = SpdyPair(steps=steps)
    pair.begin_load()
    return pair


def resources_asked() -> SpdyPair:
    """Returns a pair whose client has received the page, and has requested image and script."""
    pair = page_asked()
    pair.answer(PAGE)
    pair.events.clear()
    return pair
