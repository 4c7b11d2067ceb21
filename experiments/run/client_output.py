"""Reads the client's standard output: passes progress on, and reports when each load began.

`client/__main__.py` writes three kinds of lines. Lines that begin with "@ " are progress. A line `began N T` says that
load N began at time T (CLOCK_MONOTONIC, ns). The line `ended` says that the last load has ended.
"""

import os
import re
from collections.abc import Callable
from typing import Self

from priolab.client.progress import ENDED

_READ_BYTES = 65536
_ENDED = ENDED.encode()
_BEGAN = re.compile(rb"began (\d+) (\d+)", re.ASCII)


class Listening:
    """A reader of a program's output from a pipe. A context manager that closes the pipe."""

    def __init__(
        self,
        pass_on: Callable[[str], None],
        began: Callable[[int, int], None],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Stores the functions to call with the lines of the output.

        began: called with the number and the start time of a load, for each line `began N T`. ended: called for the
        line `ended`. pass_on: called with each other line.
        """
        self._pass_on = pass_on
        self._began = began
        self._has_ended = ended
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
        """Closes this process's write end. Call this method once the program has started and has its own write end."""
        self._open.remove(self.writing)
        os.close(self.writing)

    @property
    def waited_for(self) -> list[int]:
        """The descriptors that become readable when the program writes; empty once its output has ended."""
        return [] if self._ended else [self._reading]

    def hear(self) -> bool:
        """Reads the output so far, and handles its complete lines. Returns True if one was not the line `ended`."""
        heard = False
        while not self._ended:
            try:
                data = os.read(self._reading, _READ_BYTES)
            except BlockingIOError:
                break
            self._ended = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                if line == _ENDED:
                    self._has_ended()
                    continue
                heard = True
                if told := _BEGAN.fullmatch(line):
                    self._began(int(told[1]), int(told[2]))
                else:
                    self._pass_on(line.decode(errors="replace"))
        return heard
