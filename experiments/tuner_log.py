"""Where `priolab tune` writes: decisions into a file, sentences to whoever watches. Neither failing ends the tuner.

1. When the file cannot be written any more, that is said once, and nothing is written until it is opened again.
2. So with standard output, as on a full disk or a terminal that is gone; but a reader that has enough ends the command,
   as it does with all of them.
"""

import os
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Self

from experiments.report import Report
from proxy.tuner.journal import Decision
from proxy.tuner.tuner import Say


class TunerLog:
    """Decisions as JSON lines, appended. A context."""

    def __init__(self, path: Path, say: Say) -> None:
        """Raises OSError."""
        self._path, self._say = path, say
        self._file: FileIO | None = FileIO(path, "a")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def reopen(self) -> None:
        """The file that has the name now."""
        self._close()
        try:
            self._file = FileIO(self._path, "a")
        except OSError as error:
            self._give_up(error)

    def note(self, decision: Decision) -> None:
        """One line, at once."""
        rest = f"{decision.to_json()}\n".encode()
        try:
            while self._file is not None and rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._close()
        self._say(f"{self._path} cannot be written: {error.strerror}; tuning goes on, SIGHUP opens it again")

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # NFS says only now that it is full
                file.close()


def teller(report: Report) -> Say:
    """Says sentences on standard output, as long as that can be written. What it gives raises BrokenPipeError."""

    def say(text: str) -> None:
        try:
            report.say(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            complain(report, f"standard output cannot be written: {error.strerror}; tuning goes on")

    return say


def complain(report: Report, text: str) -> None:
    """Says it on standard error, if that can be written."""
    with suppress(OSError):
        report.complain(text)
