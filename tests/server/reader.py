"""An HTTP/2 client that reads one response as slowly as the test requires."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, StreamEnded, StreamReset

from priolab.proxy.front import FrontSettings

WINDOW = 65_535
"""The bytes that a server may send before the client reports that it has read some (WINDOW_UPDATE)."""

_ASKED = 1


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A request that was sent, and its connection."""

    tls: ssl.SSLSocket
    connection: H2Connection

    def body(self, at_once: int) -> bytes:
        """Return the response's body, read in pieces of at most `at_once` bytes."""
        body = b""
        while data := self.tls.recv(at_once):
            for event in self.connection.receive_data(data):
                assert not isinstance(event, StreamReset | ConnectionTerminated), event
                if isinstance(event, DataReceived):
                    body += event.data
                    self.connection.acknowledge_received_data(event.flow_controlled_length, _ASKED)
                if isinstance(event, StreamEnded):
                    return body
            self.tls.sendall(self.connection.data_to_send())
        raise AssertionError(f"the connection was closed after {len(body)} bytes")


@contextmanager
def asking(settings: FrontSettings, path: str, *, receive_buffer: int | None = None) -> Iterator[Reader]:
    """Open a connection, send one GET, and return its reader."""
    context = ssl.create_default_context(cafile=str(settings.certificates.ca))
    context.set_alpn_protocols(["h2"])
    with socket.socket() as plain:
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(20)
        plain.connect((settings.address, settings.port))
        with context.wrap_socket(plain, server_hostname=settings.server_name) as tls:
            connection = H2Connection(H2Configuration(client_side=True))
            connection.initiate_connection()
            headers = [(":method", "GET"), (":scheme", "https"), (":authority", settings.server_name), (":path", path)]
            connection.send_headers(_ASKED, headers, end_stream=True)
            tls.sendall(connection.data_to_send())
            yield Reader(tls=tls, connection=connection)
