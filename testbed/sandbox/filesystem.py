"""The files that the programs see, and the rights that they have in a guest.

In a guest the programs have a mount namespace of their own, with a root of their own. Of this machine's files it shows
all but those below /dev, /mnt, /proc, /run, /sys and /tmp, or with --read only the system's folders and the paths that
it names; read-only, and no device among them works. The current folder is this machine's and writable, or with
--scratch below an overlay. /tmp, /run, /dev/shm and HOME are empty and writable, and go with the guest.

The programs are root without the capabilities with which root can mount, enter another namespace, read other processes'
memory or make devices. So they cannot reach what this process sees: the guest's first root, and the folder of orders
and results. Those that they get in a user namespace of their own do not suffice either: hostfs cannot be mounted there.

On a real clock the programs see and write this machine's files, with a HOME of their own. In both, /etc/hosts and
/etc/resolv.conf are the sandbox's: they name the hosts, and send other names to port 53 of the server.
"""

import ctypes
import os
import resource
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from priolab.common.errors import StepFailed
from priolab.common.layer import show_empty_files
from priolab.testbed.guest.guest_start import check, libc
from priolab.testbed.sandbox.spec import HOME, SERVER, SandboxSpec
from priolab.testbed.topology.topology import ipv6_of

_CLONE_NEWNS = 0x0002_0000  # <linux/sched.h>
_MS_RDONLY, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 4, 32, 4096, 16384, 1 << 18  # <linux/mount.h>
_MNT_DETACH = 2
_PIVOT_ROOT = 155  # on x86-64
_PR_CAPBSET_DROP = 24  # <linux/prctl.h>
_CAPABILITIES_3 = 0x2008_0522  # <linux/capability.h>
_WITHHELD = {
    "DAC_READ_SEARCH": 2,
    "SYS_MODULE": 16,
    "SYS_RAWIO": 17,
    "SYS_PTRACE": 19,
    "SYS_PACCT": 20,
    "SYS_ADMIN": 21,
    "SYS_BOOT": 22,
    "MKNOD": 27,
    "SYSLOG": 34,
    "CHECKPOINT_RESTORE": 40,
}
"""The capabilities that a guest's programs do not get, and their numbers in <linux/capability.h>."""

_OWN_MOUNTS = Path("/proc/self/ns/mnt")
_ROOT = Path("/mnt")
"""In the guest's first root: the folder of the spec, and in its place the root of the programs while it is made."""

GUESTS = ("/dev", "/mnt", "/proc", "/run", "/sys", "/tmp")  # noqa: S108
"""The folders of which the programs see nothing of this machine's, but for the current folder and what --read names."""

