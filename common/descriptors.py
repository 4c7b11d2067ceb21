"""Finds another process's sockets and borrows one of them with pidfd_getfd(2).

1. Callers close a borrowed descriptor at once; an open one would keep the connection open after the server closed it.
2. The number of a descriptor may be reused for another file at any time. So a socket is identified by its inode: the
   file with the descriptor's number is borrowed, and then the inode of this file is checked.
3. If a process has ended or a socket is closed, the result is None or empty. Missing permission or a failed system call
   raises OSError.
"""

import ctypes
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SYS_PIDFD_GETFD = 438  # the same on every architecture
_MOST_BYTES = 16_384
_SOCKET = "socket:["
_libc = ctypes.CDLL(None, use_errno=True)


def read_beginning(file: str) -> str:
    """Returns the beginning of a file; empty if it cannot be read. Path.read_text would make twice the system calls."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _MOST_BYTES).decode(errors="replace")
        finally:
            os.close(descriptor)
    except OSError:
        return ""


def stat(pid: int) -> list[str] | None:
    """Returns the fields of /proc/PID/stat from the process's state on (proc(5)); None if the process is gone."""
    return read_beginning(f"/proc/{pid}/stat").rpartition(")")[2].split() or None


def process_ids() -> Iterator[int]:
    """Returns the ids of all processes."""
    return map(int, filter(str.isdigit, os.listdir("/proc")))  # noqa: PTH208 - faster than a Path of each


def with_descendants(pid: int) -> list[int]:
    """Returns the process ids of a process and its descendants, the process itself first."""
    parents = {each: int(fields[1]) for each in process_ids() if (fields := stat(each)) is not None}
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def sockets_of(pid: int) -> dict[int, int]:
    """Returns the inodes of a process's sockets by descriptor; empty if the process has ended. Raises OSError."""
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
    """Copies a descriptor of another process's socket; the caller closes the copy. inode: the socket's inode.

    Returns None if the socket is closed or the process has ended. Raises OSError.
    """
    borrowed = _copied(pid, descriptor)
    if borrowed is None:
        return None
    with suppress(OSError):  # the descriptor is no socket, but another file with that inode
        if os.fstat(borrowed).st_ino == inode:
            return socket.socket(fileno=borrowed)
    os.close(borrowed)
    return None


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
