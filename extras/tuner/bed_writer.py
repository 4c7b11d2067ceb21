"""A server for the bed (bed.py) that always has data: python3 -m priolab.extras.tuner.bed_writer ADDRESS PORT COUNT.

It accepts COUNT connections, and writes to each whenever its socket is writable. Every 10 ms it prints a line for each:
the time in ns (CLOCK_MONOTONIC), the client's port, TCP_NOTSENT_LOWAT, the unsent bytes, and the congestion window. It
runs until it is killed.
"""

import fcntl
import select
import socket
import struct
import sys
import time

_EVERY_S = 0.01
_AT_ONCE = bytes(1 << 16)
_SIOCOUTQNSD = 0x894B
_INT = struct.Struct("=i")
_CWND_AT = 80
"""The place of tcpi_snd_cwnd in struct tcp_info."""


def unsent_bytes(connection: socket.socket) -> int:
    """Returns how many bytes of those written were never sent; over Multipath TCP, those that no path has got."""
    (unsent,) = _INT.unpack(fcntl.ioctl(connection, _SIOCOUTQNSD, bytes(_INT.size)))
    return int(unsent)


def sample(connection: socket.socket) -> tuple[int, int, int]:
    """Returns TCP_NOTSENT_LOWAT, the unsent bytes, and the congestion window in segments."""
    lowat_bytes = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)
    known = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _CWND_AT + _INT.size)
    return lowat_bytes, unsent_bytes(connection), _INT.unpack_from(known, _CWND_AT)[0]


def _write(connection: socket.socket) -> None:
    try:
        while connection.send(_AT_ONCE):
            pass
    except BlockingIOError:
        pass


def main(address: str, port: str, count: str) -> None:
    """Writes and samples until a client closes its connection."""
    with socket.create_server((address, int(port)), backlog=int(count)) as listener:
        connections = [listener.accept() for _ in range(int(count))]
    writable = select.epoll()
    by_number = {connection.fileno(): connection for connection, _ in connections}
    for connection in by_number.values():
        connection.settimeout(0)
        writable.register(connection, select.EPOLLOUT | select.EPOLLET)
    due_s = time.monotonic()
    while True:
        for number, _ in writable.poll(max(0.0, due_s - time.monotonic())):
            _write(by_number[number])
        if time.monotonic() >= due_s:
            due_s += _EVERY_S
            for connection, peer in connections:
                print(time.monotonic_ns(), peer[1], *sample(connection))


if __name__ == "__main__":
    main(*sys.argv[1:])
