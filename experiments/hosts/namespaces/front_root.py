"""Gives a front a root (experiments/setup/debian_tree.py) as its file system, by mounts and chroot(2).

Rules:
1. The mounts are in the mount namespace of the run, and end with it at the latest.
2. The front cannot change the root: its folders are mounted read-only. What is mounted around them is a tmpfs, so /tmp,
   /run and /dev/shm can be written, as on every system.
3. The front sees /proc, a few devices, and the given folders under the same paths as outside.
4. Works for root, and for an ordinary user who has root's rights in a user namespace.
"""

import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from priolab.common.errors import StepFailed
from priolab.common.process.processes import Process, ProcessSettings

_MS_BIND, _MS_REC = 0x1000, 0x4000  # <linux/mount.h>
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000  # <linux/fcntl.h>
_MOUNT_ATTR_RDONLY = 1
_SYS_MOUNT_SETATTR = 442  # the same on every architecture
_DEVICES = ("null", "zero", "full", "random", "urandom")
_STANDARD = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    """struct mount_attr, <linux/mount.h>."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace")]


@contextmanager
def mounted(root: Path, shared: Sequence[Path], readable: Sequence[Path] = ()) -> Iterator[Path]:
    """Yields a folder that is the file system of a front in this root. Raises StepFailed and OSError.

    root: the folder with the unpacked packages. shared: folders that the front sees under the same paths, and may
    write to. readable: folders that the front sees in the same way, but may only read. All must exist.
    """
    # rmdir(2) removes the folder: should unmounting fail, nothing that is mounted there may be removed.
    place = Path(tempfile.mkdtemp(prefix="root-"))
    try:
        _mount("tmpfs", place, kind="tmpfs", options="mode=755")
        try:
            _add_proc_and_devices(place)
            _graft(root, place, [path.relative_to("/") for path in (*shared, *readable)])
            for path in (*shared, *readable):
                _bind(path, place / path.relative_to("/"))
            for path in readable:
                _make_read_only(place / path.relative_to("/"))
            yield place
        finally:
            _check(_libc.umount2(os.fsencode(place), _MNT_DETACH), f"unmounting {place}")
    finally:
        place.rmdir()


def seen_at(place: Path, folder: Path) -> Path:
    """Makes a folder visible at another place, too; returns the place. Raises StepFailed and OSError.

    The mount ends with the run's mount namespace. place: a path that does not exist yet.
    """
    place.mkdir()
    _bind(folder, place)
    return place


def _graft(source: Path, place: Path, shared: Sequence[Path]) -> None:
    """Mounts the content of `source` on `place`, read-only, except folders that exist in `place` already.

    shared: relative paths that must exist in `place`. The folders on these paths are made anew, and only their other
    content is mounted.
    """
    for path in shared:
        (place / path).mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        target = place / entry.name
        inner = [path.relative_to(entry.name) for path in shared if path.parts[:1] == (entry.name,)]
        if entry.is_symlink() and not inner:
            target.symlink_to(entry.readlink())
        elif Path() in inner or entry.is_symlink() or (target.is_dir() and not inner):
            continue
        elif inner:
            _graft(entry, target, inner)
        else:
            target.mkdir() if entry.is_dir() else target.touch()
            _bind(entry, target)
            _make_read_only(target)


def _add_proc_and_devices(place: Path) -> None:
    for name in ("proc", "dev", "run", "tmp"):
        (place / name).mkdir()
    (place / "dev" / "shm").mkdir()  # for POSIX semaphores
    for name in ("tmp", "dev/shm"):
        (place / name).chmod(0o1777)
    _bind(Path("/proc"), place / "proc")
    for name in _DEVICES:
        (place / "dev" / name).touch()
        _bind(Path("/dev") / name, place / "dev" / name)
    for name, target in _STANDARD.items():
        (place / "dev" / name).symlink_to(target)


def _bind(source: Path, target: Path) -> None:
    _mount(str(source), target, flags=_MS_BIND | _MS_REC)


def _make_read_only(target: Path) -> None:
    # mount(2) would require all flags of the mount, which an ordinary user may not change.
    attributes = _MountAttributes(set=_MOUNT_ATTR_RDONLY)
    done = _libc.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        os.fsencode(target),
        _AT_RECURSIVE,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )
    _check(done, f"making {target} read-only")


def _mount(source: str, target: Path, *, kind: str = "none", flags: int = 0, options: str = "") -> None:
    done = _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), flags, options.encode() or None)
    _check(done, f"mounting {source} on {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        raise StepFailed("the front's root", f"{what}: {os.strerror(ctypes.get_errno())}")


def started_in(settings: ProcessSettings, start: Callable[..., Process], command: Sequence[str], log: Path) -> Process:
    """Starts a program in a root. settings: with the root. start: starts a program from command, log and settings.

    A command may begin with `env NAME=VALUE ...`, though a root may have no env(1).
    """
    variables, words = without_env(command)
    return start(words, log, replace(settings, environment={**(settings.environment or {}), **variables}))


def without_env(command: Sequence[str]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Splits `env NAME=VALUE ... PROGRAM ...` into the variables and the program's arguments.

    A root may have no env(1). Other commands are returned unchanged, with no variables.
    """
    if not command or command[0] != "env":
        return {}, tuple(command)
    words = list(command[1:])
    variables: dict[str, str] = {}
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return variables, tuple(words)
