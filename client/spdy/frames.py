"""SPDY/3.1 frames: writes a client's frames, and reads a front's frames as their bytes arrive.

Layout and numbers are those of SPDY draft 3.1, section 2.6.

Rules:
1. Bytes may be cut anywhere. DATA is reported piece by piece as it arrives and is not stored. A control frame is
   reported once it is complete.
2. This module checks each frame by itself; other modules check streams, windows and blocks. A violation of the draft
   raises Breach.
3. Control frames of unknown types are skipped, as the draft requires.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from priolab.client.data_frames import DataHeader, DataPiece

VERSION = 3  # frames do not carry the minor version
_HEADER_BYTES = 8
_CONTROL = 0x8000_0000
_STREAM_MOST = 0x7FFF_FFFF
_FIN = 0x01
_COMPRESSED = 0x02
_MOST_CONTROL_BYTES = 64 * 1024
"""The most bytes of a control frame's body; the draft requires at least 8 KiB."""


class Breach(Exception):
    """The peer violates SPDY/3.1; the text describes the violation."""


class Type(IntEnum):
    """The types of control frames that this module reads or writes."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


_KNOWN = frozenset(Type)


class Setting(IntEnum):
    """The settings that the client reads or writes."""

    MAX_CONCURRENT_STREAMS = 4
    INITIAL_WINDOW_SIZE = 7


@dataclass(frozen=True, kw_only=True)
class DataEnd:
    """The end of a stream's last DATA frame, reported when the frame's last byte has arrived."""

    stream_id: int


@dataclass(frozen=True, kw_only=True)
class SynStream:
    """A SYN_STREAM frame: the peer opens a stream to push a response."""

    stream_id: int


@dataclass(frozen=True, kw_only=True)
class Block:
    """A SYN_REPLY frame if is_reply, else a HEADERS frame.

    block: the header fields, compressed. is_last: True if the stream ends with this frame.
    """

    is_reply: bool
    stream_id: int
    block: bytes
    is_last: bool


@dataclass(frozen=True, kw_only=True)
class RstStream:
    """An RST_STREAM frame: the peer resets a stream."""

    stream_id: int
    status: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A SETTINGS frame. values: the peer's settings by number, unknown numbers included."""

    values: Mapping[int, int]


