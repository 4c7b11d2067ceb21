"""Looks at HTTP/2 frames as their bytes arrive.

h2 reports a DATA frame when its last byte is here; on a slow link that is up to a second after its first. The scanner
sees the same plaintext and reports every piece at once.

Rules:
1. Bytes may be cut anywhere: inside the nine-byte header, the pad length, the payload, the padding.
2. Only the frame layout of RFC 9113, section 4.1 and 6.1 is understood; h2 judges whether the peer behaves. But h2
   waits for all of a frame before it says that it is too large, and what is no HTTP/2 may look like one of megabytes.
"""

from collections.abc import Iterator

from client.pieces import DataHeader, DataPiece

_HEADER_BYTES = 9
_DATA = 0x0
_PADDED = 0x8
_PRIORITY_UPDATE = 0x10
_MOST_BYTES = 16_384
"""SETTINGS_MAX_FRAME_SIZE as it is where nothing else is said (RFC 9113, 6.5.2)."""

_STREAM_MOST = 0x7FFF_FFFF


def priority_update(stream_id: int, field: str) -> bytes:
    """A PRIORITY_UPDATE frame (RFC 9218, 7.1), which h2 does not know."""
    payload = stream_id.to_bytes(4) + field.encode("ascii")
    return len(payload).to_bytes(3) + bytes([_PRIORITY_UPDATE, 0]) + bytes(4) + payload


class FrameTooLarge(Exception):
    """A frame says to be larger than this client allows."""


class FrameScanner:
    """Feed it plaintext in order; it never keeps payload."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream_id = 0
        self._is_data = False
        self._left = 0  # bytes of the current frame still to come
        self._pad_length_due = False
        self._padding = 0

    def feed(self, data: bytes) -> Iterator[DataHeader | DataPiece]:
        """What these bytes show, in order. Raises FrameTooLarge."""
        view = memoryview(data)
        while view:
            if not self._left:
                take = _HEADER_BYTES - len(self._header)
                self._header += view[:take]
                view = view[take:]
                if len(self._header) == _HEADER_BYTES:
                    yield from self._begin_frame()
            elif self._pad_length_due:
                self._padding = view[0]
                self._pad_length_due = False
                self._left -= 1
                view = view[1:]
            else:
                take = min(self._left, len(view))
                payload = min(take, max(0, self._left - self._padding))
                if self._is_data and payload:
                    yield DataPiece(stream_id=self._stream_id, size_bytes=payload)
                self._left -= take
                view = view[take:]

    def _begin_frame(self) -> Iterator[DataHeader]:
        length = int.from_bytes(self._header[:3])
        kind, flags = self._header[3], self._header[4]
        self._stream_id = int.from_bytes(self._header[5:9]) & _STREAM_MOST
        self._header.clear()
        if length > _MOST_BYTES:
            raise FrameTooLarge(f"a frame of {length} bytes; allowed: {_MOST_BYTES}")
        self._left = length
        self._is_data = kind == _DATA
        self._padding = 0
        self._pad_length_due = self._is_data and bool(flags & _PADDED) and length > 0
        if self._is_data:
            yield DataHeader(stream_id=self._stream_id, length_bytes=length)
