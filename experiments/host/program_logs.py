"""Finds the lines of a program's output that an error quotes."""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

_TAIL_LINES = 3
_MOST_LETTERS = 400  # of a line that an error quotes; the log has the whole line
_COMPLAINT = re.compile(
    r"emerg|alert|crit|error|fatal|fail|invalid|unknown|cannot|can't|not found|denied", re.IGNORECASE
)


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


def _lines(log: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return log.read_text(errors="replace").splitlines()
    return []


def last_lines(text: str, lines: int = _TAIL_LINES) -> str:
    """Returns the last lines of a text, joined to one line; an empty text if the text has none. Cuts long lines."""
    return " | ".join(_cut(line.strip()) for line in text.splitlines()[-lines:] if line.strip())


def _cut(line: str) -> str:
    return line if len(line) <= _MOST_LETTERS else f"{line[:_MOST_LETTERS]} ..."
