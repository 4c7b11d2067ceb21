"""A control group whose processes get a processor only while no process outside the group wants it.

    python3 -m tests.apart COMMAND...     runs a command in such a group, and ends with its exit code

If no such group can be made, the command runs as usual.

Nice levels and SCHED_IDLE would not do: Linux divides processors among sessions first (sched_autogroup_enabled), and
programs of the lab begin sessions of their own.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_MOUNTS = Path("/proc/mounts")
_PATIENCE_S = 10.0
_REAL_TIME_US = 200_000  # of each second, for processes of the group with a real-time priority


@contextmanager
def idle_group() -> Iterator[Callable[[], None] | None]:
    """Makes the group, and removes it. Yields a function that moves the calling process into it; None if none is made.

    To make the group needs root, and a kernel from 5.15 on.
    """
    group = _made()
    try:
        yield None if group is None else lambda: _enter(group)
    finally:
        if group is not None:
            _remove(group)


def _made() -> Path | None:
    for folder in _hierarchies():
        for left in folder.glob("priolab-tests-*"):  # by tests that were killed
            with suppress(OSError):
                left.rmdir()
        group = folder / f"priolab-tests-{os.getpid()}"
        try:
            group.mkdir()
            (group / "cpu.idle").write_text("1")
            if (group / "cpu.rt_runtime_us").exists():
                (group / "cpu.rt_runtime_us").write_text(str(_REAL_TIME_US))
        except OSError:
            _remove(group)
        else:
            return group
    return None


def _hierarchies() -> Iterator[Path]:
    """Yields the folders in which control groups of processors can be made: of version 1, then of version 2."""
    mounts = [line.split() for line in _MOUNTS.read_text().splitlines()]
    yield from (
        Path(folder) for _, folder, kind, options, *_ in mounts if kind == "cgroup" and "cpu" in options.split(",")
    )
    for _, folder, kind, *_ in mounts:
        controllers = Path(folder) / "cgroup.subtree_control"
        if kind == "cgroup2" and controllers.exists() and "cpu" in controllers.read_text().split():
            yield Path(folder)


def _enter(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")


def _remove(group: Path) -> None:
    """Removes the group once its last process has ended, which may be a moment after it was waited for."""
    end = time.monotonic() + _PATIENCE_S
    while group.is_dir() and time.monotonic() < end:
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.05)


def _main(command: Sequence[str]) -> int:
    with idle_group() as move:
        process = subprocess.Popen(command, preexec_fn=move)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        return process.wait()


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
