"""Events at a terminal on their way to the client: frames of keys, and of the window's size."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = struct.Struct("=BH")
_SIZE = struct.Struct("=HH")
_KEYS, _SIZED = 0, 1
BEGINS, TAKEN, SAID = "terminal", "taken ", "said"
"""Progress lines of a sandbox at a terminal: the client begins; so many bytes of frames have arrived; it has written
something.
"""

SIGNALS = frozenset(b"\x03\x1a\x1c")
"""The keys that send a signal: Ctrl-C, Ctrl-Z and Ctrl-\\."""

MOST_BYTES = 1024
"""The most keys in a frame. A frame fits into a pipe's guarantee of whole writes."""


@dataclass(frozen=True)
class Size:
    """A window's size in characters."""

    rows: int
    columns: int


def of_keys(data: bytes) -> bytes:
    """Returns the frame of keys, at most MOST_BYTES. One without keys says that those before must not wait."""
    return _HEAD.pack(_KEYS, len(data)) + data


def of_size(size: Size) -> bytes:
    """Returns the frame of a window's size."""
    return _HEAD.pack(_SIZED, _SIZE.size) + _SIZE.pack(size.rows, size.columns)


class Keystrokes:
    """Puts frames together again, of which pieces arrive. frames, bytes: how many have arrived whole; their size."""

    def __init__(self) -> None:
        self.frames = self.bytes = 0
        self._rest = b""

    def hear(self, piece: bytes) -> Iterator[bytes | Size]:
        """Yields the keys, and the sizes, of the frames that have arrived whole."""
        self._rest += piece
        while len(self._rest) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._rest)
            end = _HEAD.size + length
            if len(self._rest) < end:
                return
            data, self._rest = self._rest[_HEAD.size : end], self._rest[end:]
            self.frames, self.bytes = self.frames + 1, self.bytes + end
            yield data if kind == _KEYS else Size(*_SIZE.unpack(data))
