"""Sockets of Multipath TCP, which Go's servers listen with by default."""

import socket

import pytest

MPTCP = 262  # <linux/in.h>


def listening(protocol: int = MPTCP) -> socket.socket:
    """Return a listening socket on a free port of 127.0.0.1. Skip the test if the kernel has no MPTCP."""
    try:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    except OSError:
        pytest.skip("this kernel has no MPTCP")
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener
