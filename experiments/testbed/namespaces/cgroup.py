"""A cgroup of the front's own, for a program in the kernel to work on.

Rules:
1. The hierarchy is mounted in a folder made for it. On the host the arm has a mount namespace to itself (netns.py), so
   the mount goes when the arm goes, however it ends.
2. The cgroup does not: it is named for the run, and whoever outlives the arm can remove it by that name (`removal`).
3. What cannot be removed after a failure, because something still runs in it, does not take the failure's place.
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

from experiments.results.run_folder import RunFolder

_libc = ctypes.CDLL(None, use_errno=True)
_BUSY_S = 2.0
_RETRY_S = 0.02


def name_of(folder: RunFolder) -> str:
    """The cgroup of a run."""
    return f"priolab-{folder.path.parent.name.removesuffix('.partial')}-{folder.path.name}"


@contextmanager
def own_group(name: str) -> Iterator[Path]:
    """A new cgroup in the unified hierarchy; removed at the end, when nothing runs in it any more. Raises OSError."""
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
    """For an exit stack: raises what goes wrong with it only where nothing else has."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        with suppress(OSError) if kind else nullcontext():
            undo()

    return leave


def _remove(group: Path) -> None:
    """What has just ended may be in it for a moment more."""
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
    """A shell script that removes the cgroup if it is still there, whoever made it having gone."""
    remove = 'mount -t cgroup2 none "$1" 2>/dev/null && cd "$1" && { [ ! -d "$2" ] || rmdir "$2"; }'
    return f"#!/bin/sh\nexec unshare --mount sh -c {shlex.quote(remove)} - {shlex.join([str(scratch), name])}\n"
