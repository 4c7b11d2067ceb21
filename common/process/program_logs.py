"""Finds the lines of a program's output that an error quotes."""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_TAIL_LINES = 3
_MOST_LETTERS = 400  # of a line that an error quotes; the log has the whole line
_COMPLAINT = re.compile(
    r"emerg|alert|crit|error|fatal|fail|invalid|unknown|cannot|can't|not found|denied|panic|exception|abort|assert"
    r"|timed?[ -]?out|refused|premature|exceed|no space|too (?:large|many|long|big)",
    re.IGNORECASE,
)
_CONSEQUENCE = re.compile(
    r"client (?:has )?(?:prematurely )?(?:closed|disconnected|gone)|closed by (?:the )?client|context canceled"
    r"|(?:broken pipe|reset by peer)(?!.*upstream)",
    re.IGNORECASE,
)
"""A server writes so of a client that has gone, for whatever reason."""


def tail(log: Path, lines: int = _TAIL_LINES) -> str:
    """Returns the last lines of a log, joined to one line; an empty text if the log has none or cannot be read."""
    try:
        return last_lines(log.read_text(errors="replace"), lines)
    except OSError:
        return ""


def first_complaint(logs: Iterable[Path]) -> tuple[str, Path] | None:
    """Returns the first line about an error in the logs, and the log that has it; None if the logs have no line.

    If no line looks like an error, returns the first line of all.
    """
    lines = [(line.strip(), log) for log in logs if log.exists() for line in _lines(log) if line.strip()]
    return next((each for each in lines if _COMPLAINT.search(each[0])), lines[0] if lines else None)


def last_complaint(logs: Sequence[Path], before: Mapping[Path, int]) -> tuple[str, Path] | None:
    """Returns the last line about an error that a program has written to one of its logs, and the log that has it.

    before: the size of each log in bytes at the time from which on lines count; the others count from their beginning.
    Lines that say that the client has gone do not count. If no line looks like an error, returns the last line of the
    first log that has one; None if the logs have no line.
    """
    lines = [
        (_cut(line.strip()), log)
        for log in logs
        for line in _lines(log, before.get(log, 0))
        if line.strip() and not _CONSEQUENCE.search(line)
    ]
    complaints = [each for each in lines if _COMPLAINT.search(each[0])]
    last = {log: (line, log) for line, log in complaints or lines}
    return next((last[log] for log in logs if log in last), None)


def _lines(log: Path, from_bytes: int = 0) -> list[str]:
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(from_bytes)
        return file.read().decode(errors="replace").splitlines()
    return []


def last_lines(text: str, lines: int = _TAIL_LINES) -> str:
    """Returns the last lines of a text, joined to one line; an empty text if the text has none. Cuts long lines."""
    return " | ".join(_cut(line.strip()) for line in text.splitlines()[-lines:] if line.strip())


def _cut(line: str) -> str:
    return line if len(line) <= _MOST_LETTERS else f"{line[:_MOST_LETTERS]} ..."
