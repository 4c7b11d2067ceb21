"""The output of the programs, in the order in which they wrote it: frames in a file, each with its time and its stream.

A guest keeps what was written to a file of this machine until it is told to pass it on.
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_libc = ctypes.CDLL(None, use_errno=True)
_WRITE_NOW = 7  # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER, <linux/fs.h>: without syncing a disk
_HEAD = struct.Struct("=QBII")
_STREAMS = ("out", "err")
_LONGEST_LINE = 300
"""The most letters of a line that is shown."""


@dataclass(frozen=True, kw_only=True)
class OutputFrame:
    """A frame. at_ns: the time since the client's start, 0 before it. place: its name. stream: `out` or `err`.

    program: the number of a program that a session has started; 0 for others.
    """

    at_ns: int
    place: str
    stream: str
    data: bytes
    program: int = 0


def last_lines(frames: Iterable[OutputFrame], place: str, count: int) -> Sequence[str]:
    """Returns the last lines that a host's programs wrote, to either stream, without empty ones."""
    text = b"".join(each.data for each in frames if each.place == place).decode(errors="replace")
    return [line[:_LONGEST_LINE] for line in text.splitlines() if line.strip()][-count:]


def last_lines_of_all(frames: Sequence[OutputFrame], count: int) -> Iterator[str]:
    """Yields the last lines of each host, each after its name."""
    for place in dict.fromkeys(frame.place for frame in frames):
        for line in last_lines(frames, place, count):
            yield f"{place}| {line}"


class OutputWriter:
    """Writes frames to a file, so that this machine has each at once. A context manager."""

    def __init__(self, file: Path, hosts: Sequence[str]) -> None:
        """Makes the file. hosts: the names of the hosts that may write; the file has their numbers."""
        self._hosts = hosts
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._at = ctypes.c_int64(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def write(self, frame: OutputFrame) -> None:
        """Writes a frame. Raises OSError."""
        number = len(_STREAMS) * self._hosts.index(frame.place) + _STREAMS.index(frame.stream)
        head = _HEAD.pack(frame.at_ns, number, frame.program, len(frame.data))
        size = ctypes.c_int64(os.write(self._file, head + frame.data))
        if _libc.sync_file_range(self._file, self._at, size, _WRITE_NOW):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._at.value += size.value


class OutputReader:
    """Reads the frames of a file that grows."""

    def __init__(self, file: Path, hosts: Sequence[str]) -> None:
        self._file = file
        self._hosts = hosts
        self._at = 0
        self._rest = b""

    def read(self) -> Iterator[OutputFrame]:
        """Yields the whole frames since the last call."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        self._at += len(data)
        data, at = self._rest + data, 0
        while at + _HEAD.size <= len(data):
            at_ns, number, program, length = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + length
            if end > len(data):
                break
            host, stream = divmod(number, len(_STREAMS))
            written, place = data[end - length : end], self._hosts[host]
            yield OutputFrame(at_ns=at_ns, place=place, stream=_STREAMS[stream], data=written, program=program)
            at = end
        self._rest = data[at:]
