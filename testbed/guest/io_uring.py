"""Reserves io_uring(7) in the guest for the run's own process.

Node and Chromium would use it, too. But a process that has a ring and forks makes the guest's kernel panic. And servers
should do in the guest what they do on most hosts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DISABLED = Path("/proc/sys/kernel/io_uring_disabled")
_FOR_NOBODY, _FOR_ALL = "2", "0"


def forbid() -> None:
    """Forbids everybody to make a ring. Does nothing if the kernel has no io_uring."""
    if _DISABLED.exists():
        _DISABLED.write_text(_FOR_NOBODY)


@contextmanager
def allowed() -> Iterator[None]:
    """Allows rings inside of the context; a ring that was made there can be used afterwards."""
    if not _DISABLED.exists():
        yield
        return
    _DISABLED.write_text(_FOR_ALL)
    try:
        yield
    finally:
        forbid()
