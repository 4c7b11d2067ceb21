"""Tests of reading a server's live socket: its own TCP_NOTSENT_LOWAT."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from priolab.proxy.live_socket import LiveSocket
from tests.support.mptcp import MPTCP, listening


@contextmanager
def _accepted(protocol: int) -> Iterator[tuple[socket.socket, int]]:
    """Yield a connection that a listener of the protocol accepted, and its client's port."""
    with (
        listening(protocol) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as accepted,
    ):
        yield accepted, client.getsockname()[1]


def test_of_a_listener_of_tcp() -> None:
    """The option is 0 until the server sets it."""
    with _accepted(socket.IPPROTO_TCP) as (connection, port):
        live = LiveSocket(os.getpid(), "127.0.0.1")
        assert live.lowat_bytes(port) == 0
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 16_384)
        assert live.lowat_bytes(port) == 16_384


def test_of_a_listener_of_multipath_tcp() -> None:
    """The kernel exempts the connections from the sysctl: their own limit is the largest number."""
    with _accepted(MPTCP) as (_, port):
        assert LiveSocket(os.getpid(), "127.0.0.1").lowat_bytes(port) == 2**32 - 1
