"""Fronts that misbehave, for tests in tests/server."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection

from priolab.proxy.certificates import issue

NAME = "maps.test"
SOON_S = 10.0

Behaviour = Callable[[ssl.SSLSocket], None]


@contextmanager
def listening(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """Call `behave` with each connection, one after the other; return the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    plain = listener.accept()[0]
                except OSError:
                    return
                with contextlib.suppress(OSError), plain:
                    plain.settimeout(SOON_S)
                    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    behave(plain)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(SOON_S)
        assert not thread.is_alive()


def over_tls(folder: Path, behave: Behaviour, alpn: str = "h2") -> Callable[[socket.socket], None]:
    """Return a function that calls `behave` above TLS. The authority's certificate is `ca.pem` in the folder."""
    certificates = issue(folder, NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.chain, certificates.key)
    context.set_alpn_protocols([alpn])

    def serve(plain: socket.socket) -> None:
        with context.wrap_socket(plain, server_side=True) as tls:
            behave(tls)

    return serve


def session(tls: ssl.SSLSocket, requests: int = 1) -> H2Connection:
    """Return an HTTP/2 server's connection that has received this number of requests.
    Raise ConnectionError if the client closes first.
    """
    connection = H2Connection(H2Configuration(client_side=False))
    connection.initiate_connection()
    tls.sendall(connection.data_to_send())
    events: list[object] = []
    while sum(type(event).__name__ == "RequestReceived" for event in events) < requests:
        data = tls.recv(65_536)
        if not data:
            raise ConnectionError("the client closed before its last request")
        events += connection.receive_data(data)
    tls.sendall(connection.data_to_send())
    return connection


def say_nothing(connected: socket.socket) -> None:
    """Read, and send nothing, until the client closes."""
    with contextlib.suppress(TimeoutError):
        while connected.recv(65_536):
            pass


def pour(tls: ssl.SSLSocket, frame: bytes) -> None:
    """Send `frame` again and again until the client closes.
    Read the client's responses meanwhile, because the client would stop reading if they were not read.
    """
    reader = threading.Thread(target=_swallow, args=[tls])
    reader.start()
    try:
        while True:
            tls.sendall(frame * max(1, 16_384 // len(frame)))
    finally:
        reader.join(SOON_S)


def _swallow(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        say_nothing(connected)
