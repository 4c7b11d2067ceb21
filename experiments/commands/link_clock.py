"""Reads how much link time a run has had so far, from journals that grow in the run's folder.

This needs nothing of the run: in a guest, a program that looked at the clock more often would change the run.
"""

import re
from contextlib import suppress
from pathlib import Path

_JOURNALS = (Path("client/events.jsonl"), Path("front/sockets.jsonl"))
_TIME = re.compile(rb'"t_ns": ?(\d{1,19})\b', re.ASCII)
_LINE_BYTES = 2048
"""Enough for the first line of a journal, and for the last complete one."""


def link_s(folder: Path) -> float | None:
    """Returns the link time since the first line of the run's journals, in seconds; None before their first lines."""
    times_ns = [t_ns for name in _JOURNALS for t_ns in _ends_ns(folder / name)]
    return (max(times_ns) - min(times_ns)) / 10**9 if times_ns else None


def _ends_ns(journal: Path) -> list[int]:
    """Returns the times of a journal's first and last line, in nanoseconds; nothing if there is no journal yet.

    The last line may not be written to its end; then a part of its time could be missing.
    """
    with suppress(OSError), journal.open("rb") as file:
        head = file.read(_LINE_BYTES)
        file.seek(max(0, file.seek(0, 2) - _LINE_BYTES))
        whole, _, _ = file.read(_LINE_BYTES).rpartition(b"\n")
        found = [*_TIME.findall(head)[:1], *_TIME.findall(whole)[-1:]]
        return [int(text) for text in found] if whole else []
    return []
