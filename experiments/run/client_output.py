"""Reads the client's standard output: passes progress on, and notes when each load began.

`client/__main__.py` writes it: lines that begin with "@ " are progress, and `began N T` is the time of load N.
"""

import os
import re
from collections.abc import Callable
from typing import Self

_READ_BYTES = 65536
_BEGAN = re.compile(rb"began (\d+) (\d+)", re.ASCII)


class Listening:
    """A pipe for a program to write to. A context."""

    def __init__(self, pass_on: Callable[[str], None], began: Callable[[int, int], None]) -> None:
        """pass_on gets every other line. began gets the number of a load and its time (CLOCK_MONOTONIC)."""
        self._pass_on = pass_on
        self._began = began
        self._rest = b""
        self._ended = False

    def __enter__(self) -> Self:
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._reading, False)
        self._open = [self._reading, self.writing]
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open:
            os.close(descriptor)

    def started(self) -> None:
        """Closes this process's writing end, now that the program has its own."""
        self._open.remove(self.writing)
        os.close(self.writing)

    @property
    def waited_for(self) -> list[int]:
        """The descriptors that become readable when there is output; none once the output has ended."""
        return [] if self._ended else [self._reading]

    def hear(self) -> bool:
        """Takes in the output so far. True if there was any."""
        heard = False
        while not self._ended:
            try:
                data = os.read(self._reading, _READ_BYTES)
            except BlockingIOError:
                break
            self._ended = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                heard = True
                if told := _BEGAN.fullmatch(line):
                    self._began(int(told[1]), int(told[2]))
                else:
                    self._pass_on(line.decode(errors="replace"))
        return heard
