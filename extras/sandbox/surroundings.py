"""The files that the programs see.

In a guest these are this machine's, read-only, except: the current folder is this machine's and writable, or with
--scratch under an overlay; /tmp, /run, /dev/shm and HOME are empty and writable, and go with the guest. On a real
clock the programs see and write this machine's files, with a HOME of their own. In both, /etc/hosts and
/etc/resolv.conf are the sandbox's: they name the places, and send other names to port 53 of the server.
"""

import ctypes
import os
import stat
from contextlib import suppress
from pathlib import Path

from priolab.experiments.errors import StepFailed
from priolab.experiments.run.guest_start import check, libc, mount
from priolab.experiments.testbed.namespaces.wiring import ADDRESSES, ipv6_of
from priolab.extras.sandbox.order import HOME, Order

_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x0002_0000, 4096, 16384, 1 << 18  # <linux/sched.h>, <linux/mount.h>
_TMP = "/tmp"  # noqa: S108
_SCRATCH = Path("/run/scratch")
_TERMINALS = Path("/dev/pts")
_FOR_ALL = 0o1777
_RESOLVER = f"nameserver {ADDRESSES.front}\n"
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def link_descriptors() -> None:
    """Makes /dev/fd, /dev/stdin, /dev/stdout and /dev/stderr in a guest, unless they are there."""
    for name, target in _LINKS.items():
        with suppress(FileExistsError):
            Path("/dev", name).symlink_to(target)


def surround(order: Order, own: Path) -> str:
    """Makes these files for this process and its children; returns HOME. Raises StepFailed.

    own: a folder for files of this process.
    """
    try:
        check(libc.unshare(_CLONE_NEWNS), "a mount namespace")
        check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "keeping mounts")
        home = HOME if order.isolated else str(own / "home")
        if order.isolated:
            _isolate(order)
        Path(home).mkdir(parents=True, exist_ok=True)
        _replace(Path("/etc/hosts"), _names(order), own)
        _replace(Path("/etc/resolv.conf"), _RESOLVER, own)
        os.chdir(order.folder)
    except OSError as error:
        raise StepFailed("the programs' files", str(error)) from error
    return home


def _isolate(order: Order) -> None:
    folder = Path(order.folder)
    mount("tmpfs", _TMP, "mode=1777")
    _TERMINALS.mkdir(exist_ok=True)
    mount("devpts", str(_TERMINALS), "mode=620,ptmxmode=666")
    Path("/run").chmod(_FOR_ALL)
    folder.mkdir(parents=True, exist_ok=True)
    if order.scratch:
        _overlay(folder)
    elif folder != Path("/"):
        mount("hostfs", str(folder), str(folder))


def _overlay(folder: Path) -> None:
    """Shows a folder of this machine; what is written into it is in the guest's memory."""
    lower, upper, work = layers = [_SCRATCH / name for name in ("lower", "upper", "work")]
    for layer in layers:
        layer.mkdir(parents=True)
    mount("hostfs", str(lower), str(folder))
    upper.chmod(stat.S_IMODE(lower.stat().st_mode))
    mount("overlay", str(folder), f"lowerdir={lower},upperdir={upper},workdir={work},redirect_dir=on")


def _names(order: Order) -> str:
    """Returns the text of /etc/hosts."""
    addresses = {"localhost": "127.0.0.1", **order.addresses}
    lines = [(address, name) for name, address in addresses.items()]
    if order.ipv6:
        lines += [("::1", "localhost"), *((ipv6_of(address), name) for name, address in order.addresses.items())]
    return "".join(f"{address} {name}\n" for address, name in lines)


def _replace(file: Path, text: str, own: Path) -> None:
    """Puts another text in place of a file of this machine, if it has the file."""
    made = own / file.name
    made.write_text(text)
    made.chmod(0o644)
    if file.exists():
        _bind(made, file.resolve())


def _bind(source: Path, target: Path) -> None:
    made = libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(_MS_BIND), None)
    check(made, f"showing {source} at {target}")
