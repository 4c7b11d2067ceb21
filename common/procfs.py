"""Reads what proc(5) tells about a process and its threads."""

import os
from collections.abc import Iterator
from contextlib import suppress


def threads(pid: int) -> Iterator[str]:
    """Yields the folder of each thread of a process in proc(5); none if the process has ended."""
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a Path costs more than the reading
            yield f"/proc/{pid}/task/{name}"


def number_in(text: str, name: str) -> int | None:
    """Returns the number in the line `name: number` of a file of proc(5); None without such a line."""
    value = f"\n{text}".partition(f"\n{name}:")[2].partition("\n")[0].strip()
    return int(value) if value.isdigit() else None
