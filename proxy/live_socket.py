"""Reads TCP_NOTSENT_LOWAT from the server's socket of the client's connection, because sock_diag(7) does not report it.

The descriptor is borrowed for each reading and closed at once (common/descriptors.py).
"""

import socket
from collections.abc import Callable

from priolab.common.descriptors import borrow, sockets_of, stat, with_descendants
from priolab.common.tuning import NO_LIMIT


class LiveSocket:
    """The client's connection to a server process or to a descendant of that process.

    The connection is searched for at the first reading of its LOWAT, and again when it has gone. peer: the
    client's address.
    """

    def __init__(self, server_pid: int, peer: str, seen: Callable[[socket.socket], object] = lambda _: None) -> None:
        """seen: called with a copy of the connection's descriptor at each reading of its LOWAT."""
        self._seen = seen
        self._server_pid = server_pid
        self._peer = peer
        self._peer_port: int | None = None
        self._place: tuple[int, int, int] | None = None
        self._holder: int | None = None

    @property
    def holder(self) -> int | None:
        """The id of the last process with the connection in a sample; None before the first sample."""
        return self._holder

    @property
    def holder_ended(self) -> bool:
        """True if the process that was last seen to have the connection has ended."""
        return self._holder is not None and not _runs(self._holder)

    def lowat_bytes(self, peer_port: int | None = None) -> int | None:
        """Returns the socket's TCP_NOTSENT_LOWAT, 0 if the sysctl applies (tcp(7)); None without a connection.

        NO_LIMIT stands for a socket without a limit.
        peer_port: the client's port, which chooses among several connections; None for any connection.
        """
        if peer_port != self._peer_port:
            self._place, self._peer_port = None, peer_port
        if self._place is None:
            self._place = self._find()
        if self._place is None:
            return None
        self._holder = self._place[0]
        lowat_bytes = _look(*self._place, self._peer, self._peer_port, self._seen)
        if lowat_bytes is None:
            self._place = None
        return lowat_bytes

    def _find(self) -> tuple[int, int, int] | None:
        for pid in with_descendants(self._server_pid):
            for descriptor, inode in _sockets_of(pid).items():
                if _look(pid, descriptor, inode, self._peer, self._peer_port) is not None:
                    return pid, descriptor, inode
        return None


def choose_congestion_control(server_pid: int, name: str) -> None:
    """Sets TCP_CONGESTION on a server's listening sockets; connections that they accept later inherit it.

    This is for hosts whose net.ipv4.tcp_allowed_congestion_control forbids a new network namespace to set the sysctl.
    Raises OSError.
    """
    for pid in with_descendants(server_pid):
        for descriptor, inode in _sockets_of(pid).items():
            listener = _borrow(pid, descriptor, inode)
            if listener is None:
                continue
            with listener:
                if listener.type == socket.SOCK_STREAM and listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def _runs(pid: int) -> bool:
    fields = stat(pid)
    return fields is not None and fields[0] not in "ZX"


def _borrow(pid: int, descriptor: int, inode: int) -> socket.socket | None:
    """Copies a socket of another process; None if the socket or process is gone, or if this user may not copy it."""
    try:
        return borrow(pid, descriptor, inode)
    except PermissionError:
        return None


def _sockets_of(pid: int) -> dict[int, int]:
    try:
        return sockets_of(pid)
    except PermissionError:
        return {}


def _look(
    pid: int,
    descriptor: int,
    inode: int,
    peer: str,
    peer_port: int | None,
    seen: Callable[[socket.socket], object] = lambda _: None,
) -> int | None:
    connection = _borrow(pid, descriptor, inode)
    if connection is None:
        return None
    with connection:
        try:
            address, port, *_ = connection.getpeername()
            if address != peer or peer_port not in (None, port):
                return None
            # Without a limit, as on connections to a listener of Multipath TCP, the kernel gives -1.
            lowat_bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) & NO_LIMIT
            seen(connection)
            return lowat_bytes
        except (OSError, ValueError):
            return None  # a listening socket, or a connection that has just closed
