"""Ensures by locks on folders that only one tuner works on a cgroup or a process.

1. The tuner has an exclusive lock (flock(2)) on the folder of the cgroup, or of the process in /proc. The kernel
   releases the lock when the tuner ends.
2. The tuner of a cgroup has shared locks on all ancestors of the cgroup. So tuners of sibling cgroups can run at the
   same time, but not tuners of a cgroup and of its descendant.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from priolab.proxy.tuner.tuner import CannotTune


class Claimed(CannotTune):
    """Another tuner already works on the cgroup or process."""

    def __init__(self, where: str) -> None:
        super().__init__(f"another tuner is at work {where}", "end the other tuner first")


@contextmanager
def claimed_cgroup(cgroup: Path) -> Iterator[None]:
    """A context in which no other tuner works on the cgroup, an ancestor or a descendant. Raises Claimed, OSError."""
    cgroup = cgroup.resolve()
    with ExitStack() as stack:
        for folder in (cgroup, *cgroup.parents):
            if folder == cgroup or (folder / "cgroup.procs").exists():
                how = fcntl.LOCK_EX if folder == cgroup else fcntl.LOCK_SH
                stack.enter_context(_locked(folder, how, f"in cgroup {folder}"))
        yield


@contextmanager
def claimed_process(folder: Path) -> Iterator[None]:
    """A context in which no other tuner works on the process. Raises Claimed, OSError.

    folder: the folder of the process in /proc.
    """
    with _locked(folder, fcntl.LOCK_EX, f"on process {folder.name}"):
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
