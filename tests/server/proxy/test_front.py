"""Tests of each front on loopback: start, TLS, end, and the client without a shaped link."""

import json
import os
import re
import socket
import ssl
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from priolab.client.__main__ import run as run_client
from priolab.client.dialects import PLAIN
from priolab.client.priorities import Priorities
from priolab.common.errors import StepFailed
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import ProcessSample, SocketSample
from priolab.common.process.processes import Process
from priolab.proxy import readiness
from priolab.proxy.certificates import issue
from priolab.proxy.front import Front
from priolab.proxy.readiness import NotReady, ask, wait_until_ready
from priolab.proxy.sampler import Sampler
from tests.support.fronts import NAME, SIZE, running_front, settings_of
from tests.support.origins import running_origin
from tests.support.pages import maps_plan
from tests.support.ports import free_port


def test_a_front_serves_the_plan_over_http2(server: str, tmp_path: Path) -> None:
    """The client's streams arrive complete in both loads, on one connection."""
    with running_front(server, tmp_path) as (settings, process):
        plan = maps_plan(
            address=settings.address,
            port=settings.port,
            server_name=NAME,
            priorities=Priorities.SPDY,
            dialect=PLAIN,
            reloads=1,
            window_bytes=2**20,
            load_deadline_ns=10 * 10**9,
        )
        run_client(plan, settings.certificates.ca, tmp_path)
        process.check_alive()
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert sum(event["kind"] == "connected" for event in events) == 1
    for load in (1, 2):
        for resource in ("image", "script"):
            own = [event for event in events if (event["load"], event.get("resource")) == (load, resource)]
            assert sum(event["size_bytes"] for event in own if event["kind"] == "data") == SIZE
            kinds = [event["kind"] for event in own]
            assert kinds[0] == "request-sent"
            assert kinds[-1] == "ended"
            assert kinds.index("headers") >= 1
    assert "CLIENT_TRAFFIC_SECRET_0" in (tmp_path / "keys.log").read_text()
    # Not counted: the beginnings and page requests of two loads. All other events follow from the front's frames.
    instrument = json.loads((tmp_path / "socket.json").read_text())["instrument"]
    assert instrument["events"] == len(events) - 2 - 2 * 2
    assert instrument["spent_ns"] > 0


@pytest.mark.needs("h2o")
def test_h2o_is_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """h2o runs in UTC whatever the user's time zone is, so that it need not look up local time."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    with running_front("h2o", tmp_path) as (_, process):
        assert b"TZ=UTC" in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")


def test_nginx_is_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nginx's worker logs in UTC, too, although nginx clears the environment of its workers."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    with running_front("nginx", tmp_path) as (settings, process):
        pass
    lines = [line.split() for line in settings.log.read_text().splitlines()]
    workers = [line for line in lines if not line[3].startswith(f"{process.pid}#")]
    assert workers
    for day, hour, *_ in workers:
        logged = datetime.strptime(f"{day} {hour} +0000", "%Y/%m/%d %H:%M:%S %z")
        assert abs(datetime.now(UTC) - logged) < timedelta(minutes=30)


def test_the_live_socket_can_be_read(server: str, tmp_path: Path) -> None:
    """The sampler finds the front's socket, process, and LOWAT. Values of sock_diag and TCP_INFO agree."""
    with running_front(server, tmp_path) as (settings, process):
        context = ssl.create_default_context(cafile=str(settings.certificates.ca))
        with (
            socket.create_connection((settings.address, settings.port), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname=NAME) as connection,
            Sampler(process.pid, "127.0.0.1", settings.port, tmp_path, 10**7) as sampler,
        ):
            now_ns = time.monotonic_ns()
            assert sampler.look(now_ns) == now_ns + 10**7
            sampler.flush()
            until_ns = now_ns + 5 * 10**9
            # Session tickets and their acknowledgement may still be on the way.
            while now_ns < until_ns and not _all_arrived(tmp_path, connection):
                time.sleep(0.01)
                now_ns = time.monotonic_ns()
                sampler.look(now_ns)
                sampler.flush()
            assert _all_arrived(tmp_path, connection)
    sample = read_journal(tmp_path / "sockets.jsonl", SocketSample)[-1]
    assert sample.congestion_control in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
    assert sample.sndbuf_bytes > 0
    assert sample.mss_bytes > 500
    assert sample.notsent_bytes == 0
    assert sample.unacked_segments == 0
    seen = read_journal(tmp_path / "process.jsonl", ProcessSample)[0]
    assert seen.lowat_bytes == 0
    assert seen.pid >= process.pid
    assert (seen.sampler.events, seen.sampler.spent_ns > 0) == (1, True)


