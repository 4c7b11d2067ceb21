"""Reports HTTP/2 DATA frames as their bytes arrive.

The library h2 reports a DATA frame only when its last byte has arrived, on a slow link up to a second after the first
byte. The FrameScanner gets the same plaintext and reports each piece as soon as it arrives.

Rules:
1. Bytes may be cut anywhere: inside the nine-byte header, the pad length, the payload, the padding.
2. The scanner knows only the frame layout of RFC 9113, 4.1 and 6.1; h2 checks the peer's behaviour. But h2 rejects a
   frame that is too large only after the whole frame has arrived, and data that are not HTTP/2 may look like a frame of
   megabytes. So the scanner checks the size of frames.
"""

from collections.abc import Iterator

from priolab.client.data_frames import DataHeader, DataPiece
from priolab.client.http2.walker import Begun, FrameKind, FrameWalker

_MOST_BYTES = 16_384
"""The initial value of SETTINGS_MAX_FRAME_SIZE (RFC 9113, 6.5.2)."""


def priority_update(stream_id: int, field: str) -> bytes:
    """Builds a PRIORITY_UPDATE frame (RFC 9218, 7.1), which h2 does not support."""
    payload = stream_id.to_bytes(4) + field.encode("ascii")
    return len(payload).to_bytes(3) + bytes([FrameKind.PRIORITY_UPDATE, 0]) + bytes(4) + payload


class FrameTooLarge(Exception):
    """A frame's length field exceeds what this client allows."""


class FrameScanner:
    """A scanner that finds DATA frames in plaintext, which is fed in order. It does not store the frames' payload."""

    def __init__(self) -> None:
        self._walker = FrameWalker()

    def feed(self, data: bytes) -> Iterator[DataHeader | DataPiece]:
        """Yields the headers and pieces of DATA in these bytes, in order. Raises FrameTooLarge."""
        for seen in self._walker.feed(data):
            match seen:
                case DataPiece():
                    yield seen
                case Begun(frame=frame):
                    if frame.length_bytes > _MOST_BYTES:
                        raise FrameTooLarge(
                            f"a frame of {frame.length_bytes} bytes; allowed: at most {_MOST_BYTES} bytes"
                        )
                    if frame.kind == FrameKind.DATA:
                        yield DataHeader(stream_id=frame.stream_id, length_bytes=frame.length_bytes)
