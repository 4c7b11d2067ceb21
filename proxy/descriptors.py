"""Another process's descriptors: which are sockets, and one of them borrowed with pidfd_getfd(2).

A borrowed descriptor is given back at once: kept open, it would keep the connection open after the server closed it.
"""

import ctypes
import os
import socket
from pathlib import Path

_SYS_PIDFD_GETFD = 438  # the same on every architecture
_SOCKET = "socket:["
_libc = ctypes.CDLL(None, use_errno=True)


def stat(pid: int) -> list[str] | None:
    """State, parent and so on (proc(5)); None if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def with_descendants(pid: int) -> list[int]:
    """Process ids, the process's own first."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat(int(entry.name))) is not None:
            parents[int(entry.name)] = int(fields[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def sockets_of(pid: int) -> dict[int, int]:
    """Inodes of its sockets by descriptor; empty if the process has gone. Raises PermissionError."""
    found: dict[int, int] = {}
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
            except FileNotFoundError:
                continue
            if target.startswith(_SOCKET):
                found[int(entry.name)] = int(target[len(_SOCKET) : -1])
    except PermissionError:
        raise
    except OSError:
        return {}
    return found


def borrow(pid: int, descriptor: int) -> socket.socket | None:
    """Copy a socket of another process; None if it, or the process, has gone. Raises PermissionError."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        borrowed = _libc.syscall(_SYS_PIDFD_GETFD, pidfd, descriptor, 0)
        error = ctypes.get_errno()
    finally:
        os.close(pidfd)
    if borrowed >= 0:
        return socket.socket(fileno=borrowed)
    if error in (1, 13):
        raise PermissionError(error, os.strerror(error))
    return None
