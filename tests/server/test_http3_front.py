"""A front that speaks HTTP/3, on loopback, and the client against it."""

import json
import socket
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from client.__main__ import run as run_client
from client.dialects import PLAIN
from client.loads import LoadFailed
from client.plan import Plan, Protocol, maps_plan
from client.priorities import Priorities
from client.transport import TransportFailed
from proxy.certificates import issue
from tests.conftest import needs
from tests.server.fronts import NAME, SIZE, free_port, running_front

FRONT = "caddy-h3"


@pytest.fixture
def http3() -> None:
    """Needs the front that speaks it."""
    needs(FRONT)


def _plan(port: int, **more: Any) -> Plan:
    return maps_plan(
        address="127.0.0.1",
        port=port,
        server_name=NAME,
        priorities=Priorities.SPDY,
        dialect=PLAIN,
        window_bytes=2**20,
        protocol=Protocol.HTTP3,
        **({"reloads": 0, "load_deadline_ns": 20 * 10**9} | more),
    )


@pytest.mark.usefixtures("http3")
def test_a_front_serves_the_plan_over_http3(tmp_path: Path) -> None:
    """All streams arrive whole, in both loads, on one connection; what was asked is told, and the keys are there."""
    with running_front(FRONT, tmp_path) as (settings, process):
        run_client(_plan(settings.port, reloads=1), settings.certificates.ca, tmp_path)
        process.check_alive()
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    received: Counter[tuple[int, str]] = Counter()
    for event in events:
        if event["kind"] == "data":
            received[event["load"], event["resource"]] += event["size_bytes"]
    assert {received[load, name] for load in (1, 2) for name in ("image", "script")} == {SIZE}
    assert [event["kind"] for event in events].count("secured") == 1
    asked = [event["detail"] for event in events if event["kind"] == "request-sent"]
    assert asked == ["priority: u=0, i", "priority: u=5, i", "priority: u=2"] * 2
    assert [event["t_ns"] for event in events] == sorted(event["t_ns"] for event in events)
    assert "CLIENT_TRAFFIC_SECRET_0" in (tmp_path / "keys.log").read_text()
    state = json.loads((tmp_path / "socket.json").read_text())
    assert state["address"] == "127.0.0.1"
    assert state["instrument"]["events"] > 0


@pytest.mark.usefixtures("http3")
def test_a_certificate_of_somebody_else(tmp_path: Path) -> None:
    """The client trusts its run's authority alone."""
    other = tmp_path / "other"
    other.mkdir()
    authority = issue(other, NAME).ca
    with running_front(FRONT, tmp_path) as (settings, _), pytest.raises(LoadFailed, match="the handshake failed"):
        run_client(_plan(settings.port), authority, tmp_path)


def test_nobody(tmp_path: Path) -> None:
    """The kernel says that nobody is there."""
    authority = issue(tmp_path, NAME).ca
    with pytest.raises(TransportFailed, match=r"the connection broke: .*refused"):
        run_client(_plan(free_port()), authority, tmp_path)


def test_somebody_who_answers_with_anything(tmp_path: Path) -> None:
    """Bytes that are no QUIC, for as long as the client asks: it gives up, with a reason."""
    authority = issue(tmp_path, NAME).ca
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.1)
        over = threading.Event()

        def answer() -> None:
            while not over.is_set():
                try:
                    datagram, sender = udp.recvfrom(65_535)
                except TimeoutError:
                    continue
                for reply in (b"", b"\x00", datagram, datagram[:40], b"\xff" * 1200, bytes(1200)):
                    udp.sendto(reply, sender)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            plan = _plan(udp.getsockname()[1], load_deadline_ns=10**9)
            with pytest.raises((LoadFailed, TransportFailed), match=r"handshake failed|deadline"):
                run_client(plan, authority, tmp_path)
        finally:
            over.set()
            thread.join()
