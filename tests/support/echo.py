"""An echo server without any tuner, and its client."""

import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from priolab.common.process.processes import Process, ProcessSettings
from tests.support.waiting import until

SOON_S = 10.0
_TALK = b"x" * 4096

# An endless echo server. It answers b"?" with the connection's TCP_NOTSENT_LOWAT; b"=" with a number sets this
# option.
_ECHO = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    while data := connection.recv(65536):
        if data == b"?":
            data = str(connection.getsockopt(6, socket.TCP_NOTSENT_LOWAT)).encode()
        elif data[:1] == b"=":
            connection.setsockopt(6, socket.TCP_NOTSENT_LOWAT, int(data[1:]))
        connection.sendall(data)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@contextmanager
def serving(folder: Path, cgroup: Path | None = None, by: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """Start an echo server that has no code for tuners, and return its process id and port.

    by: a program that starts the server.
    """
    log = folder / "server.log"
    with Process("the server", [*by, sys.executable, "-c", _ECHO], log, ProcessSettings(cgroup=cgroup)) as process:
        until(lambda: log.read_text().endswith("\n"))
        yield process.pid, int(log.read_text())


def talk(client: socket.socket) -> None:
    """Make 20 round trips of 4096 bytes."""
    for _ in range(20):
        client.sendall(_TALK)
        come = 0
        while come < len(_TALK):
            data = client.recv(65536)
            assert data, "the server closed"
            come += len(data)


def lowat_of(client: socket.socket) -> int:
    """Return the TCP_NOTSENT_LOWAT of the server's end, as the server reports it."""
    client.sendall(b"?")
    return int(client.recv(100))


def have_set(client: socket.socket, lowat_bytes: int) -> None:
    """Have the server set TCP_NOTSENT_LOWAT on its end of the connection."""
    asked = f"={lowat_bytes}".encode()
    client.sendall(asked)
    assert client.recv(100) == asked
