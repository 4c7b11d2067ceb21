"""Reads and sets TCP_NOTSENT_LOWAT of a socket."""

import socket


def read(of: socket.socket) -> int:
    """Reads the socket's value; 0 if the sysctl applies. Raises OSError."""
    return of.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)


def write(of: socket.socket, lowat_bytes: int) -> None:
    """Sets the socket's value; with 0 the sysctl applies. Raises OSError."""
    of.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, lowat_bytes)


def put_back(of: socket.socket, lowat_bytes: int, own_bytes: int) -> bool:
    """Restores the server's own value if the socket still has the tuner's value. Raises OSError.

    Returns True if the value was restored. lowat_bytes: the tuner's value; 0 if the tuner set no value. own_bytes: the
    server's own value; 0 if the server set no value.
    """
    if not lowat_bytes or read(of) != lowat_bytes:
        return False
    write(of, own_bytes)
    return True
