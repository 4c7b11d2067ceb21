"""Sockets of Multipath TCP, which Go's servers listen with by default."""

import socket

MPTCP = 262  # <linux/in.h>


def listening(protocol: int = MPTCP) -> socket.socket:
    """Return a listening socket on a free port of 127.0.0.1. Raises OSError without MPTCP in the kernel."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def lack() -> str:
    """Return the reason why the kernel has no MPTCP; empty if it has."""
    try:
        listening().close()
    except OSError as error:
        return str(error)
    return ""