@dataclass(frozen=True, kw_only=True)
class Ping:
    """A PING frame. PING frames that the peer starts have even numbers, and the client must send them back."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Goaway:
    """A GOAWAY frame: the peer accepts no more streams."""

    status: int


@dataclass(frozen=True, kw_only=True)
class WindowUpdate:
    """A WINDOW_UPDATE frame: the peer enlarges the window of a stream, or of the session if stream_id is 0."""

    stream_id: int
    delta_bytes: int


Control = SynStream | Block | RstStream | Settings | Ping | Goaway | WindowUpdate
Seen = DataHeader | DataPiece | DataEnd | Control


def syn_stream(stream_id: int, level: int, block: bytes) -> bytes:
    """Builds the SYN_STREAM frame of a request without a body.

    level: the priority, from 0 (the most urgent) to 7. block: the header fields, compressed.
    """
    return _control(Type.SYN_STREAM, struct.pack("!IIBB", stream_id, 0, level << 5, 0) + block, _FIN)


def settings(values: Mapping[Setting, int]) -> bytes:
    """Builds a SETTINGS frame. The peer is not asked to store the values for later sessions."""
    return _control(
        Type.SETTINGS, struct.pack("!I", len(values)) + b"".join(struct.pack("!II", *pair) for pair in values.items())
    )


def ping(number: int) -> bytes:
    """Builds a PING frame with this number."""
    return _control(Type.PING, struct.pack("!I", number))


def window_update(stream_id: int, delta_bytes: int) -> bytes:
    """Builds a WINDOW_UPDATE frame. stream_id: 0 for the window of the session."""
    return _control(Type.WINDOW_UPDATE, struct.pack("!II", stream_id, delta_bytes))


def _control(kind: Type, body: bytes, flags: int = 0) -> bytes:
    return struct.pack("!HHI", 0x8000 | VERSION, kind, flags << 24 | len(body)) + body


class FrameReader:
    """A reader of frames from plaintext, which is fed in order."""

    def __init__(self) -> None:
        self._begun = bytearray()  # the incomplete DATA header, or the incomplete control frame
        self._due = _HEADER_BYTES  # bytes that must have arrived before parsing can go on
        self._stream_id = 0
        self._left = 0  # bytes of the current DATA frame that have not arrived
        self._is_last = False

    def feed(self, data: bytes) -> Iterator[Seen]:
        """Yields the frames and pieces of DATA in these bytes, in order. After a Breach the reader cannot be used."""
        view = memoryview(data)
        while view:
            if self._left:
                size = min(self._left, len(view))
                view = view[size:]
                self._left -= size
                yield DataPiece(stream_id=self._stream_id, size_bytes=size)
                yield from self._end_of_data()
            else:
                size = min(self._due - len(self._begun), len(view))
                self._begun += view[:size]
                view = view[size:]
                if len(self._begun) == self._due:
                    yield from self._advance()

    def _advance(self) -> Iterator[Seen]:
        """Parses the bytes that the reader was waiting for.

        These are a DATA frame's header, a control frame's header, or a whole control frame.
        """
        first, second = struct.unpack("!II", self._begun[:_HEADER_BYTES])
        flags, length = second >> 24, second & 0xFF_FFFF
        if not first & _CONTROL:
            self._begun.clear()
            if flags & _COMPRESSED:
                raise Breach("a DATA frame that is compressed")
            self._stream_id, self._left, self._is_last = first, length, bool(flags & _FIN)
            yield DataHeader(stream_id=first, length_bytes=length)
            yield from self._end_of_data()
            return
        version, kind = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != VERSION:
            raise Breach(f"a control frame of version {version}")
        if length > _MOST_CONTROL_BYTES:
            raise Breach(f"a control frame of {length} bytes")
        self._due = _HEADER_BYTES + length
        if len(self._begun) < self._due:
            return
        body = bytes(self._begun[_HEADER_BYTES:])
        self._begun.clear()
        self._due = _HEADER_BYTES
        if kind in _KNOWN:
            yield _read(Type(kind), flags, body)

    def _end_of_data(self) -> Iterator[DataEnd]:
        if self._is_last and not self._left:
            yield DataEnd(stream_id=self._stream_id)


def _read(kind: Type, flags: int, body: bytes) -> Control:
    match kind:
        case Type.SYN_STREAM:
            stream_id, _, _ = _numbers(kind, "!IIH", body[:10])
            return SynStream(stream_id=stream_id & _STREAM_MOST)
        case Type.SYN_REPLY | Type.HEADERS:
            (stream_id,) = _numbers(kind, "!I", body[:4])
            return Block(
                is_reply=kind is Type.SYN_REPLY,
                stream_id=stream_id & _STREAM_MOST,
                block=body[4:],
                is_last=bool(flags & _FIN),
            )
        case Type.RST_STREAM:
            stream_id, status = _numbers(kind, "!II", body)
            return RstStream(stream_id=stream_id & _STREAM_MOST, status=status)
        case Type.SETTINGS:
            return Settings(values=_settings(body))
        case Type.PING:
            (number,) = _numbers(kind, "!I", body)
            return Ping(number=number)
        case Type.GOAWAY:
            _, status = _numbers(kind, "!II", body)
            return Goaway(status=status)
        case Type.WINDOW_UPDATE:
            stream_id, delta_bytes = _numbers(kind, "!II", body)
            return WindowUpdate(stream_id=stream_id & _STREAM_MOST, delta_bytes=delta_bytes & _STREAM_MOST)


def _settings(body: bytes) -> dict[int, int]:
    """Parses the body of SETTINGS into values by number; if a number is repeated, the first counts. Raises Breach."""
    (count,) = _numbers(Type.SETTINGS, "!I", body[:4])
    if len(body) != 4 + 8 * count:
        raise Breach(f"SETTINGS of {len(body)} bytes, with {count} entries")
    values: dict[int, int] = {}
    for flags_and_number, value in struct.iter_unpack("!II", body[4:]):
        values.setdefault(flags_and_number & 0xFF_FFFF, value)
    return values


def _numbers(kind: Type, layout: str, body: bytes) -> tuple[int, ...]:
    if len(body) != struct.calcsize(layout):
        raise Breach(f"{kind.name} of {len(body)} bytes")
    return struct.unpack(layout, body)
