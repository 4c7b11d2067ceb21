"""Tests of the client with fronts that misbehave: it ends before long, and gives a reason."""

import json
import socket
import ssl
import struct
import time
from pathlib import Path

import pytest
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from priolab.client.__main__ import run
from priolab.client.dialects import PLAIN
from priolab.client.http2.frames import priority_update
from priolab.client.load_scheduler import LoadFailed
from priolab.client.plan import STEPS
from priolab.client.priorities import Priorities
from priolab.client.transport import TransportFailed
from priolab.common.formats.plan import Protocol, Steps
from priolab.proxy.certificates import issue
from tests.server.peers import NAME, SOON_S, Behaviour, listening, over_tls, pour, say_nothing, session
from tests.support.pages import maps_plan
from tests.support.spdy_pair import PING, WINDOW_UPDATE, SpdyServer, control, data_frame

_DEADLINE_S = 1.0
_FLOOD_S = 60.0
"""A flood exceeds the client's limits long before this time."""
_MOST_JOURNAL_BYTES = 8 * 2**20


def _load(
    folder: Path,
    port: int,
    steps: Steps | None = None,
    protocol: Protocol = Protocol.HTTP2,
    deadline_s: float = _DEADLINE_S,
) -> str:
    """Return the client's error message. The client must end soon after its deadline at the latest."""
    plan = maps_plan(
        address="127.0.0.1",
        port=port,
        server_name=NAME,
        priorities=Priorities.SPDY,
        dialect=PLAIN,
        protocol=protocol,
        reloads=0,
        window_bytes=2**20,
        steps=steps,
        load_deadline_ns=round(deadline_s * 10**9),
    )
    began_s = time.monotonic()
    with pytest.raises((LoadFailed, TransportFailed)) as failed:
        run(plan, folder / "ca.pem", folder)
    assert time.monotonic() - began_s < SOON_S + deadline_s
    for line in (folder / "events.jsonl").read_text().splitlines():
        json.loads(line)
    return str(failed.value)


def _close_at_once(tls: ssl.SSLSocket) -> None:
    tls.recv(1)


def _close_in_the_page(tls: ssl.SSLSocket) -> None:
    connection = session(tls)
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, b"<!doctype html>")
    tls.sendall(connection.data_to_send())
    # Read what the client still sends: if a socket is closed with unread data, the kernel sends RST.
    tls.shutdown(socket.SHUT_WR)
    say_nothing(tls)


def _reset(tls: ssl.SSLSocket) -> None:
    session(tls)
    tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _drip(tls: ssl.SSLSocket) -> None:
    """Send a page that never ends, one byte every 20 ms."""
    connection = session(tls)
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, bytes(16_384))
    for byte in connection.data_to_send():
        tls.sendall(bytes([byte]))
        time.sleep(0.02)


def _ping_for_ever(tls: ssl.SSLSocket) -> None:
    """Send PING frames for ever, and nothing of the page."""
    connection = session(tls)
    while True:
        connection.ping(bytes(8))
        tls.sendall(connection.data_to_send())
        time.sleep(0.005)


def _huge_headers(tls: ssl.SSLSocket) -> None:
    connection = session(tls)
    connection.send_headers(1, [(":status", "200"), *((f"x-{number}", "y" * 500) for number in range(150))])
    tls.sendall(connection.data_to_send())
    say_nothing(tls)


def _garbage(tls: ssl.SSLSocket) -> None:
    tls.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
    say_nothing(tls)


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (_close_at_once, "the front closed the connection"),
        (_close_in_the_page, "the front closed the connection; unfinished: page"),
        (_reset, "the connection broke"),
        (say_nothing, "the load took longer than its deadline; unfinished: page"),
        (_drip, "the load took longer than its deadline; unfinished: page"),
        (_ping_for_ever, "the load took longer than its deadline; unfinished: page"),
        (_huge_headers, "the front broke HTTP/2"),
        (_garbage, "the front broke HTTP/2"),
    ],
)
@pytest.mark.parametrize("steps", [None, STEPS], ids=["load", "probe"])
def test_it_ends_with_a_reason(tmp_path: Path, behave: Behaviour, reason: str, steps: Steps | None) -> None:
    """A load or probe ends with a reason if the front closes, resets, stays silent, or sends too little or too much."""
    with listening(over_tls(tmp_path, behave)) as port:
        assert reason in _load(tmp_path, port, steps)


