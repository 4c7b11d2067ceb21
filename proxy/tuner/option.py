"""Reads and sets TCP_NOTSENT_LOWAT of a socket."""

import socket


def read(of: socket.socket) -> int:
    """Returns TCP_NOTSENT_LOWAT of the socket `of`; 0 if the sysctl applies (tcp(7)). Raises OSError."""
    return of.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)


def write(of: socket.socket, lowat_bytes: int) -> None:
    """Sets TCP_NOTSENT_LOWAT of the socket `of`; with 0 the sysctl applies (tcp(7)). Raises OSError."""
    of.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, lowat_bytes)


def put_back(of: socket.socket, lowat_bytes: int, own_bytes: int) -> bool:
    """Restores the server's own TCP_NOTSENT_LOWAT on the socket `of` if it still has the tuner's value.

    Raises OSError. Returns True if the value was restored. lowat_bytes: the tuner's value; 0 if the tuner set no value.
    own_bytes: the server's own value; 0 if the server set no value.
    """
    if not lowat_bytes or read(of) != lowat_bytes:
        return False
    write(of, own_bytes)
    return True
