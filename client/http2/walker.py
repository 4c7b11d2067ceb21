"""Splits one direction of a connection into HTTP/2 frames as bytes arrive.

Rules:
1. Reports the beginning and end of each frame, and the size of each piece of DATA payload, padding excluded.
2. Bytes may be cut anywhere. The client's preface before the first frame is skipped.
3. The walker knows only the frame layout (RFC 9113, 4.1 and 6.1); other modules check the peer's behaviour.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from priolab.client.data_frames import DataPiece

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADER_BYTES = 9
_PADDED, _END_STREAM, _END_HEADERS = 0x8, 0x1, 0x4
_STREAM_MOST = 0x7FFF_FFFF


class FrameKind(IntEnum):
    """Frame types (RFC 9113, 6, and RFC 9218, 7)."""

    DATA = 0x0
    HEADERS = 0x1
    PRIORITY = 0x2
    RST_STREAM = 0x3
    SETTINGS = 0x4
    PUSH_PROMISE = 0x5
    PING = 0x6
    GOAWAY = 0x7
    WINDOW_UPDATE = 0x8
    CONTINUATION = 0x9
    PRIORITY_UPDATE = 0x10


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The header of a frame: its first nine bytes."""

    kind: int
    flags: int
    stream_id: int
    length_bytes: int

    @property
    def name(self) -> str:
        """The name of the frame's type; for a type that FrameKind lacks, its number."""
        return FrameKind(self.kind).name if self.kind in list(FrameKind) else f"type {self.kind:#x}"

    @property
    def ends_stream(self) -> bool:
        """True if the stream ends with this frame; CONTINUATION frames with the rest of the headers may follow."""
        return self.kind in (FrameKind.DATA, FrameKind.HEADERS) and bool(self.flags & _END_STREAM)

    @property
    def ends_headers(self) -> bool:
        """True if the frame completes the headers."""
        return self.kind in (FrameKind.HEADERS, FrameKind.CONTINUATION) and bool(self.flags & _END_HEADERS)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """The beginning of a frame, reported when the frame's header is complete."""

    frame: Frame


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The end of a frame. payload: the whole payload; empty for DATA."""

    frame: Frame
    payload: bytes


class FrameWalker:
    """A decoder that splits plaintext, which is fed in order, into frames.

    preface: True if the plaintext begins with the client's preface, whose content is not checked.
    """

    def __init__(self, *, preface: bool = False) -> None:
        self._preface_left = len(PREFACE) if preface else 0
        self._header = bytearray()
        self._payload = bytearray()
        self._frame: Frame | None = None
        self._left = 0
        self._pad_length_due = False
        self._padding = 0

    def feed(self, data: bytes) -> Iterator[Begun | DataPiece | Ended]:
        """Yields the beginnings and ends of frames and the pieces of DATA in these bytes, in order."""
        view = memoryview(data)[self._preface_left :]
        self._preface_left = max(0, self._preface_left - len(data))
        while view:
            if self._frame is None:
                take = _HEADER_BYTES - len(self._header)
                self._header += view[:take]
                view = view[take:]
                if len(self._header) == _HEADER_BYTES:
                    yield from self._begin()
            elif self._pad_length_due:
                self._padding = view[0]
                self._pad_length_due = False
                self._left -= 1
                view = view[1:]
                yield from self._end_if_complete()
            else:
                take = min(self._left, len(view))
                if self._frame.kind != FrameKind.DATA:
                    self._payload += view[:take]
                elif payload := min(take, max(0, self._left - self._padding)):
                    yield DataPiece(stream_id=self._frame.stream_id, size_bytes=payload)
                self._left -= take
                view = view[take:]
                yield from self._end_if_complete()

    def _begin(self) -> Iterator[Begun | Ended]:
        kind, flags = self._header[3], self._header[4]
        self._frame = Frame(
            kind=kind,
            flags=flags,
            stream_id=int.from_bytes(self._header[5:9]) & _STREAM_MOST,
            length_bytes=int.from_bytes(self._header[:3]),
        )
        self._header.clear()
        self._left = self._frame.length_bytes
        self._padding = 0
        self._pad_length_due = kind == FrameKind.DATA and bool(flags & _PADDED) and self._left > 0
        yield Begun(frame=self._frame)
        yield from self._end_if_complete()

    def _end_if_complete(self) -> Iterator[Ended]:
        if self._left or self._frame is None:
            return
        frame, self._frame = self._frame, None
        payload = bytes(self._payload)
        self._payload.clear()
        yield Ended(frame=frame, payload=payload)
