"""The output of `priolab tune`: decisions into a file, lines to the terminal. Neither failing ends the tuner.

1. When the file cannot be written any more, that is reported once, and nothing is written until it is opened again.
2. The same holds for standard output, as on a full disk or a terminal that is gone; but a reader that closes its end
   ends the command, as with all commands.
"""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Self

from common.formats.decisions import DRY_RUN, SET, Decision
from experiments.commands.console import Report
from proxy.tuner.law import differs
from proxy.tuner.tuner import Say

_BETWEEN_NS = 10**9
_NEVER_NS = 2**63


class TunerLog:
    """Appends decisions as JSON lines. A context."""

    def __init__(self, path: Path, say: Say) -> None:
        """Opens the file. Raises OSError."""
        self._path, self._say = path, say
        self._file: FileIO | None = FileIO(path, "a")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def reopen(self) -> None:
        """Opens the file that has the name now."""
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
        self._say(f"{self._path} cannot be written: {error.strerror}; tuning continues, SIGHUP opens it again")

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # NFS reports only now that it is full
                file.close()


@dataclass(kw_only=True)
class _Recent:
    """A connection that had a line in the second before until_ns, and its changes since."""

    until_ns: int
    old_bytes: int = 0
    last: Decision | None = None


class DecisionPrinter:
    """Prints decisions as lines: a connection's first change at once, later ones summed up once a second."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._recent: dict[tuple[str, int, int], _Recent] = {}  # ordered by the end of their second

    def note(self, decision: Decision) -> None:
        """Notes a change, or an attempt."""
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
        """Prints the lines that are due; returns when to be called next."""
        for who, recent in list(self._recent.items()):
            if recent.until_ns > now_ns:
                return recent.until_ns
            del self._recent[who]
            if recent.last is not None and differs(recent.old_bytes, recent.last.new_bytes):
                self._say(str(replace(recent.last, old_bytes=recent.old_bytes)))
                self._recent[who] = _Recent(until_ns=now_ns + _BETWEEN_NS)
        return min((recent.until_ns for recent in self._recent.values()), default=_NEVER_NS)


def teller(report: Report) -> Say:
    """Returns a function that prints on standard output while that works. The function raises BrokenPipeError."""

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
    """Prints on standard error, if that can be written."""
    with suppress(OSError):
        report.complain(text)
