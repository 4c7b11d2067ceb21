"""The output of `priolab tune`: decisions go into a file, lines to the terminal. Write errors do not stop the tuner.

1. If the file cannot be written, the command reports this once, and writes nothing more until the file is reopened.
2. If standard output cannot be written, as on a full disk, the command reports this once, and prints nothing more. But
   if standard output is a pipe whose reader has closed it, the command ends, like every command.
"""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Self

from priolab.common.formats.decisions import DRY_RUN, SET, Decision
from priolab.experiments.commands.console import Report
from priolab.proxy.tuner.law import differs
from priolab.proxy.tuner.tuner import Say

_BETWEEN_NS = 10**9
_NEVER_NS = 2**63


class TunerLog:
    """Appends decisions to a file as JSON lines. A context manager that closes the file at its end."""

    def __init__(self, path: Path, say: Say) -> None:
        """Opens the file. Raises OSError."""
        self._path, self._say = path, say
        self._file: FileIO | None = FileIO(path, "a")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def reopen(self) -> None:
        """Closes the file, and opens the path again, because log rotation may have put a new file there."""
        self._close()
        try:
            self._file = FileIO(self._path, "a")
        except OSError as error:
            self._give_up(error)

    def note(self, decision: Decision) -> None:
        """Writes one line, at once."""
        rest = f"{decision.to_json()}\n".encode()
        try:
            while self._file is not None and rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._close()
        self._say(f"{self._path} cannot be written: {error.strerror}; tuning continues, SIGHUP reopens the file")

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # NFS reports a full disk only when a file is closed
                file.close()


@dataclass(kw_only=True)
class _Recent:
    """A connection about which a line was printed less than a second ago.

    until_ns: one second after the line. last: the last change since the line. old_bytes: the LOWAT before the first
    change since the line.
    """

    until_ns: int
    old_bytes: int = 0
    last: Decision | None = None


class DecisionPrinter:
    """Prints decisions as lines: a connection's first change at once, later changes in one line per second."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._recent: dict[tuple[str, int, int], _Recent] = {}  # ordered by until_ns

    def note(self, decision: Decision) -> None:
        """Takes a decision: prints it at once, or adds it to the connection's next line."""
        who = (decision.peer, decision.peer_port, decision.port)
        recent = self._recent.get(who)
        if decision.outcome not in (SET, DRY_RUN):
            self._say(str(decision))
        elif recent is None:
            self._say(str(decision))
            self._recent[who] = _Recent(until_ns=decision.t_ns + _BETWEEN_NS)
        else:
            if recent.last is None:
                recent.old_bytes = decision.old_bytes
            recent.last = decision

    def look(self, now_ns: int) -> int:
        """Prints the lines that are due at now_ns; returns the time at which to call this function again, in ns."""
        for who, recent in list(self._recent.items()):
            if recent.until_ns > now_ns:
                return recent.until_ns
            del self._recent[who]
            if recent.last is not None and differs(recent.old_bytes, recent.last.new_bytes):
                self._say(str(replace(recent.last, old_bytes=recent.old_bytes)))
                self._recent[who] = _Recent(until_ns=now_ns + _BETWEEN_NS)
        return min((recent.until_ns for recent in self._recent.values()), default=_NEVER_NS)


def teller(report: Report) -> Say:
    """Returns a function that prints on standard output.

    The function raises BrokenPipeError if the reader of standard output has closed the pipe. After any other error of
    writing it reports the error once, on standard error, and prints nothing more.
    """

    def say(text: str) -> None:
        try:
            report.say(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            complain(report, f"standard output cannot be written: {error.strerror}; tuning continues")

    return say


def complain(report: Report, text: str) -> None:
    """Prints on standard error; ignores an error of the printing itself."""
    with suppress(OSError):
        report.complain(text)
