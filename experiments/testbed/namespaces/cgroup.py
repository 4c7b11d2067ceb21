"""A cgroup of the front's own, for the tuner's program in the kernel.

Rules:
1. The hierarchy is mounted in a folder made for it. On the host the arm has its own mount namespace (netns.py), so the
   mount goes with the arm, however it ends.
2. The cgroup outlives the arm, so it is named for the run: whatever outlives the arm can remove it by that name
   (`removal`).
3. If a failed arm's cgroup cannot be removed, because something still runs in it, the first failure stays the reason.
"""

import ctypes
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
    """Makes a cgroup in the unified hierarchy; removes it at the end, when nothing runs in it. Raises OSError."""
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


def _undoing(undo: Callable[[], None]) -> Callable[..., None]:
    """Returns an exit callback that raises its own error only if nothing else has failed."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        with suppress(OSError) if kind else nullcontext():
            undo()

    return leave


def _remove(group: Path) -> None:
    """Removes the cgroup; retries, because a process that has just ended may be in it for a moment more."""
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
    """A shell script that removes the cgroup if it has outlived its maker."""
    remove = 'mount -t cgroup2 none "$1" 2>/dev/null && cd "$1" && { [ ! -d "$2" ] || rmdir "$2"; }'
    return f"#!/bin/sh\nexec unshare --mount sh -c {shlex.quote(remove)} - {shlex.join([str(scratch), name])}\n"
