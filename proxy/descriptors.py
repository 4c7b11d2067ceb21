"""Finds another process's sockets and borrows one of them with pidfd_getfd(2).

1. A borrowed descriptor is closed at once: kept open, it would keep the connection open after the server closed it.
2. A descriptor's number may stand for something else a moment later. So a socket is identified by its inode, and
   borrowed by both number and inode.
3. A process or socket that has gone gives None or an empty result. Missing permission or a failing call is an OSError.
"""

import ctypes
import errno
import os
import select
import socket
from contextlib import suppress
from pathlib import Path

_SYS_PIDFD_GETFD = 438  # the same on every architecture
_NO_DESCRIPTOR = 2**31 - 1
_SOCKET = "socket:["
_libc = ctypes.CDLL(None, use_errno=True)


def stat(pid: int) -> list[str] | None:
    """The process's fields of /proc/PID/stat from its state on (proc(5)); None if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def with_descendants(pid: int) -> list[int]:
    """Process ids of the process and its descendants, its own first."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat(int(entry.name))) is not None:
            parents[int(entry.name)] = int(fields[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def has_ended(pidfd: int) -> bool:
    """True if the process has ended, reaped or not. Until it has, no other process can have its id."""
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    return bool(waiting.poll(0))


def sockets_of(pid: int) -> dict[int, int]:
    """Inodes of a process's sockets by descriptor; empty if the process has gone. Raises OSError."""
    found: dict[int, int] = {}
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
            except FileNotFoundError:
                continue
            if target.startswith(_SOCKET):
                found[int(entry.name)] = int(target[len(_SOCKET) : -1])
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return found


def borrow(pid: int, descriptor: int, inode: int) -> socket.socket | None:
    """Copies a socket of another process; None if it, or the process, has gone. Raises OSError."""
    borrowed = _copied(pid, descriptor)
    if borrowed is None:
        return None
    with suppress(OSError):  # not a socket, but a file with that inode
        if os.fstat(borrowed).st_ino == inode:
            return socket.socket(fileno=borrowed)
    os.close(borrowed)
    return None


def check_borrowing(pid: int) -> None:
    """Raises OSError if this process may not borrow from that one."""
    _copied(pid, _NO_DESCRIPTOR)  # the kernel checks permission before it checks the descriptor


def _copied(pid: int, descriptor: int) -> int | None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        copied: int = _libc.syscall(_SYS_PIDFD_GETFD, pidfd, descriptor, 0)
        error = ctypes.get_errno()
    finally:
        os.close(pidfd)
    if copied >= 0:
        return copied
    if error in (errno.EBADF, errno.ESRCH):
        return None
    raise OSError(error, os.strerror(error))
