"""Tests of `priolab probe` with servers that stall: it ends at its deadline, and one line names what it did not see."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from hyperframe.frame import DataFrame

from priolab.client.plan import PROBE_LEAST_BYTES
from priolab.experiments.cli import main
from priolab.proxy.certificates import issue
from tests.server.peers import NAME, SOON_S, Behaviour, listening, over_tls, pour, say_nothing, session
from tests.support.waiting import until

_DEADLINE_S = 1.5
_ENOUGH = 12
"""The number of connections that the server answers: more than the probe opens at once."""
_UNSEEN = "not measured: the server's own order, plain, chrome; --deadline gives more time"


def _command(folder: Path, port: int, *more: str) -> list[str]:
    url = f"https://{NAME}:{port}"
    words = ["probe", f"{url}/one", f"{url}/two", "--connect", "127.0.0.1", "--ca", str(folder / "ca.pem")]
    return [*words, "--dialect", "plain,chrome", *more]


def _stall_in_the_handshake(plain: socket.socket) -> None:
    """Send the beginning of a ServerHello, then nothing."""
    plain.recv(65_536)
    plain.sendall(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03")
    say_nothing(plain)


def _stall_after_settings(tls: ssl.SSLSocket) -> None:
    connection = H2Connection(H2Configuration(client_side=False))
    connection.initiate_connection()
    tls.sendall(connection.data_to_send())
    say_nothing(tls)


def _stall_after_headers(tls: ssl.SSLSocket) -> None:
    connection = session(tls, requests=2)
    for stream_id in (1, 3):
        connection.send_headers(stream_id, [(":status", "200")])
    tls.sendall(connection.data_to_send())
    say_nothing(tls)


def _stall_one_url(tls: ssl.SSLSocket) -> None:
    """Send 1024 bytes for the first URL, and nothing for the second."""
    connection = session(tls, requests=2)
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, bytes(1024))
    tls.sendall(connection.data_to_send())
    say_nothing(tls)


def _drip(tls: ssl.SSLSocket) -> None:
    """Send a byte each second."""
    connection = session(tls, requests=2)
    for stream_id in (1, 3):
        connection.send_headers(stream_id, [(":status", "200")])
    connection.send_data(1, bytes(1024))
    for byte in connection.data_to_send():
        tls.sendall(bytes([byte]))
        time.sleep(1)


@pytest.mark.parametrize("behave", [say_nothing, _stall_in_the_handshake])
def test_a_server_that_stalls_before_tls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], behave: Callable[[socket.socket], None]
) -> None:
    """The probe ends at its deadline if the server stalls before or within the TLS handshake."""
    issue(tmp_path, NAME)
    _ends_in_time(tmp_path, capsys, behave)


@pytest.mark.parametrize("behave", [_stall_after_settings, _stall_after_headers, _stall_one_url, _drip])
def test_a_server_that_stalls(tmp_path: Path, capsys: pytest.CaptureFixture[str], behave: Behaviour) -> None:
    """The probe ends at its deadline wherever the server stalls after the TLS handshake."""
    _ends_in_time(tmp_path, capsys, over_tls(tmp_path, behave))


def _ends_in_time(folder: Path, capsys: pytest.CaptureFixture[str], behave: Callable[[socket.socket], None]) -> None:
    began_s = time.monotonic()
    with listening(behave) as port:
        assert main(_command(folder, port, "--deadline", f"{_DEADLINE_S}s", "--pause", "1s")) == 1
    assert time.monotonic() - began_s < _DEADLINE_S + SOON_S
    said = capsys.readouterr()
    assert said.err == f"priolab: probing: 8 probes took more than {_DEADLINE_S} s; {_UNSEEN}\n"
    for dialect in ("plain", "chrome"):
        assert [dialect, "not", "measured"] in [line.split()[:3] for line in said.out.splitlines()]
    assert "Without priorities: not measured." in said.out


def test_a_name_that_is_not_resolved(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The probe ends at its deadline if the resolver does not answer."""
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(SOON_S) and [])
    began_s = time.monotonic()
    assert main(["probe", f"https://{NAME}/", "--deadline", "100ms"]) == 1
    over.set()
    assert time.monotonic() - began_s < SOON_S
    assert capsys.readouterr().err == (
        f"priolab: probing: reaching {NAME} took more than 0.1 s; --deadline gives more time\n"
    )


def test_a_port_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """The probe ends at its deadline if the port's queue of connections is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as waiting:
        address = listener.getsockname()
        for _ in range(4):
            connection = waiting.enter_context(socket.socket())
            connection.settimeout(0)
            connection.connect_ex(address)
        began_s = time.monotonic()
        where = f"127.0.0.1:{address[1]}"
        assert main(["probe", f"https://{where}/", "--deadline", "300ms"]) == 1
        assert time.monotonic() - began_s < SOON_S
    assert f"probing: reaching {where} took more than 0.3 s; " in capsys.readouterr().err


@pytest.mark.parametrize("text", ["30", "99ms", "86401s", "soon", ""])
def test_deadlines_that_are_not_allowed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A deadline is a time with a unit, from 100 ms to 86400 s."""
    assert main(["probe", "https://127.0.0.1:1/", "--deadline", text]) == 2
    said = capsys.readouterr().err
    assert said == f"priolab: --deadline={text} is not allowed; allowed: a time with a unit, from 100ms to 86400s\n"


def _flood(tls: ssl.SSLSocket) -> None:
    connection = session(tls, requests=2)
    connection.send_headers(1, [(":status", "200")])
    tls.sendall(connection.data_to_send())
    pour(tls, DataFrame(1).serialize())


def test_a_flood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The probe reports a flood in the same words as a run."""
    with listening(over_tls(tmp_path, _flood)) as port:
        assert main(_command(tmp_path, port)) == 1
    assert "probing: the front sent 0 bytes of DATA in more than 10000 frames and pieces" in capsys.readouterr().err


def _in_turn(connection: H2Connection, tls: ssl.SSLSocket) -> None:
    """Send a frame of each resource in turn, as far as the windows allow, until the client closes."""
    left = dict.fromkeys((1, 3), PROBE_LEAST_BYTES)
    for stream_id in left:
        connection.send_headers(stream_id, [(":status", "200")])
    data = b"all"
    while data:
        sent = True
        while sent:
            sent = False
            for stream_id in left:
                if size := min(16_384, left[stream_id], connection.local_flow_control_window(stream_id)):
                    left[stream_id] -= size
                    connection.send_data(stream_id, bytes(size), end_stream=not left[stream_id])
                    sent = True
        tls.sendall(connection.data_to_send())
        data = tls.recv(65_536)
        connection.receive_data(data)


def test_no_journal_is_left(tmp_path: Path) -> None:
    """A probe has the logs of at most eight connections at a time, and none after it was killed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    journals: list[int] = []
    stalled = threading.Event()

    def behave(tls: ssl.SSLSocket) -> None:
        connection = session(tls, requests=2)
        journals.append(len(list(temporary.rglob("events.jsonl"))))
        if len(journals) <= _ENOUGH:
            _in_turn(connection, tls)
        else:
            stalled.set()
            say_nothing(tls)

    with listening(over_tls(tmp_path, behave)) as port:
        words = _command(
            tmp_path, port, "--deadline", "60s", "--dialect", "plain,chrome,safari,header,update,reprioritize"
        )
        command = [sys.executable, "-m", "priolab.experiments", *words]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"TMPDIR": str(temporary)}) as probe:
            assert stalled.wait(60)
            probe.kill()
    assert 0 < max(journals) <= 8
    until(lambda: not list(temporary.iterdir()))
