"""Reads the sysctl tcp_notsent_lowat of network namespaces, which the kernel numbers (SO_NETNS_COOKIE).

/proc/sys/net shows only the reader's own namespace. To read another namespace's sysctl, a new thread enters this
namespace, reads the sysctl, and ends.
"""

import ctypes
import errno
import fcntl
import os
import socket
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from priolab.proxy.tuner.tuner import CannotTune

_HERE = Path("/proc/thread-self/ns/net")
_SYSCTL = Path("/proc/sys/net/ipv4/tcp_notsent_lowat")
_SO_NETNS_COOKIE = 71  # <asm/socket.h>
_SIOCGSKNS = 0x894C  # <linux/sockios.h>
_CLONE_NEWNET = 0x4000_0000  # <linux/sched.h>
_AGE_NS = 10**9
_libc = ctypes.CDLL(None, use_errno=True)


class Sysctls:
    """Reads tcp_notsent_lowat of the network namespaces of sockets and processes. All errors are CannotTune."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}

    def of_socket(self, found: socket.socket, pid: int, now_ns: int) -> int:
        """Returns tcp_notsent_lowat of the namespace of the socket `found`; the value may be a second old.

        pid: the process that has the socket.
        """
        try:
            number = _number(found)
            read_ns, sysctl_bytes = self._known.get(number, (0, 0))
            if not read_ns or now_ns - read_ns >= _AGE_NS:
                number_here, sysctl_bytes = _read()
                if number != number_here:
                    _, sysctl_bytes = _read_in(fcntl.ioctl(found, _SIOCGSKNS))
                self._known[number] = now_ns, sysctl_bytes
        except OSError as error:
            raise _unreadable(pid, error) from error
        return sysctl_bytes

    def of_processes(self, pids: Iterable[int]) -> dict[int, int]:
        """Returns tcp_notsent_lowat of the processes' namespaces, by the number of the namespace.

        Skips processes that have ended.
        """
        found: dict[int, int] = {}
        read: set[int] = set()
        for pid in pids:
            try:
                namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
                inode = os.fstat(namespace).st_ino
                if inode in read:
                    os.close(namespace)
                    continue
                number, sysctl_bytes = _read_in(namespace)
            except (FileNotFoundError, ProcessLookupError):
                continue
            except OSError as error:
                raise _unreadable(pid, error) from error
            found[number] = sysctl_bytes
            read.add(inode)
        return found


def _unreadable(pid: int, error: OSError) -> CannotTune:
    reason = f"process {pid}: its network namespace's tcp_notsent_lowat cannot be read: {error.strerror}"
    needed = "use Linux 5.14 or newer" if error.errno == errno.ENOPROTOOPT else "run as root with CAP_SYS_ADMIN"
    return CannotTune(reason, f"{needed}, or give --ceiling BYTES")


def _number(found: socket.socket) -> int:
    return int.from_bytes(found.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), sys.byteorder)


def _read() -> tuple[int, int]:
    """Returns the number of this thread's namespace, and its sysctl."""
    with socket.socket() as some:
        return _number(some), int(_SYSCTL.read_text())


def _read_in(namespace: int) -> tuple[int, int]:
    """Returns the number and the sysctl of a namespace. Closes the descriptor `namespace`."""
    try:
        if os.fstat(namespace).st_ino == _HERE.stat().st_ino:
            return _read()
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_enter_and_read, namespace).result()
    finally:
        os.close(namespace)


def _enter_and_read(namespace: int) -> tuple[int, int]:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return _read()