def test_of_several_connections_the_busy_one_is_looked_at(tmp_path: Path) -> None:
    """The sampler follows the connection with traffic, because a browser may open a spare one first.
    It reads LOWAT from the same connection.
    """
    with running_front("nginx", tmp_path) as (settings, process), ExitStack() as stack:
        context = ssl.create_default_context(cafile=str(settings.certificates.ca))
        sampler = stack.enter_context(Sampler(process.pid, "127.0.0.1", settings.port, tmp_path, 10**7))
        began_ns = time.monotonic_ns()  # a busy machine must not make the sampler's intervals longer
        ends = []
        for number in range(3):
            plain = stack.enter_context(socket.create_connection((settings.address, settings.port), timeout=5))
            ends.append(stack.enter_context(context.wrap_socket(plain, server_hostname=NAME)))
            sampler.look(began_ns + number * 10**7)
        ends[1].sendall(f"GET /image.jpg HTTP/1.1\r\nHost: {NAME}\r\nConnection: keep-alive\r\n\r\n".encode())
        received = 0
        while received < SIZE:
            data = ends[1].recv(2**16)
            assert data, "nginx closed"
            received += len(data)
        sampler.look(began_ns + 10**9)
        sampler.look(began_ns + 2 * 10**9)
        assert sampler.peer_port == ends[1].getsockname()[1]
    assert read_journal(tmp_path / "sockets.jsonl", SocketSample)[-1].bytes_sent > SIZE


def _all_arrived(folder: Path, connection: socket.socket) -> bool:
    sample = read_journal(folder / "sockets.jsonl", SocketSample)[-1]
    return sample.bytes_acked == sample.bytes_sent - sample.bytes_retrans == _received_bytes(connection)


def _received_bytes(connection: socket.socket) -> int:
    """Return tcpi_bytes_received of this end."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int.from_bytes(info[128:136], sys.byteorder)


def test_without_an_interval_the_socket_is_looked_at_once(server: str, tmp_path: Path) -> None:
    """Without a sampling interval the socket is sampled once. The server's process is sampled every two seconds."""
    with running_front(server, tmp_path) as (settings, process):
        context = ssl.create_default_context(cafile=str(settings.certificates.ca))
        with (
            socket.create_connection((settings.address, settings.port), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname=NAME),
            Sampler(process.pid, "127.0.0.1", settings.port, tmp_path, None) as sampler,
        ):
            for second in range(1, 6):
                sampler.look(second * 10**9)
    assert len(read_journal(tmp_path / "sockets.jsonl", SocketSample)) == 1
    samples = read_journal(tmp_path / "process.jsonl", ProcessSample)
    assert [sample.t_ns for sample in samples] == [
        10**9,
        2 * 10**9,
        4 * 10**9,
    ]


