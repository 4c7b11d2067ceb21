"""Measures the ferry's speed and punctuality on this machine: `python -m tools.benches.ferry`, as root.

The first measurement is TCP's throughput, with the ferry on a processor of its own. The second is the lateness of each
packet: the time from the departure that the model computes to the timestamp of the client's kernel. The second
measurement uses no figures of the ferry. Instead, the bench reads the same arrivals, with the same timestamps, from a
second packet ring, and computes the departures with a second model.
"""

import os
import random
import select
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from priolab.common.errors import StepFailed
from priolab.common.packets import PACKET_BYTES
from priolab.common.process import processes
from priolab.common.process.processes import Process
from priolab.netem.ferry import loops
from priolab.netem.ferry.direction import Direction
from priolab.netem.ferry.process import Order, ask
from priolab.netem.ferry.ring import FRAMES, Ring
from priolab.netem.link import Link
from priolab.testbed import WIRE, Namespace, build, pair
from tools.benches.processor_time import processor_s

ENDS = pair("client", "front")
CLIENT_ADDRESS, FRONT_ADDRESS = (wire.address for wire in ENDS.wires)

_SEED = 1
_JOURNAL_NS = 10**7
_PORT = 4242
_READY_S = 10.0
_HEADERS_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP
_NUMBER_BYTES = 4
_STREAM_S = 3.0
_PUNCTUAL_S = 5.0
_GRACE_NS = 200 * 10**6
_MS = 10**6


@dataclass(frozen=True, kw_only=True)
class FerriedPlaces:
    """Client, link and front with a running ferry, which carries all packets between front and client."""

    client: Namespace
    link: Namespace
    front: Namespace
    process: Process
    order: Order

    def report(self) -> dict[str, dict[str, int]]:
        """Returns the ferry's counters so far."""
        return ask(self.order.socket)


@contextmanager
def three_places() -> Iterator[tuple[Namespace, Namespace, Namespace]]:
    """Yields client, link and front with veth pairs and routes. TCP's large packets (GSO) reach the link uncut."""
    with build(ENDS, None, Path()) as network:
        client, link, front = network.hosts.values()
        yield client, link, front


@contextmanager
def ferried_places(wanted: Link, folder: Path) -> Iterator[FerriedPlaces]:
    """Yields client, link and front with a running ferry, which writes its files into the folder. Raises StepFailed."""
    with three_places() as (client, link, front):
        for command in loops.commands(wanted, *(wire.device for wire in ENDS.wires)):
            link.run(command)
        for name, value in loops.sysctls(wanted).items():
            link.write_sysctl(name, value)
        order = Order(
            link=wanted,
            seed=_SEED,
            journal=folder / "queue.jsonl",
            interval_ns=_JOURNAL_NS,
            socket=folder / "ferry.socket",
        )
        asked = folder / "order.json"
        asked.write_text(order.to_json())
        ferry = (sys.executable, "-m", "priolab.netem.ferry", str(asked))
        with link.start("the ferry", ferry, folder / "ferry.log") as process:
            processes.wait_until(order.socket.exists, _READY_S, process.check_alive, "the ferry")
            yield FerriedPlaces(client=client, link=link, front=front, process=process, order=order)


def open_socket(place: Namespace, kind: socket.SocketKind) -> socket.socket:
    """Opens a socket in a network namespace."""
    with place.entered():
        return socket.socket(socket.AF_INET, kind)


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """TCP's throughput.

    rate_bit_s: the rate of whole frames. busy: the ferry's use of its processor, from 0 to 1. kernel_drops: the packets
    that the kernel dropped before the ferry could read them.
    """

    rate_bit_s: int
    busy: float
    kernel_drops: int


def measure_throughput(link: Link, duration_s: float = _STREAM_S) -> Throughput:
    """Measures one TCP connection toward the client. The ferry has a processor of its own."""
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as folder, ferried_places(link, Path(folder)) as places:
        with _processors_shared(places.process.pid), ExitStack() as stack:
            server = stack.enter_context(open_socket(places.front, socket.SOCK_STREAM))
            client = stack.enter_context(open_socket(places.client, socket.SOCK_STREAM))
            server.bind((FRONT_ADDRESS, _PORT))
            server.listen()
            sender = threading.Thread(target=_pour, args=(server,))
            sender.start()
            client.connect((FRONT_ADDRESS, _PORT))
            _take(client, duration_s / 3)  # slow start
            before, before_s, started_ns = places.report()["down"], processor_s(places.process.pid), time.monotonic_ns()
            _take(client, duration_s)
            after, after_s, ended_ns = places.report()["down"], processor_s(places.process.pid), time.monotonic_ns()
            client.close()
            sender.join()
        elapsed_ns = ended_ns - started_ns
        return Throughput(
            rate_bit_s=(after["bytes_out"] - before["bytes_out"]) * 8 * 10**9 // elapsed_ns,
            busy=(after_s - before_s) * 10**9 / elapsed_ns,
            kernel_drops=sum(direction["kernel_drops"] for direction in places.report().values()),
        )


