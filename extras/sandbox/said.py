"""What the programs write, in the order in which they wrote it: frames in a file, each with its time and its stream.

The process in the places opens the file for each frame, because a guest passes on what was written to a file of the
host when the file is closed.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct("=QBI")
STREAMS = (("client", "out"), ("client", "err"), ("server", "out"), ("server", "err"))


@dataclass(frozen=True, kw_only=True)
class Said:
    """A frame. at_ns: the time since the client's start. place: `client` or `server`. stream: `out` or `err`."""

    at_ns: int
    place: str
    stream: str
    data: bytes


def append(file: Path, frame: Said) -> None:
    """Appends a frame to the file. A frame of before the client's start has the time 0."""
    head = _HEAD.pack(max(0, frame.at_ns), STREAMS.index((frame.place, frame.stream)), len(frame.data))
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, head + frame.data)
    finally:
        os.close(descriptor)


class Reader:
    """Reads the frames of a file that grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at = 0
        self._rest = b""

    def read(self) -> Iterator[Said]:
        """Yields the whole frames since the last call."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        self._at += len(data)
        self._rest += data
        while len(self._rest) >= _HEAD.size:
            at_ns, number, length = _HEAD.unpack_from(self._rest)
            if len(self._rest) < _HEAD.size + length:
                return
            place, stream = STREAMS[number]
            yield Said(at_ns=at_ns, place=place, stream=stream, data=self._rest[_HEAD.size : _HEAD.size + length])
            self._rest = self._rest[_HEAD.size + length :]
