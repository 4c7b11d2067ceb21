"""Tests of the client with an HTTP/3 front on loopback."""

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3Connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent, StreamDataReceived

from priolab.client.__main__ import run as run_client
from priolab.client.dialects import PLAIN
from priolab.client.load_scheduler import LoadFailed
from priolab.client.priorities import Priorities
from priolab.client.transport import TransportFailed
from priolab.common.formats.plan import Plan, Protocol
from priolab.proxy.certificates import issue
from tests.support.capabilities import each
from tests.support.fronts import NAME, SIZE, running_front
from tests.support.pages import maps_plan
from tests.support.ports import free_port

FRONT = "caddy-h3"
FRONTS = (FRONT, "caddy-h3@2.11.7", "envoy-h3", "traefik-h3")
"""The fronts whose programs run without a root of their own."""


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


@pytest.mark.parametrize("name", each(FRONTS))
def test_a_front_serves_the_plan_over_http3(tmp_path: Path, name: str) -> None:
    """All streams of both loads arrive complete on one connection. Priorities and TLS keys are logged."""
    with running_front(name, tmp_path) as (settings, process):
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


@pytest.mark.needs(FRONT)
def test_a_certificate_of_somebody_else(tmp_path: Path) -> None:
    """The client trusts only the certificate authority of its own run."""
    other = tmp_path / "other"
    other.mkdir()
    authority = issue(other, NAME).ca
    with running_front(FRONT, tmp_path) as (settings, _), pytest.raises(LoadFailed, match="the handshake failed"):
        run_client(_plan(settings.port), authority, tmp_path)


def test_nobody(tmp_path: Path) -> None:
    """The client reports `refused` if no process listens on the port."""
    authority = issue(tmp_path, NAME).ca
    with pytest.raises(TransportFailed, match=r"the connection broke: .*refused"):
        run_client(_plan(free_port()), authority, tmp_path)


def test_somebody_who_answers_with_anything(tmp_path: Path) -> None:
    """The client gives up with a reason if a server answers with bytes that are not QUIC."""
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


@contextmanager
def _flooding(folder: Path, frames: bytes) -> Iterator[int]:
    """Serve a front that answers the first request with headers and then `frames`; return its port."""
    certificates = issue(folder, NAME)
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(certificates.chain, certificates.key)
    port, loop, ready = free_port(), asyncio.new_event_loop(), threading.Event()

    class Front(QuicConnectionProtocol):
        def quic_event_received(self, event: QuicEvent) -> None:
            if isinstance(event, ProtocolNegotiated):
                self._http = H3Connection(self._quic)
            elif isinstance(event, StreamDataReceived) and event.stream_id == 0 and event.end_stream:
                self._http.send_headers(0, [(b":status", b"200")])
                self._quic.send_stream_data(0, frames)

    def run() -> None:
        server = loop.run_until_complete(serve("127.0.0.1", port, configuration=configuration, create_protocol=Front))
        ready.set()
        loop.run_forever()
        server.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(10)
        yield port
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        (b"\0\1x" * 12_000, "bytes of DATA in more than"),
        (b"\0\0" * 2**21, "the front sent more than 2097152 bytes in addition to 0 bytes of DATA"),
        (b"\1\x80\x40\0\0" + bytes(2**22), "the front sent more than 2097152 bytes in addition to 0 bytes of DATA"),
    ],
    ids=["a-byte", "empty", "headers"],
)
def test_a_flood(tmp_path: Path, frames: bytes, reason: str) -> None:
    """The client ends a flood of tiny DATA frames, empty ones, or endless headers, and its log stays small."""
    with _flooding(tmp_path, frames) as port, pytest.raises(LoadFailed, match=reason):
        run_client(_plan(port, load_deadline_ns=60 * 10**9), tmp_path / "ca.pem", tmp_path)
    assert (tmp_path / "events.jsonl").stat().st_size < 8 * 2**20
