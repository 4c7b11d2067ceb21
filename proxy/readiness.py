"""Tests whether a front is ready: sends a request to it, as a client would.

`python -m priolab.proxy.readiness [SECONDS]` tests the front in this container or namespace. The exit code is 0 as soon
as the front answers, and 1 if it does not answer within SECONDS. Environment variables: ADDRESS, the front's address;
ORIGIN, the origin's HOST:PORT; CA, the file of the certificate authority to trust, /run/front/ca.pem by default.
"""

import http.client
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, ResponseReceived, StreamReset
from h2.exceptions import ProtocolError

from priolab.common.tls import trusting, wrong_alpn
from priolab.proxy.switch import H2C, HTTP1

NAMES = ("maps.test", "localhost", "127.0.0.1")
"""The names in the certificate of a front that people visit; the first name is the front's server name."""

HOME = Path("/run/front")
"""The folder of a front in a container."""

_HTTP2 = "h2"
_CLEARTEXT = (HTTP1, H2C)
_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "wrong version number": "the front does not speak TLS",
        "no application protocol": f"the front does not offer {_HTTP2} by ALPN",
    }
)
"""The meanings of texts of OpenSSL, for authors of servers."""
_OTHERS: Mapping[str, str] = MappingProxyType(
    {
        H2C: "HTTP/2 without TLS (if it is to: tls = false in server.toml)",
        HTTP1: "HTTP/1.1 without TLS",
        _HTTP2: "HTTP/2 above TLS, although server.toml has tls = false",
    }
)
"""The protocol of a front that does not speak the one asked for, in words."""
_FAILURES = (OSError, ProtocolError, http.client.HTTPException)
_RETRY_S = 0.05
_ORIGIN_S = 2.0


class WrongProtocol(ProtocolError):
    """The front does not speak HTTP/2 above TLS, which no further try will change."""


class NotReady(Exception):
    """The front did not answer in time; the text has the error of the last try."""


def ask(
    address: tuple[str, int], server_name: str, ca_file: Path, path: str, timeout_s: float, protocol: str = _HTTP2
) -> str:
    """Sends a GET and returns the status.

    protocol: the front's protocol. `http1` and `h2c` are without TLS; all others are above TLS. SPDY fronts get the
    request over HTTP/1.1, all other fronts over HTTP/2. Raises OSError, ssl.SSLError, HTTPException or ProtocolError.
    """
    if protocol in _CLEARTEXT:
        with socket.create_connection(address, timeout=timeout_s) as plain:
            return (_ask_over_http1 if protocol == HTTP1 else _ask_over_http2)(plain, server_name, path)
    offered = "http/1.1" if protocol.startswith("spdy/") else _HTTP2
    context = trusting(ca_file)
    context.set_alpn_protocols([offered])
    with (
        socket.create_connection(address, timeout=timeout_s) as plain,
        context.wrap_socket(plain, server_hostname=server_name) as tls,
    ):
        if tls.selected_alpn_protocol() != offered:
            raise WrongProtocol(wrong_alpn(tls.selected_alpn_protocol(), offered))
        return (_ask_over_http2 if offered == _HTTP2 else _ask_over_http1)(tls, server_name, path)


def _spoken(
    error: Exception, address: tuple[str, int], server_name: str, ca_file: Path, path: str, try_s: float, protocol: str
) -> str | None:
    """Returns in which other protocol a front answers, in words; None if in none, or if it answers in its own now."""
    if not isinstance(error, (ssl.SSLError, ConnectionResetError, ProtocolError)):
        return None

    def status(spoken: str) -> str | None:
        with suppress(*_FAILURES):
            return ask(address, server_name, ca_file, path, try_s, spoken)
        return None

    for other, words in _OTHERS.items():
        if other == protocol or (other not in _CLEARTEXT and protocol not in _CLEARTEXT):
            continue  # a front above TLS whose first connection failed may answer the next one
        # A port may have several protocols, of which only one connection has failed.
        if status(other) == "200":
            return words if status(protocol) is None else None
    return None


def _ask_over_http2(stream: socket.socket, server_name: str, path: str) -> str:
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    scheme = "https" if isinstance(stream, ssl.SSLSocket) else "http"
    headers = [(":method", "GET"), (":scheme", scheme), (":authority", server_name), (":path", path)]
    connection.send_headers(1, headers, end_stream=True)
    stream.sendall(connection.data_to_send())
    while data := stream.recv(16384):
        for event in connection.receive_data(data):
            if isinstance(event, ResponseReceived):
                return dict(event.headers or [])[b":status"].decode()
            if isinstance(event, StreamReset | ConnectionTerminated):
                raise ProtocolError(f"{event}")
    raise ProtocolError("the connection was closed without an answer")


def _ask_over_http1(stream: socket.socket, server_name: str, path: str) -> str:
    connection = http.client.HTTPConnection(server_name)
    connection.sock = stream
    connection.request("GET", path)
    return str(connection.getresponse().status)


def account_of_origin(origin: str) -> str:
    """Sends a request to the origin (HOST:PORT) without the front; returns a sentence on its answer."""
    asking = http.client.HTTPConnection(origin, timeout=_ORIGIN_S)
    try:
        asking.request("GET", "/ready")
        return f"the origin {origin} answers from here with status {asking.getresponse().status}"
    except (OSError, http.client.HTTPException) as error:
        return f"the origin {origin} does not answer from here: {error or type(error).__name__}"
    finally:
        asking.close()


def wait_until_ready(
    address: tuple[str, int],
    server_name: str,
    ca_file: Path,
    *,
    origin: str,
    protocol: str = _HTTP2,
    path: str = "/ready",
    deadline_s: float,
    try_s: float = 2.0,
    check_alive: Callable[[], None],
    check_origin: Callable[[], None] = lambda: None,
) -> None:
    """Returns when the front answers with status 200, which shows that the origin answers, too.

    A front without TLS, or without HTTP/2, is a final answer, and so is one that answers in another protocol.

    check_alive: called before each try; may raise an error. check_origin: called when the front answers with another
    status; may raise an error. try_s: how long a try waits for an answer. Raises NotReady after deadline_s seconds; the
    text also says whether the origin (HOST:PORT) answers.
    """
    end: float = time.monotonic() + deadline_s
    while True:
        check_alive()
        try:
            status = ask(address, server_name, ca_file, path, try_s, protocol)
            if status == "200":
                return
            reason = f"the front answered {path} with status {status}"
            check_origin()
        except _FAILURES as error:
            meanings = [means for text, means in _MEANINGS.items() if text in str(error)]
            reason = "".join(f"{means}: " for means in meanings) + str(error)
            if spoken := _spoken(error, address, server_name, ca_file, path, try_s, protocol):
                reason = f"the front speaks {spoken}: {error}"
            if meanings or spoken or isinstance(error, WrongProtocol):
                end = 0
        if time.monotonic() > end:
            where = ":".join(map(str, address))
            after = f" after {deadline_s:g} s" if end else ""
            raise NotReady(f"not ready at {where}{after}: {reason}; {account_of_origin(origin)}")
        time.sleep(_RETRY_S)


def main() -> int:
    """Carries out the command line; returns the exit code."""
    deadline_s = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    ca_file = Path(os.environ.get("CA", HOME / "ca.pem"))
    try:
        wait_until_ready(
            (os.environ["ADDRESS"], 443),
            NAMES[0],
            ca_file,
            origin=os.environ["ORIGIN"],
            deadline_s=deadline_s,
            check_alive=lambda: None,
        )
    except NotReady as error:
        print(f"front: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