@pytest.mark.parametrize("interval_ns", [None, 3600 * 10**9])
def test_a_connection_is_searched_for_more_and_more_seldom(interval_ns: int | None, tmp_path: Path) -> None:
    """Without a connection there is a look every 0.1 s, after ten seconds ever more seldom, but at least every 2 s.

    The first look that sees the socket searches for the process, too.
    """
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Sampler(os.getpid(), "127.0.0.1", listener.getsockname()[1], tmp_path, interval_ns) as sampler,
    ):
        began_ns = now_ns = 10**12
        looks = 0
        while (waited_ns := now_ns - began_ns) < 240 * 10**9:
            due_ns = sampler.look(now_ns)
            assert due_ns - now_ns <= min(2 * 10**9, max(10**8, (waited_ns - 10**10) // 10))
            now_ns, looks = due_ns, looks + 1
        assert 200 < looks < 500, "and not 2,400"
        with socket.create_connection(listener.getsockname()), listener.accept()[0]:
            sampler.look(now_ns)
    (sample,) = read_journal(tmp_path / "process.jsonl", ProcessSample)
    assert sample.t_ns == now_ns


def test_the_certificate_is_verified(server: str, tmp_path: Path) -> None:
    """A client that trusts another run's authority refuses the front."""
    other = tmp_path / "other"
    other.mkdir()
    with running_front(server, tmp_path) as (settings, _), pytest.raises(ssl.SSLCertVerificationError):
        ask((settings.address, settings.port), NAME, issue(other, NAME).ca, "/ready", timeout_s=5)


def test_a_front_that_cannot_start_says_why(tmp_path: Path) -> None:
    """The error is the server's own message and not a time-out."""
    settings = settings_of("nginx", tmp_path, "127.0.0.1:1")
    with socket.socket() as taken:
        taken.bind((settings.address, settings.port))
        taken.listen()
        front = Front(settings)
        with (
            pytest.raises(StepFailed, match="Address already in use"),
            front.running(lambda command, log: Process("nginx", command, log)),
        ):
            pytest.fail("it became ready on a port that was taken")


def _refusal(folder: Path, origin: str, port: int | None = None) -> str:
    """Return the error for a front with this port, or with a closed one."""
    ca, at = issue(folder, NAME).ca, ("127.0.0.1", port or free_port())
    with pytest.raises(NotReady) as caught:
        wait_until_ready(at, NAME, ca, origin=origin, deadline_s=0.2, check_alive=lambda: None)
    return str(caught.value)


def test_readiness_gives_up_after_its_deadline(tmp_path: Path) -> None:
    """The error gives the reason of the last attempt, and the status of the origin."""
    with running_origin(tmp_path / "access.jsonl") as port:
        told = _refusal(tmp_path, f"127.0.0.1:{port}")
    assert re.match(r"not ready at 127\.0\.0\.1:\d+ after 0\.2 s: .*refused", told)
    assert told.endswith(f"; the origin 127.0.0.1:{port} answers from here with status 200")


def test_a_front_that_does_not_speak_as_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is preceded by what the front speaks instead of TLS, or that of OpenSSL by its meaning."""
    with running_origin(tmp_path / "access.jsonl") as port:
        told = _refusal(tmp_path, f"127.0.0.1:{port}", port)
        assert re.match(r"not ready at \S+: the front speaks HTTP/1.1 without TLS: .*wrong version number", told)

        def refuse(*_: object) -> str:
            raise ssl.SSLError(1, "[SSL] tlsv1 alert no application protocol (_ssl.c:1006)")

        monkeypatch.setattr(readiness, "ask", refuse)
        told = _refusal(tmp_path, f"127.0.0.1:{port}")
    assert ": the front does not offer h2 by ALPN: [SSL] tlsv1 alert no application protocol" in told


@pytest.mark.parametrize("protocol", ["h2", "h3", "spdy/3.1"])
def test_a_front_whose_first_connection_fails(protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A front above TLS that ends its first connection, as Traefik may at its start, is asked again."""
    asked = []

    def answer(*given: object) -> str:
        asked.append(given[-1])
        if given[-1] in ("http1", "h2c"):
            raise ConnectionResetError
        if len(asked) == 1:
            raise ssl.SSLError(8, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol")
        return "200"

    monkeypatch.setattr(readiness, "ask", answer)
    ca, nobody = issue(tmp_path, NAME).ca, ("127.0.0.1", 0)
    wait_until_ready(nobody, NAME, ca, origin="", protocol=protocol, deadline_s=5, check_alive=lambda: None)
    assert asked == [protocol, "h2c", "http1", protocol]


@pytest.mark.parametrize(("protocol", "other"), [("h2c", "http1"), ("h2", "http1"), ("h2", "h2c")])
def test_a_front_with_several_protocols(
    protocol: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A front that ends its first connection is asked again, though its port has another protocol, too."""
    asked = []

    def answer(*given: object) -> str:
        asked.append(given[-1])
        if len(asked) == 1 or given[-1] not in (protocol, other):
            raise ConnectionResetError
        return "200"

    monkeypatch.setattr(readiness, "ask", answer)
    ca, nobody = issue(tmp_path, NAME).ca, ("127.0.0.1", 0)
    wait_until_ready(nobody, NAME, ca, origin="", protocol=protocol, deadline_s=5, check_alive=lambda: None)
    assert asked[-3:] == [other, protocol, protocol]


def test_an_origin_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """The error names an origin that refuses connections or does not answer."""
    nobody = f"127.0.0.1:{free_port()}"
    assert re.search(rf"; the origin {nobody} does not answer from here: .*refused", _refusal(tmp_path, nobody))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        origin = f"127.0.0.1:{silent.getsockname()[1]}"
        assert _refusal(tmp_path, origin).endswith(f"; the origin {origin} does not answer from here: timed out")
