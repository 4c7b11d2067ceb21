"""The report of a sandbox: for people, and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from priolab.experiments.host.plural import counted
from priolab.extras.sandbox.order import CLIENT, SERVER
from priolab.extras.sandbox.outcome import Direction, Outcome

_NS = 10**9


def lines(outcome: Outcome) -> Iterator[str]:
    """Yields the lines for people."""
    made = outcome.connections
    yield f"the client took {outcome.duration_ns / _NS:.6f} s"
    yield _way("the client", outcome.down, CLIENT, outcome) + _from(outcome.up if outcome.beside else None)
    if not outcome.beside:
        yield _way("the server", outcome.up, SERVER, outcome)
    for name, each in outcome.beside.items():
        yield _way("the server" if name == SERVER else name, each.down, name, outcome) + _from(each.up)
    trips = [each.min_round_trip_us for each in made if each.min_round_trip_us is not None]
    if trips:
        yield f"{counted(len(made), 'TCP connection')}, shortest round trip {min(trips) / 1000:.3f} ms"
    for name, sizes in outcome.queue_bytes.items():
        ways = {"down": f"toward the {name}", "up": f"from the {name}"}
        for way, size_bytes in sizes.items():
            yield f"the bottleneck queue {ways[way]} holds {size_bytes} bytes"
    queues = {"": outcome.longest_queue} | {
        f" toward {name}": each.longest_queue for name, each in outcome.beside.items()
    }
    for where, queue in queues.items():
        if queue is not None:
            yield f"longest queue{where} at a sample: {counted(queue, 'packet')}"
    for name, code in outcome.codes.items() if outcome.beside else ():
        if name != CLIENT:
            yield f"the program of {name} ended before the client did, with exit code {code}"


def _way(toward: str, way: Direction, place: str, outcome: Outcome) -> str:
    received, again = received_bytes(outcome, place), sum(_sent_again(outcome, place))
    return (
        f"toward {toward}: {way.bytes} bytes of packets, {received} of TCP's data, {_rate(received, outcome)};"
        f" {counted(again, 'segment')} sent again, {_losses(way)}"
    )


def _from(way: Direction | None) -> str:
    return "" if way is None else f"; from it {way.bytes} bytes, {counted(way.dropped, 'packet')} dropped by the queue"


def received_bytes(outcome: Outcome, place: str) -> int:
    """Returns the bytes of TCP's data that a place's kernel received."""
    near = sum(each.down_bytes for each in outcome.connections if each.between[0] == place)
    return near + sum(each.up_bytes for each in outcome.connections if each.between[1] == place)


def _sent_again(outcome: Outcome, place: str) -> Iterator[int]:
    """Yields the segments that were sent again toward a place, for each connection."""
    for each in outcome.connections:
        for end, again in zip(each.between, (each.down_retransmissions, each.up_retransmissions), strict=True):
            if end == place:
                yield again


def _losses(way: Direction) -> str:
    return f"{counted(way.dropped, 'packet')} dropped by the queue, {way.lost} lost at random"


def _rate(size_bytes: int, outcome: Outcome) -> str:
    bit_s = goodput_bit_s(size_bytes, outcome)
    return "no rate" if bit_s is None else f"{bit_s / 1e6:.3f} Mbit/s"


def goodput_bit_s(size_bytes: int, outcome: Outcome) -> float | None:
    """Returns bytes by the client's time, in bits per second; None if it took none."""
    return size_bytes * 8 * _NS / outcome.duration_ns if outcome.duration_ns else None


def document(outcome: Outcome) -> dict[str, Any]:
    """Returns the report as a JSON document. What is about further places, or queues in bytes, is left out without."""
    told = asdict(outcome)
    if not outcome.queue_bytes:
        del told["queue_bytes"]
    if not outcome.beside:
        del told["beside"], told["codes"]
        for each in told["connections"]:
            del each["between"]
    sent = sum(each.up_bytes for each in outcome.connections if each.between[0] == CLIENT)
    return told | {
        "goodput_down_bit_s": goodput_bit_s(received_bytes(outcome, CLIENT), outcome),
        "goodput_up_bit_s": goodput_bit_s(sent, outcome),
    }
