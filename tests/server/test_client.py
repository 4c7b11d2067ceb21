"""The client against fronts that misbehave on the wire: it ends, in time, with a reason."""

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from client.__main__ import run
from client.dialects import PLAIN
from client.loads import LoadFailed
from client.plan import STEPS, Steps, maps_plan
from client.priorities import Priorities
from client.transport import TransportFailed
from proxy.certificates import issue

_NAME = "maps.test"
_DEADLINE_S = 1.0
_SOON_S = 10.0

Behaviour = Callable[[ssl.SSLSocket], None]


@contextmanager
def _front(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """Whoever connects is handed to `behave`, once; the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_SOON_S)

        def serve() -> None:
            with contextlib.suppress(OSError), listener.accept()[0] as plain:
                plain.settimeout(_SOON_S)
                behave(plain)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(_SOON_S)
        assert not thread.is_alive()


def _over_tls(folder: Path, behave: Behaviour, alpn: str = "h2") -> Callable[[socket.socket], None]:
    certificates = issue(folder, _NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.chain, certificates.key)
    context.set_alpn_protocols([alpn])

    def serve(plain: socket.socket) -> None:
        with context.wrap_socket(plain, server_side=True) as tls:
            behave(tls)

    return serve


def _load(folder: Path, port: int, steps: Steps | None = None) -> str:
    """What the client says in the end, which is soon after its deadline at the latest."""
    plan = maps_plan(
        address="127.0.0.1",
        port=port,
        server_name=_NAME,
        priorities=Priorities.SPDY,
        dialect=PLAIN,
        reloads=0,
        window_bytes=2**20,
        steps=steps,
        load_deadline_ns=round(_DEADLINE_S * 10**9),
    )
    began_s = time.monotonic()
    with pytest.raises((LoadFailed, TransportFailed)) as failed:
        run(plan, folder / "ca.pem", folder)
    assert time.monotonic() - began_s < _SOON_S
    for line in (folder / "events.jsonl").read_text().splitlines():
        json.loads(line)
    return str(failed.value)


def _session(tls: ssl.SSLSocket) -> H2Connection:
    """A server that has got the client's first request."""
    connection = H2Connection(H2Configuration(client_side=False))
    connection.initiate_connection()
    tls.sendall(connection.data_to_send())
    events: list[object] = []
    while not any(type(event).__name__ == "RequestReceived" for event in events):
        events += connection.receive_data(tls.recv(65_536))
    tls.sendall(connection.data_to_send())
    return connection


def _close_at_once(tls: ssl.SSLSocket) -> None:
    tls.recv(1)


def _close_in_the_page(tls: ssl.SSLSocket) -> None:
    connection = _session(tls)
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, b"<!doctype html>")
    tls.sendall(connection.data_to_send())
    # What the client still says has to be read: of a socket that is closed over it the kernel sends RST.
    tls.shutdown(socket.SHUT_WR)
    _say_nothing(tls)


def _reset(tls: ssl.SSLSocket) -> None:
    _session(tls)
    tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _say_nothing(tls: ssl.SSLSocket) -> None:
    with contextlib.suppress(TimeoutError):
        while tls.recv(65_536):
            pass


def _drip(tls: ssl.SSLSocket) -> None:
    """A byte now and then, of a page that never ends."""
    connection = _session(tls)
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, bytes(16_384))
    for byte in connection.data_to_send():
        tls.sendall(bytes([byte]))
        time.sleep(0.02)


def _ping_for_ever(tls: ssl.SSLSocket) -> None:
    """Something comes all the time, and none of it is the page."""
    connection = _session(tls)
    while True:
        connection.ping(bytes(8))
        tls.sendall(connection.data_to_send())
        time.sleep(0.005)


def _huge_headers(tls: ssl.SSLSocket) -> None:
    connection = _session(tls)
    connection.send_headers(1, [(":status", "200"), *((f"x-{number}", "y" * 500) for number in range(150))])
    tls.sendall(connection.data_to_send())
    _say_nothing(tls)


def _garbage(tls: ssl.SSLSocket) -> None:
    tls.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
    _say_nothing(tls)


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (_close_at_once, "the front closed the connection"),
        (_close_in_the_page, "the front closed the connection; unfinished: page"),
        (_reset, "the connection broke"),
        (_say_nothing, "it took longer than its deadline; unfinished: page"),
        (_drip, "it took longer than its deadline; unfinished: page"),
        (_ping_for_ever, "it took longer than its deadline; unfinished: page"),
        (_huge_headers, "the front broke HTTP/2"),
        (_garbage, "the front broke HTTP/2"),
    ],
)
@pytest.mark.parametrize("steps", [None, STEPS], ids=["load", "probe"])
def test_it_ends_with_a_reason(tmp_path: Path, behave: Behaviour, reason: str, steps: Steps | None) -> None:
    """Whoever closes, breaks off, says nothing, too little or too much; in a page load as in a probe."""
    with _front(_over_tls(tmp_path, behave)) as port:
        assert reason in _load(tmp_path, port, steps)


def test_another_protocol(tmp_path: Path) -> None:
    """A front that does not speak HTTP/2 is told by ALPN."""
    with _front(_over_tls(tmp_path, _say_nothing, "http/1.1")) as port:
        assert "by ALPN, not h2" in _load(tmp_path, port)


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x16\x03\x03\xff\xff" + bytes(70_000)])
def test_no_tls(tmp_path: Path, said: bytes) -> None:
    """Nor is there a hang or a crash where nobody speaks TLS at all."""
    issue(tmp_path, _NAME)
    with _front(lambda plain: plain.sendall(said)) as port:
        assert _load(tmp_path, port).startswith(("TLS: ", "the front closed the connection", "the connection broke"))


def test_nobody(tmp_path: Path) -> None:
    """Nobody listens."""
    issue(tmp_path, _NAME)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert _load(tmp_path, port).startswith(f"cannot connect to 127.0.0.1:{port}: ")
