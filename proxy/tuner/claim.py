"""One tuner at a time: it holds a lock on a folder, which the kernel gives up with the process, however that ends.

1. A cgroup's folder, or a process's in /proc, is locked for one holder (flock(2)).
2. The cgroups above are locked for many: tuners of siblings do not meet, those of a cgroup and of one below it do.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from proxy.tuner.tuner import CannotTune


class Claimed(CannotTune):
    """Another tuner is at work there."""

    def __init__(self, where: str) -> None:
        super().__init__(f"another tuner is at work {where}", "end that one first")


@contextmanager
def claimed_cgroup(cgroup: Path) -> Iterator[None]:
    """Within: no other tuner in the cgroup, nor on one above. Raises Claimed, OSError."""
    cgroup = cgroup.resolve()
    with ExitStack() as stack:
        for folder in (cgroup, *cgroup.parents):
            if folder == cgroup or (folder / "cgroup.procs").exists():
                how = fcntl.LOCK_EX if folder == cgroup else fcntl.LOCK_SH
                stack.enter_context(_locked(folder, how, f"in cgroup {folder}"))
        yield


@contextmanager
def claimed_process(folder: Path) -> Iterator[None]:
    """Within: no other tuner beside the process, whose folder in /proc it is. Raises Claimed, OSError."""
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