def _flood(frame: bytes) -> Behaviour:
    """Return a behaviour that sends the page's headers, then repeats `frame` until the client closes."""

    def behave(tls: ssl.SSLSocket) -> None:
        connection = session(tls)
        connection.send_headers(1, [(":status", "200")])
        tls.sendall(connection.data_to_send())
        pour(tls, frame)

    return behave


_PADDED_DATA = DataFrame(1, data=b"x", pad_length=255, flags=["PADDED"]).serialize()
_IN_PIECES = "bytes of DATA in more than"
_BESIDE = "in addition to"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (DataFrame(1).serialize(), "the front sent 0 bytes of DATA in more than 10000 frames and pieces"),
        (DataFrame(1, data=b"x").serialize(), _IN_PIECES),
        (_PADDED_DATA, _BESIDE),
        (PingFrame(0, opaque_data=bytes(8)).serialize(), "sent more than 1048576 bytes in addition to 0 bytes of"),
        (SettingsFrame(0, settings=dict.fromkeys(range(100, 256), 1)).serialize(), _BESIDE),
        (WindowUpdateFrame(0, window_increment=1).serialize(), _BESIDE),
        (priority_update(1, "u=1" + " " * 1000), _BESIDE),
        (HeadersFrame(1, data=b"\x88").serialize() + ContinuationFrame(1).serialize() * 100, "the front broke HTTP/2"),
    ],
    ids=["empty", "a-byte", "padded", "ping", "settings", "window-update", "priority-update", "continuation"],
)
def test_a_flood(tmp_path: Path, frame: bytes, reason: str) -> None:
    """The client ends a flood long before the deadline, and its logs stay small."""
    with listening(over_tls(tmp_path, _flood(frame))) as port:
        assert reason in _load(tmp_path, port, deadline_s=_FLOOD_S)
    assert sum(file.stat().st_size for file in tmp_path.glob("*.jsonl")) < _MOST_JOURNAL_BYTES


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (data_frame(1, b""), "the front sent 0 bytes of DATA in more than 10000 frames and pieces"),
        (data_frame(1, b"x"), _IN_PIECES),
        (control(PING, bytes(3) + b"\x02"), _BESIDE),
        (control(WINDOW_UPDATE, bytes(7) + b"\x01"), _BESIDE),
    ],
    ids=["empty", "a-byte", "ping", "window-update"],
)
def test_a_flood_over_spdy(tmp_path: Path, frame: bytes, reason: str) -> None:
    """Over SPDY, too, the client ends a flood long before the deadline, and its logs stay small."""

    def behave(tls: ssl.SSLSocket) -> None:
        tls.sendall(SpdyServer().reply(1))
        pour(tls, frame)

    with listening(over_tls(tmp_path, behave, Protocol.SPDY)) as port:
        assert reason in _load(tmp_path, port, protocol=Protocol.SPDY, deadline_s=_FLOOD_S)
    assert sum(file.stat().st_size for file in tmp_path.glob("*.jsonl")) < _MOST_JOURNAL_BYTES


def test_another_protocol(tmp_path: Path) -> None:
    """The client says so if the front, which has HTTP/1.1 alone, does not choose HTTP/2 by ALPN."""
    with listening(over_tls(tmp_path, say_nothing, "http/1.1")) as port:
        assert _load(tmp_path, port) == "the front chose no protocol by ALPN"


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x16\x03\x03\xff\xff" + bytes(70_000)])
def test_no_tls(tmp_path: Path, said: bytes) -> None:
    """A front that sends something other than TLS causes neither a hang nor a crash of the client."""
    issue(tmp_path, NAME)
    with listening(lambda plain: plain.sendall(said)) as port:
        assert _load(tmp_path, port).startswith(("TLS: ", "the front closed the connection", "the connection broke"))


def test_nobody(tmp_path: Path) -> None:
    """The client reports that it cannot connect if no process accepts connections on the port."""
    issue(tmp_path, NAME)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert _load(tmp_path, port).startswith(f"cannot connect to 127.0.0.1:{port}: ")
