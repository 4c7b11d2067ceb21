"""TCP_NOTSENT_LOWAT of a socket."""

import socket


def read(of: socket.socket) -> int:
    """0 if it has none of its own. Raises OSError."""
    return of.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)


def write(of: socket.socket, lowat_bytes: int) -> None:
    """0 leaves it to the sysctl. Raises OSError."""
    of.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, lowat_bytes)


def put_back(of: socket.socket, lowat_bytes: int, own_bytes: int) -> bool:
    """Give it what it had before the tuner set this; whether it still had that. Raises OSError."""
    if not lowat_bytes or read(of) != lowat_bytes:
        return False
    write(of, own_bytes)
    return True
