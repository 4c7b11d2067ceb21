"""One response over HTTP/2, read as slowly as one likes."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, StreamEnded, StreamReset

from proxy.front import FrontSettings

WINDOW = 65_535
"""What a server may send before it is told that some of it has been read."""

_ASKED = 1


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A request that was made."""

    tls: ssl.SSLSocket
    connection: H2Connection

    def body(self, at_once: int) -> bytes:
        """All of the response, never more than so many bytes at a time."""
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
    """A connection of its own, and one GET."""
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
