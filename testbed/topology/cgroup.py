"""A cgroup for the front alone, to which the tuner attaches its program in the kernel.

Rules:
1. The cgroup hierarchy is mounted in a new folder. On the host the job has a mount namespace (netns.py), so the kernel
   removes the mount when the job ends, however it ends.
2. The kernel does not remove the cgroup when the job is killed. So the cgroup has the run's name, by which a program
   outside the job can remove it.
3. A failed job's cgroup may still contain a process, and then cannot be removed. In this case the job's failure is
   reported.
"""

import ctypes
import errno
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_BUSY_S = 2.0
_RETRY_S = 0.02


@contextmanager
def own_group(name: str) -> Iterator[Path]:
    """Makes a cgroup in the unified hierarchy, and removes it when the context ends. Raises OSError.

    No process may be in the cgroup when the context ends.
    """
    with ExitStack() as stack:
        root = Path(tempfile.mkdtemp(prefix="cgroup-"))
        stack.push(_undoing(root.rmdir))
        if _libc.mount(b"none", str(root).encode(), b"cgroup2", 0, None) != 0:
            raise OSError(ctypes.get_errno(), f"no cgroup2 can be mounted: {os.strerror(ctypes.get_errno())}")
        stack.callback(_libc.umount2, str(root).encode(), 0)
        group = root / name
        group.mkdir()
        stack.push(_undoing(partial(_remove, group)))
        yield group


def group_of(pid: int) -> Path:
    """Returns the cgroup of a process in this machine's unified hierarchy. Raises OSError if none is mounted."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    root = next((place for _, place, kind, *_ in mounts if kind == "cgroup2"), None)
    if root is None:
        raise OSError(errno.ENOENT, "no cgroup2 is mounted")
    groups = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    return Path(f"{root}{groups['0'].removeprefix(':')}")


def _undoing(undo: Callable[[], None]) -> Callable[..., None]:
    """Returns an ExitStack's callback that calls `undo`. Raises an error of `undo` only if the context had none."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        with suppress(OSError) if kind else nullcontext():
            undo()

    return leave


def _remove(group: Path) -> None:
    """Removes the cgroup. Retries, because a process that has just ended may still be in it for a short time."""
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def removal(name: str, scratch: Path) -> str:
    """Returns a shell script that removes the cgroup if the job did not.

    name: the cgroup's name. scratch: the folder on which the script mounts the cgroup hierarchy.
    """
    remove = 'mount -t cgroup2 none "$1" 2>/dev/null && cd "$1" && { [ ! -d "$2" ] || rmdir "$2"; }'
    return f"#!/bin/sh\nexec unshare --mount sh -c {shlex.quote(remove)} - {shlex.join([str(scratch), name])}\n"
