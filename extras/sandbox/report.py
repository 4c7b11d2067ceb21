"""The report of a sandbox: for people, and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from priolab.experiments.host.plural import counted
from priolab.extras.sandbox.outcome import Direction, Outcome

_NS = 10**9


def lines(outcome: Outcome) -> Iterator[str]:
    """Yields the lines for people."""
    made = outcome.connections
    yield f"the client took {outcome.duration_ns / _NS:.6f} s"
    for name, way, received, again in (
        ("toward the client", outcome.down, [each.down_bytes for each in made], [e.down_retransmissions for e in made]),
        ("toward the server", outcome.up, [each.up_bytes for each in made], [e.up_retransmissions for e in made]),
    ):
        yield (
            f"{name}: {way.bytes} bytes of packets, {sum(received)} of TCP's data, {_rate(sum(received), outcome)};"
            f" {counted(sum(again), 'segment')} sent again, {_losses(way)}"
        )
    trips = [each.min_round_trip_us for each in made if each.min_round_trip_us is not None]
    if trips:
        yield f"{counted(len(made), 'TCP connection')}, shortest round trip {min(trips) / 1000:.3f} ms"
    if outcome.longest_queue is not None:
        yield f"longest queue at a sample: {counted(outcome.longest_queue, 'packet')}"


def _losses(way: Direction) -> str:
    return f"{counted(way.dropped, 'packet')} dropped by the queue, {way.lost} lost at random"


def _rate(size_bytes: int, outcome: Outcome) -> str:
    bit_s = goodput_bit_s(size_bytes, outcome)
    return "no rate" if bit_s is None else f"{bit_s / 1e6:.3f} Mbit/s"


def goodput_bit_s(size_bytes: int, outcome: Outcome) -> float | None:
    """Returns bytes by the client's time, in bits per second; None if it took none."""
    return size_bytes * 8 * _NS / outcome.duration_ns if outcome.duration_ns else None


def document(outcome: Outcome) -> dict[str, Any]:
    """Returns the report as a JSON document."""
    down, up = (sum(each) for each in _data(outcome))
    return asdict(outcome) | {
        "goodput_down_bit_s": goodput_bit_s(down, outcome),
        "goodput_up_bit_s": goodput_bit_s(up, outcome),
    }


def _data(outcome: Outcome) -> tuple[list[int], list[int]]:
    return [each.down_bytes for each in outcome.connections], [each.up_bytes for each in outcome.connections]
