"""Tests of the client with the SPDY fronts on loopback, which use the npm package `spdy`."""

import json
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from priolab.client.__main__ import run as run_client
from priolab.client.dialects import PLAIN
from priolab.client.load_scheduler import LoadFailed
from priolab.client.plan import PROBE_LEAST_BYTES, STEPS
from priolab.client.priorities import Priorities
from priolab.client.spdy.engine import SpdyEngine
from priolab.client.transport import TransportFailed
from priolab.common.formats.plan import Plan, Protocol
from priolab.common.process.processes import Process
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.readiness import ask
from tests.support.fronts import NAME, SIZE, running_front, settings_of
from tests.support.origins import running_origin
from tests.support.pages import maps_plan

pytestmark = pytest.mark.usefixtures("npm")

BOTH = pytest.mark.parametrize("name", ["spdy", "spdy-strict"])


def _plan(settings: FrontSettings, priorities: Priorities = Priorities.SPDY, **more: Any) -> Plan:
    return maps_plan(
        address=settings.address,
        port=settings.port,
        server_name=NAME,
        priorities=priorities,
        dialect=PLAIN,
        window_bytes=2**20,
        load_deadline_ns=20 * 10**9,
        protocol=Protocol.SPDY,
        **({"reloads": 0} | more),
    )


def _events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def _received(events: list[dict[str, Any]]) -> Counter[tuple[int, str]]:
    found: Counter[tuple[int, str]] = Counter()
    for event in events:
        if event["kind"] == "data":
            found[event["load"], event["resource"]] += event["size_bytes"]
    return found


@BOTH
def test_a_front_serves_the_plan_over_spdy(name: str, tmp_path: Path) -> None:
    """All streams of both loads arrive complete in one session, and the server's logs are empty."""
    with running_front(name, tmp_path) as (settings, process):
        run_client(_plan(settings, reloads=1), settings.certificates.ca, tmp_path)
        process.check_alive()
    events = _events(tmp_path)
    assert sum(event["kind"] == "connected" for event in events) == 1
    received = _received(events)
    assert {received[load, resource] for load in (1, 2) for resource in ("image", "script")} == {SIZE}
    asked = [event["detail"] for event in events if event["kind"] == "request-sent"]
    assert asked == ["priority=0", "priority=3", "priority=2"] * 2
    assert events[-1]["kind"] == "load-finished"
    assert "CLIENT_TRAFFIC_SECRET_0" in (tmp_path / "keys.log").read_text()
    assert settings.output.read_text() == ""
    assert settings.log.read_text() == ""


@BOTH
def test_whoever_does_not_speak_spdy_is_served_too(name: str, tmp_path: Path) -> None:
    """A front serves HTTP/1.1, which the readiness check uses, and refuses HTTP/2."""
    with running_front(name, tmp_path) as (settings, _):
        where, ca = (settings.address, settings.port), settings.certificates.ca
        assert ask(where, NAME, ca, "/ready", 5, "spdy/3.1") == "200"
        assert ask(where, NAME, ca, "/nothing", 5, "spdy/3.1") == "404"
        with pytest.raises(ssl.SSLError, match=r"(?i)no.application.protocol"):
            ask(where, NAME, ca, "/ready", 5)


@BOTH
def test_an_origin_that_is_gone(name: str, tmp_path: Path) -> None:
    """The front answers 502 and logs an error if its origin has ended."""
    with ExitStack() as stack:
        with running_origin(tmp_path / "access.jsonl") as port:
            settings = settings_of(name, tmp_path, f"127.0.0.1:{port}")
            running = Front(settings).running(lambda command, log: Process(name, command, log))
            process = stack.enter_context(running)
        with pytest.raises(LoadFailed, match="answered page with status 502"):
            run_client(_plan(settings), settings.certificates.ca, tmp_path)
        process.check_alive()
    assert "Error" in settings.log.read_text()


@contextmanager
def _connection(settings: FrontSettings) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cafile=str(settings.certificates.ca))
    context.set_alpn_protocols(["spdy/3.1"])
    with (
        socket.create_connection((settings.address, settings.port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        yield connection


@BOTH
def test_a_bad_client_ends_its_session_and_not_the_server(name: str, tmp_path: Path) -> None:
    """The server survives a client that sends garbage and one that leaves in the middle of a response.
    It serves the next client.
    """
    with running_front(name, tmp_path, size_bytes=2**24) as (settings, process):
        with _connection(settings) as connection:
            connection.sendall(b"\x80\x03\x00\x01\x00\x00\x00\x0c" + b"\xff" * 12)
            while connection.recv(4096):
                pass
        with _connection(settings) as connection:
            engine = SpdyEngine(_plan(settings))
            engine.begin_load(1)
            while engine.unfinished == ["page"]:
                connection.sendall(engine.data_to_send())
                data = connection.recv(4096)
                assert data, "the server closed"
                engine.receive(data, 2)
            connection.sendall(engine.data_to_send())
            connection.recv(4096)
        run_client(_plan(settings), settings.certificates.ca, tmp_path)
        process.check_alive()


def test_a_front_of_another_protocol(tmp_path: Path) -> None:
    """In the TLS handshake, the client refuses a front that does not support SPDY."""
    told = r"^TLS: .*no application protocol"
    with running_front("nginx", tmp_path) as (settings, _), pytest.raises(TransportFailed, match=told):
        run_client(_plan(settings), settings.certificates.ca, tmp_path)


def _share_of_the_script(folder: Path) -> float:
    """Return the script's share of the DATA bytes of a probe.
    Bytes count from the time at which the client first opened the session's window, until the first stream ended.
    """
    events = _events(folder)
    first = next(place for place, event in enumerate(events) if _is_step(event))
    ended = next(place for place, event in enumerate(events) if place > first and event["kind"] == "ended")
    served = Counter({resource: size for (_, resource), size in _received(events[first:ended]).items()})
    return served["script"] / served.total()


def _is_step(event: dict[str, Any]) -> bool:
    return event["kind"] == "window-opened" and "stream_id" not in event


@pytest.mark.parametrize(
    ("priorities", "least", "most"),
    [(Priorities.SPDY, 0.99, 1), (Priorities.SWAP, 0, 0.01), (Priorities.NONE, 0.3, 0.7)],
)
def test_the_strict_one_goes_by_levels(priorities: Priorities, least: float, most: float, tmp_path: Path) -> None:
    """If all streams wait for the session's window, `spdy-strict` serves the streams with the most urgent priority.
    Streams with the same priority share the window.
    """
    with running_front("spdy-strict", tmp_path, size_bytes=PROBE_LEAST_BYTES) as (settings, _):
        run_client(_plan(settings, priorities, steps=STEPS), settings.certificates.ca, tmp_path)
    assert least <= _share_of_the_script(tmp_path) <= most


def test_the_package_overruns_the_sessions_window(tmp_path: Path) -> None:
    """With `spdy`, two streams may each send all that is left of the session's window.
    A probe checks the window to the byte, so the load fails.
    """
    told = "bytes of DATA, but the window of the session allows"
    with (
        running_front("spdy", tmp_path, size_bytes=PROBE_LEAST_BYTES) as (settings, _),
        pytest.raises(LoadFailed, match=told),
    ):
        run_client(_plan(settings, steps=STEPS), settings.certificates.ca, tmp_path)
