"""The ferry between network namespaces of this machine. Upper bounds of times allow for a busy machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from priolab.netem.ferry import loops
from priolab.netem.ferry.direction import Direction
from priolab.netem.ferry.process import Order
from priolab.netem.link import Link
from priolab.testbed.topology.namespace import Namespace
from tools.benches import ferry as ferry_bench
from tools.benches.ferry import (
    CLIENT_ADDRESS,
    FRONT_ADDRESS,
    FerriedPlaces,
    ferried_places,
    open_socket,
    three_places,
)

pytestmark = pytest.mark.needs("fabric-netns", "root")

MS = 10**6
PATIENCE_S = 10.0
PORT = 4000


def udp(place: Namespace, address: str) -> socket.socket:
    end = open_socket(place, socket.SOCK_DGRAM)
    end.bind((address, PORT))
    end.settimeout(PATIENCE_S)
    return end


def round_trip_ns(places: FerriedPlaces) -> int:
    with udp(places.client, CLIENT_ADDRESS) as client, udp(places.front, FRONT_ADDRESS) as front:
        started_ns = time.monotonic_ns()
        client.sendto(b"there", (FRONT_ADDRESS, PORT))
        assert front.recv(100) == b"there"
        front.sendto(b"back", (CLIENT_ADDRESS, PORT))
        assert client.recv(100) == b"back"
        return time.monotonic_ns() - started_ns


def received_of_burst(places: FerriedPlaces, count: int, size: int) -> int:
    """Send a burst of `count` datagrams to the client, and return the number of those that arrive."""
    with udp(places.client, CLIENT_ADDRESS) as client, udp(places.front, FRONT_ADDRESS) as front:
        for _ in range(count):
            front.sendto(bytes(size), (CLIENT_ADDRESS, PORT))
        settled(places)
        received = 0
        client.settimeout(0.2)
        try:
            while client.recv(2048):
                received += 1
        except TimeoutError:
            return received
        raise AssertionError("an empty datagram")


def accounted_for(way: dict[str, int]) -> bool:
    gone = way["packets_out"] + way["lost"] + way["dropped"] + way["refused"]
    return way["packets_in"] == gone + way["packets"] + way["delay_line_packets"]


def settled(places: FerriedPlaces) -> dict[str, dict[str, int]]:
    """Wait until the ferry holds no packets, and return its report.

    A report that is read while packets leave counts them neither as held nor as gone.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        report = places.report()
        if all(accounted_for(way) and not way["packets"] + way["delay_line_packets"] for way in report.values()):
            return report
        time.sleep(0.02)
    raise AssertionError(f"the ferry keeps packets: {report}")


def transfer(places: FerriedPlaces, sent: bytes) -> bytes:
    """Send bytes from front to client over TCP, and return those that arrive."""
    with (
        open_socket(places.front, socket.SOCK_STREAM) as server,
        open_socket(places.client, socket.SOCK_STREAM) as client,
    ):
        server.bind((FRONT_ADDRESS, PORT))
        server.listen()
        for end in (server, client):
            end.settimeout(PATIENCE_S)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(sent)

        thread = threading.Thread(target=serve)
        thread.start()
        client.connect((FRONT_ADDRESS, PORT))
        received = bytearray()
        while piece := client.recv(2**20):
            received += piece
        thread.join()
    return bytes(received)


def packets_received(place: Namespace, device: str) -> int:
    (state,) = json.loads(place.run(["ip", "-s", "-j", "link", "show", "dev", device]))
    return int(state["stats64"]["rx"]["packets"])


def journal_of(places: FerriedPlaces) -> list[dict[str, Any]]:
    return [json.loads(line) for line in places.order.journal.read_text().splitlines()]


def ended_with_1(places: FerriedPlaces) -> str:
    """Wait until the ferry has ended, and return its log."""
    assert places.process.wait(PATIENCE_S), "the ferry goes on"
    return places.process.log.read_text()


def test_tcp_crosses_in_packets(tmp_path: Path) -> None:
    """The ferry divides TCP's large segments (GSO) into packets, and all bytes arrive; no packet is lost."""
    link = Link(rate_bit_s=50_000_000, delay_ns=5 * MS, delay_up_ns=5 * MS, queue_packets=1000)
    sent = os.urandom(1_000_000)
    with ferried_places(link, tmp_path) as places:
        assert transfer(places, sent) == sent
        report = settled(places)
        assert packets_received(places.link, "to-front") < report["down"]["packets_in"]
    for way in report.values():
        assert accounted_for(way)
        assert way["lost"] == way["dropped"] == way["refused"] == way["kernel_drops"] == 0
        assert 0 <= way["lateness_p50_ns"] <= way["lateness_p99_ns"] <= way["lateness_max_ns"]
    assert report["down"]["bytes_out"] > 1_000_000
    assert report["down"]["bytes_in"] <= 1514 * report["down"]["packets_in"]


@pytest.mark.parametrize(
    ("link", "directions"),
    [
        (Link(rate_bit_s=None, delay_ns=60 * MS), {"down"}),
        (Link(rate_bit_s=None, delay_ns=0, delay_up_ns=60 * MS), {"up"}),
        (Link(rate_bit_s=None, delay_ns=30 * MS, delay_up_ns=30 * MS), {"down", "up"}),
    ],
    ids=["down", "up", "both"],
)
def test_delay(link: Link, directions: set[str], tmp_path: Path) -> None:
    """A round trip takes at least the link's delays, 60 ms, and under 1 s. Only directions with a delay are ferried."""
    with ferried_places(link, tmp_path) as places:
        assert 60 * MS <= round_trip_ns(places) < 1000 * MS
        assert set(places.report()) == directions