def _pour(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        piece = bytes(256 * 1024)
        try:
            while True:
                connection.sendall(piece)
        except ConnectionError:
            return


def _take(client: socket.socket, duration_s: float) -> None:
    until_ns = time.monotonic_ns() + int(duration_s * 10**9)
    while time.monotonic_ns() < until_ns:
        client.recv(1024 * 1024)


@contextmanager
def _processors_shared(ferry: int) -> Iterator[None]:
    """Keeps the ferry on one processor, and this process on the other processors, if this machine has several."""
    allowed = os.sched_getaffinity(0)
    alone = max(allowed)
    os.sched_setaffinity(ferry, {alone})
    os.sched_setaffinity(0, allowed - {alone} or allowed)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def measure_errors(link: Link, duration_s: float = _PUNCTUAL_S) -> list[int]:
    """Returns how late each packet departs, in ns, sorted: from the model's departure to the client kernel's timestamp.

    No overhead is subtracted. Datagrams of all sizes are sent in bursts that use 90 % of the link. Raises StepFailed if
    the packets that arrive differ from the packets that the model lets through.
    """
    assert link.rate_bit_s is not None, "the link needs a rate, which decides how much the bench sends"
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as folder, ferried_places(link, Path(folder)) as places:
        with ExitStack() as stack:
            rings = {}
            for name, place, device in (("in", places.link, loops.DOWN.ferry_end), ("out", places.client, WIRE)):
                with place.entered():
                    rings[name] = stack.enter_context(Ring(device))
            receiver = stack.enter_context(open_socket(places.client, socket.SOCK_DGRAM))
            receiver.bind((CLIENT_ADDRESS, _PORT))
            sender = stack.enter_context(open_socket(places.front, socket.SOCK_DGRAM))
            arrivals, departures = _send_bursts(sender, rings["in"], rings["out"], link, duration_s)
        model = Direction.down(link, _SEED)
        for arrival_ns, frame in arrivals:
            model.arrive(arrival_ns, frame)
        expected = list(model.due(time.monotonic_ns() + 10**12))
        if [_number(frame) for _, frame in expected] != [_number(frame) for _, frame in departures]:
            raise StepFailed("the ferry", f"{len(departures)} packets arrived, not the {len(expected)} expected ones")
        return sorted(came - due for (came, _), (due, _) in zip(departures, expected, strict=True))


_Frames = list[tuple[int, bytes]]


def _send_bursts(sender: socket.socket, ring_in: Ring, ring_out: Ring, link: Link, s: float) -> tuple[_Frames, _Frames]:
    seen: dict[Ring, _Frames] = {ring_in: [], ring_out: []}

    def watch(until_ns: int) -> None:
        while (left_ns := until_ns - time.monotonic_ns()) > 0:
            select.select([ring.socket for ring in seen], [], [], left_ns / 10**9)
            for ring, frames in seen.items():
                frames += ring.read(FRAMES)

    chance = random.Random(_SEED)
    next_ns = time.monotonic_ns()
    until_ns = next_ns + int(s * 10**9)
    number = 0
    while next_ns < until_ns:
        for _ in range(chance.randint(1, 5)):
            size = chance.randint(_NUMBER_BYTES, PACKET_BYTES - _HEADERS_BYTES)
            sender.sendto(bytes(size - _NUMBER_BYTES) + number.to_bytes(_NUMBER_BYTES, "big"), (CLIENT_ADDRESS, _PORT))
            next_ns += link.transmission_ns(size + _HEADERS_BYTES) * 10 // 9
            number += 1
        watch(next_ns)
    watch(
        next_ns + link.delay_ns + link.jitter_ns + link.transmission_ns(PACKET_BYTES * link.queue_packets) + _GRACE_NS
    )
    return seen[ring_in], seen[ring_out]


def _number(frame: bytes) -> bytes:
    return frame[-_NUMBER_BYTES:]


_STREAMS = {
    "unlimited, 5 ms each way": Link(rate_bit_s=None, delay_ns=5 * _MS, delay_up_ns=5 * _MS),
    "200 Mbit/s, 5 ms each way": Link(rate_bit_s=200 * 10**6, delay_ns=5 * _MS, delay_up_ns=5 * _MS, queue_packets=400),
}
_PUNCTUAL = {
    "128 kbit/s": Link(rate_bit_s=128_000, delay_ns=20 * _MS),
    "128 kB/s": Link(rate_bit_s=1_024_000, delay_ns=20 * _MS),
    "9 Mbit/s": Link(rate_bit_s=9_000_000, delay_ns=20 * _MS),
}


def main() -> None:
    """Prints the table of TCP's throughput and the table of the packets' lateness."""
    console = Console()
    table = Table("TCP through the ferry", "Mbit/s", "processor use", "lost in the kernel")
    for name, link in _STREAMS.items():
        got = measure_throughput(link)
        table.add_row(name, f"{got.rate_bit_s / 10**6:.0f}", f"{got.busy:.0%}", str(got.kernel_drops))
    console.print(table)
    table = Table("packet too late by (µs)", "packets", "p50", "p99", "max")
    for name, link in _PUNCTUAL.items():
        errors = measure_errors(link)
        figures = (errors[len(errors) // 2], errors[len(errors) * 99 // 100], errors[-1])
        table.add_row(name, str(len(errors)), *(f"{error / 1000:.0f}" for error in figures))
    console.print(table)


if __name__ == "__main__":
    main()
