"""Ensures that only one tuner works in a place: it locks a folder. The kernel releases the lock with the process.

1. A cgroup's folder, or a process's in /proc, has an exclusive lock (flock(2)).
2. The cgroups above have shared locks. So tuners of sibling cgroups may run side by side; those of a cgroup and of one
   below it may not.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from proxy.tuner.tuner import CannotTune


class Claimed(CannotTune):
    """Another tuner already works there."""

    def __init__(self, where: str) -> None:
        super().__init__(f"another tuner is at work {where}", "end that one first")


@contextmanager
def claimed_cgroup(cgroup: Path) -> Iterator[None]:
    """Within the context no other tuner works on the cgroup or on one above it. Raises Claimed, OSError."""
    cgroup = cgroup.resolve()
    with ExitStack() as stack:
        for folder in (cgroup, *cgroup.parents):
            if folder == cgroup or (folder / "cgroup.procs").exists():
                how = fcntl.LOCK_EX if folder == cgroup else fcntl.LOCK_SH
                stack.enter_context(_locked(folder, how, f"in cgroup {folder}"))
        yield


@contextmanager
def claimed_process(folder: Path) -> Iterator[None]:
    """Within the context no other tuner works on the process. folder: its folder in /proc. Raises Claimed, OSError."""
    with _locked(folder, fcntl.LOCK_EX, f"beside process {folder.name}"):
        yield


@contextmanager
def _locked(folder: Path, how: int, where: str) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Claimed(where) from None
        yield
    finally:
        os.close(descriptor)