def test_packets_leave_when_the_model_says() -> None:
    """Exactly the packets that the ferry's queue model lets through arrive.
    Compared with the model's times, none is more than 5 ms early, and half of them are less than 50 ms late.
    """
    link = Link(rate_bit_s=2_000_000, delay_ns=20 * MS, jitter_ns=10 * MS, queue_packets=8, loss=0.05)
    errors = ferry_bench.measure_errors(link, 1.0)
    assert len(errors) > 100
    assert errors[0] > -5 * MS  # the conversion between the clocks is inexact
    assert errors[len(errors) // 2] < 50 * MS


def test_queue_and_journal(tmp_path: Path) -> None:
    """The packets of a burst that fit the queue arrive, others are dropped; the journal shows the queue's length."""
    with ferried_places(Link(rate_bit_s=128_000, delay_ns=0, queue_packets=5), tmp_path) as places:
        received = received_of_burst(places, 30, 1472)
        down = settled(places)["down"]
        lines = journal_of(places)
    assert 5 <= received <= 7  # more than 5 only if sending takes over 94 ms, the time of one packet
    assert (down["packets_out"], down["dropped"]) == (received, 30 - received)
    assert (down["longest_queue_packets"], down["longest_queue_bytes"]) == (5, 5 * 1514)
    assert set(lines[0]) == set(lines[-1])
    assert 3 <= max(line["packets"] for line in lines) <= 5
    assert lines[-1] | {"t_ns": 0} == {
        "t_ns": 0,
        "direction": "down",
        "packets": 0,
        "bytes": 0,
        "delay_line_packets": 0,
        "delay_line_bytes": 0,
        "dropped": 30 - received,
    }
    times = [line["t_ns"] for line in lines]
    assert all(later - earlier >= 10 * MS for earlier, later in pairwise(times))


def test_loss_is_the_models(tmp_path: Path) -> None:
    """The ferry loses as many packets as its queue model with the same seed."""
    link = Link(rate_bit_s=None, delay_ns=0, loss=0.2)
    with ferried_places(link, tmp_path) as places:
        received = received_of_burst(places, 100, 10)
        down = settled(places)["down"]
        model = Direction.down(link, places.order.seed)
    for _ in range(100):
        model.arrive(0, b"")
    assert down["lost"] == model.counters.lost == 100 - received
    assert down["kernel_drops"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """After SIGTERM or SIGINT the ferry exits with 0, completes its journal and removes its socket."""
    with ferried_places(Link(rate_bit_s=None, delay_ns=60_000 * MS), tmp_path) as places:
        with open_socket(places.front, socket.SOCK_DGRAM) as front:
            front.sendto(b"never to arrive", (CLIENT_ADDRESS, PORT))
        os.kill(places.process.pid, number)
        assert places.process.wait(PATIENCE_S), "the ferry goes on"
        places.process.check_success()
        assert journal_of(places)[-1]["delay_line_packets"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"ferry.log", "order.json", "queue.jsonl"}


def test_a_vanishing_device_ends_it(tmp_path: Path) -> None:
    """The ferry ends with an error if its device is removed."""
    with ferried_places(Link(rate_bit_s=None, delay_ns=MS), tmp_path) as places:
        places.link.run(["ip", "link", "del", loops.DOWN.device])
        assert ended_with_1(places) == "ferry: [Errno 100] Network is down: 'down-ferry'\n"


def test_offload_in_the_loop_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a device uses transmit offload, the ferry ends with an error that says to turn the offload off."""

    def unfit(link: Link, to_client: str, to_front: str) -> list[tuple[str, ...]]:
        return [command for command in fit(link, to_client, to_front) if command[0] != "ethtool"]

    fit = loops.commands
    monkeypatch.setattr(loops, "commands", unfit)
    with ferried_places(Link(rate_bit_s=None, delay_ns=MS), tmp_path) as places:
        with open_socket(places.front, socket.SOCK_DGRAM) as front:
            front.sendto(b"without a checksum", (CLIENT_ADDRESS, PORT))
        assert "turn transmit offload off" in ended_with_1(places)


def test_a_folder_may_lie_deep(tmp_path: Path) -> None:
    """The ferry's socket may have a path longer than a Unix socket's address may be."""
    folder = tmp_path / ("deep" * 30)
    folder.mkdir()
    with ferried_places(Link(rate_bit_s=None, delay_ns=MS), folder) as places:
        assert set(places.report()) == {"down"}


def run_ferry(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "priolab.netem.ferry", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_a_missing_device_is_named(tmp_path: Path) -> None:
    """If the device is missing, the ferry prints one line, exits with 1 and leaves no socket."""
    order = Order(
        link=Link(rate_bit_s=None, delay_ns=1),
        seed=1,
        journal=tmp_path / "queue.jsonl",
        interval_ns=None,
        socket=tmp_path / "socket",
    )
    file = tmp_path / "order.json"
    file.write_text(order.to_json())
    with three_places() as (_, link, _), link.entered():
        done = run_ferry([str(file)])
    assert (done.returncode, done.stderr) == (1, "ferry: [Errno 19] No such device: 'down-ferry'\n")
    assert not order.socket.exists()


def test_a_wrong_order_is_refused(tmp_path: Path) -> None:
    """The ferry refuses a link that is not allowed with one line and exit code 1. Without an argument the code is 2."""
    file = tmp_path / "order.json"
    file.write_text('{"link": {"rate_bit_s": null, "delay_ns": -1}}')
    done = run_ferry([str(file)])
    assert (done.returncode, done.stderr) == (1, "ferry: delay: allowed are 0ms to 60s\n")
    assert run_ferry([]).returncode == 2