_SYSTEM = ("bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "usr")
"""The system's folders in /, which programs need for their work."""

_DEVICES = {"full": (1, 7), "null": (1, 3), "random": (1, 8), "tty": (5, 0), "urandom": (1, 9), "zero": (1, 5)}
_LINKS = {
    "fd": "/proc/self/fd",
    "ptmx": "pts/ptmx",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_TERMINALS, _SEMAPHORES = "dev/pts", "dev/shm"
_HIDDEN = "sys/module/um_arch"
"""The guest kernel's own settings: a read of one of them makes the guest wait for its host."""

_FOR_ALL = 0o1777


class View:
    """The files that the programs see. A context manager. home: their HOME."""

    def __init__(self, spec: SandboxSpec, own: Path) -> None:
        """Makes it. own: a folder for files of the lab, of which the programs see those named above.

        Raises StepFailed.
        """
        self._spec = spec
        self._stack = ExitStack()
        self.home = HOME if spec.isolated else str(own / "home")
        try:
            if spec.isolated:
                self._descriptor = self._made_elsewhere(own)
            else:
                _begin_mounts()
                self._make(own)
        except OSError as error:
            raise StepFailed("the programs' files", str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _made_elsewhere(self, own: Path) -> int:
        """Makes it as a mount namespace, to which this process does not move; returns the namespace's descriptor."""
        _make_terminals()
        with ExitStack() as stack:
            home = os.open(_OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, home)
            here = os.open(".", os.O_PATH | os.O_CLOEXEC)
            stack.callback(os.close, here)
            _begin_mounts()
            try:
                _make_root(self._spec)
                self._make(own)
                _change(Path("/"), _MS_RDONLY)
                made = os.open(_OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
                self._stack.callback(os.close, made)
            finally:
                check(libc.setns(home, _CLONE_NEWNS), "returning from the programs' files")
                os.fchdir(here)
        return made

    def _make(self, own: Path) -> None:
        for folder in (Path(self.home), own):
            folder.mkdir(parents=True, exist_ok=True)
        resolver = f"nameserver {self._spec.addresses[SERVER]}\n"
        texts = {Path("/etc/hosts"): _names(self._spec), Path("/etc/resolv.conf"): resolver}
        show_empty_files([file for file in texts if not file.exists()], own / "layer")
        for file, text in texts.items():
            _replace(file, text, own)

    def enter(self) -> None:
        """Makes this process one of the programs. Raises OSError."""
        if self._spec.isolated:
            check(libc.setns(self._descriptor, _CLONE_NEWNS), "the programs' files")
            _open_as_many_files(self._spec.open_files)
            _give_up_capabilities()
        os.chdir(self._spec.folder)

    @contextmanager
    def opened(self, file: Path) -> Iterator[BinaryIO]:
        """Opens a file for a program to read. In a guest it cannot open the file anew for writing, in /proc/self/fd."""
        if not self._spec.isolated:
            opened = file.open("rb")
        else:
            place = Path("/run/given")
            place.mkdir(exist_ok=True)
            _bind(file.parent, place)
            try:
                _change(place, _MS_RDONLY)
                opened = (place / file.name).open("rb")
            finally:
                _detach(place)
        with opened:
            yield opened


def _begin_mounts() -> None:
    """Gives this process mounts of its own, which nothing outside sees."""
    check(libc.unshare(_CLONE_NEWNS), "a mount namespace")
    check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "keeping mounts")


def _make_terminals() -> None:
    """Makes the terminals of the guest's programs, in this process's own files, too."""
    place = Path("/", _TERMINALS)
    place.mkdir(exist_ok=True)
    _mount("devpts", place, options="mode=620,ptmxmode=666")


def _make_root(spec: SandboxSpec) -> None:
    """Makes the programs' root, and leaves the guest's first one. Raises OSError."""
    _detach(_ROOT)
    _mount("tmpfs", _ROOT, options="mode=755")
    nothing = _folder("mnt")
    for path in sorted(Path("/").iterdir()):
        if str(path) not in GUESTS and (spec.visible is None or path.name in _SYSTEM):
            _show(path)
    for folder in _own_folders():
        _graft(folder)
    _make_devices()
    for name in ("tmp", "run"):
        _mount("tmpfs", _folder(name), options="mode=1777")
    _mount("proc", _folder("proc"))
    _graft(Path("/sys"))
    for name in spec.visible or ():
        _show(Path(name))
    _show_folder(spec)
    for name in (_HIDDEN, *spec.hidden):
        with suppress(OSError):
            if (place := _inside(name)).is_dir():
                _bind(nothing, place)
    os.chdir(_ROOT)
    check(libc.syscall(_PIVOT_ROOT, b".", b"."), "a new root")
    check(libc.umount2(b".", _MNT_DETACH), "leaving the first root")
    os.chdir("/")


def _own_folders() -> Iterator[Path]:
    """Yields the empty folders that the guest has in place of this machine's, such as /var/log/nginx."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        path = Path(place)
        if kind == "tmpfs" and not any(path.is_relative_to(each) for each in GUESTS) and not _inside(path).is_mount():
            yield path


def _inside(path: str | Path) -> Path:
    """Returns the path, in the guest's first root, of what has this path in the programs' root."""
    return _ROOT / str(path).lstrip("/")


def _folder(path: str | Path) -> Path:
    """Makes a folder in the programs' root, unless it is there."""
    made = _inside(path)
    made.mkdir(parents=True, exist_ok=True)
    return made


def _show(path: Path) -> None:
    """Shows a file or folder of this machine, read-only."""
    place = _inside(path)
    with suppress(FileExistsError):
        if path.is_symlink():
            place.symlink_to(path.readlink())
            return
        if path.is_dir():
            _folder(path)
        else:
            _folder(path.parent)
            place.touch()
    _bind(path, place)
    _change(place, _MS_RDONLY | _MS_NODEV)


def _graft(folder: Path) -> None:
    _bind(folder, _folder(folder))


def _make_devices() -> None:
    devices = _folder("dev")
    _mount("tmpfs", devices, options="mode=755")
    for name, numbers in _DEVICES.items():
        os.mknod(devices / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
        (devices / name).chmod(0o666)
    for name, target in _LINKS.items():
        (devices / name).symlink_to(target)
    for name in (_TERMINALS, _SEMAPHORES):
        _graft(Path("/", name))


def _show_folder(spec: SandboxSpec) -> None:
    """Shows the current folder, writable, or with --scratch below an overlay."""
    if spec.folder == "/":
        return
    place = _folder(spec.folder)
    if not spec.scratch:
        _mount("hostfs", place, flags=_MS_NODEV, options=spec.folder)
        return
    layers = _folder("layers")
    _mount("tmpfs", layers)
    lower, upper, work = (layers / name for name in ("lower", "upper", "work"))
    for layer in (lower, upper, work):
        layer.mkdir()
    _mount("hostfs", lower, options=spec.folder)
    upper.chmod(stat.S_IMODE(lower.stat().st_mode))
    options = f"lowerdir={lower},upperdir={upper},workdir={work},redirect_dir=on"
    _mount("overlay", place, flags=_MS_NODEV, options=options)
    _detach(layers)
    layers.rmdir()


def _open_as_many_files(limits: Sequence[int] | None) -> None:
    """Lets this process, and those that it starts, open as many files as on this machine. limits: soft and hard."""
    if limits is not None:
        most = int(Path("/proc/sys/fs/nr_open").read_text())
        soft, hard = (most if limit < 0 else min(limit, most) for limit in limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _give_up_capabilities() -> None:
    """Gives up the capabilities that programs do not get, for this process and all that it starts."""
    for name, number in _WITHHELD.items():
        check(libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), f"giving up CAP_{name}")
    withheld = sum(1 << number for number in _WITHHELD.values())
    head = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
    words = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable ones from 0 on, and from 32 on
    check(libc.capget(head, words), "the capabilities")
    for number, word in enumerate(words):
        words[number] = word & ~(withheld >> (32 * (number // 3)))
    check(libc.capset(head, words), "giving up capabilities")


def _names(spec: SandboxSpec) -> str:
    """Returns the text of /etc/hosts."""
    addresses = {"localhost": "127.0.0.1", **spec.addresses}
    lines = [(address, name) for name, address in addresses.items()]
    if spec.ipv6:
        lines += [("::1", "localhost"), *((ipv6_of(address), name) for name, address in spec.addresses.items())]
    return "".join(f"{address} {name}\n" for address, name in lines)


def _replace(file: Path, text: str, own: Path) -> None:
    """Puts another text in place of a file of this machine."""
    made = own / file.name
    made.write_text(text)
    made.chmod(0o644)
    _bind(made, file.resolve())


def _bind(source: Path, target: Path) -> None:
    """Shows a file or folder, with what is mounted below it, at another place."""
    _mount("none", target, source=source, flags=_MS_BIND | _MS_REC)


def _change(place: Path, flags: int) -> None:
    """Changes the flags of a mount, not those of its file system."""
    _mount("none", place, flags=_MS_REMOUNT | _MS_BIND | flags)


def _mount(kind: str, target: Path, *, source: Path | None = None, flags: int = 0, options: str = "") -> None:
    done = libc.mount(
        os.fsencode(source or "none"), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), os.fsencode(options)
    )
    check(done, f"mounting {source or kind} on {target}")


def _detach(place: Path) -> None:
    """Takes away all that is mounted at a place."""
    while libc.umount2(os.fsencode(place), _MNT_DETACH) == 0:
        pass
