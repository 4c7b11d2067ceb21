"""Tests of packets that were dropped although the bottleneck's queue was not full."""

from collections.abc import Sequence
from typing import Any

import pytest

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.queue_check import queue_contradictions
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import QueueSample, SocketSample
from priolab.common.packets import PACKET_BYTES, SEGMENT_BYTES
from tests.support.builders import MS, scenario, socket_sample

EXACT = Allowance(rate=0.03, moment_ns=MS, late_ns=6 * MS, is_exact=True)
REAL = Allowance(rate=0.05, moment_ns=MS, late_ns=40 * MS)
EVERY_MS = 12
"""A little more than the time of a packet at the default rate, 128 kB/s."""


def sample(at: int, packets: int, dropped: int, *, packet_bytes: int = PACKET_BYTES, way: str = "down") -> QueueSample:
    """Returns the sample with the number `at` of the queue, which holds packets of one size."""
    return QueueSample(
        t_ns=at * EVERY_MS * MS, direction=way, packets=packets, bytes=packets * packet_bytes, dropped=dropped
    )


FULL = [
    socket_sample(t_ns=at * EVERY_MS * MS, segments_sent=4 * at, bytes_sent=4 * at * SEGMENT_BYTES) for at in range(40)
]
"""Samples of a socket that sends full packets."""


def told(
    *lines: QueueSample, allowance: Allowance = EXACT, sockets: Sequence[SocketSample] = FULL, **knobs: str
) -> list[str]:
    """Returns what is said about these samples of the queue, with room for 25 packets."""
    down, up = ([line for line in lines if line.direction == way] for way in ("down", "up"))
    layers = Layers(sockets=tuple(sockets), queue=tuple(down), queue_up=tuple(up), arrivals=())
    return [f"{each.asked}: {each.seen}" for each in queue_contradictions(layers, scenario(knobs), 0, allowance)]


def test_a_full_queue_drops() -> None:
    """Of 25 packets one has left since the drop, and one is being sent."""
    assert told(sample(0, 24, 8), sample(1, 25, 9), sample(2, 22, 9), sample(3, 0, 9)) == []
    assert told(sample(0, 25, 8), sample(1, 22, 9)) == []


def test_a_queue_that_was_shorter_for_a_while() -> None:
    """A queue of three packets drops the fourth."""
    assert told(sample(0, 3, 8), sample(1, 3, 9)) == ["at least 22: 3"]
    assert told(sample(0, 25, 8), sample(1, 21, 9)) == ["at least 22: 21"]


def test_what_may_have_left_since_the_drop() -> None:
    """The longer the time between two samples, and the smaller the packets, the more may have left."""
    assert told(sample(0, 0, 8), sample(20, 3, 30), sockets=()) == []
    assert told(sample(0, 9, 8, packet_bytes=700), sample(1, 9, 9, packet_bytes=700), sockets=()) == []
    assert told(sample(0, 3, 8), sample(1, 3, 9), allowance=REAL) == ["at least 6: 3"]


@pytest.mark.parametrize(("segment_bytes", "found"), [(1448, ["at least 22: 0"]), (60, [])])
def test_an_empty_queue_between_two_samples(segment_bytes: int, found: list[str]) -> None:
    """A sample without a change has no line. The socket tells when it was, and how large the sent packets were."""
    sent = [
        socket_sample(t_ns=at * EVERY_MS * MS, segments_sent=4 * at, bytes_sent=4 * at * segment_bytes)
        for at in range(40)
    ]
    assert told(sample(0, 0, 8), sample(30, 0, 11), sockets=sent) == found
    assert told(sample(0, 0, 8), sample(30, 0, 11), sockets=sent, allowance=REAL) == []


def test_packets_of_different_sizes() -> None:
    """What all packets of about then lack to full ones, those that left may have lacked."""
    mixed = [socket_sample(t_ns=at * EVERY_MS * MS, segments_sent=at, bytes_sent=1260 * at) for at in range(40)]
    assert told(sample(30, 0, 30), sample(31, 19, 57), sockets=mixed) == []
    assert told(sample(30, 0, 30), sample(31, 15, 57), sockets=mixed) != []


@pytest.mark.parametrize("knobs", [{"LOSS": "1%"}, {"QDISC": "fq_codel"}, {"RATE": "unlimited"}])
def test_links_that_drop_otherwise(knobs: dict[str, Any]) -> None:
    """Where packets are lost by chance, or the queue is none of packets, nothing is said."""
    assert told(sample(0, 3, 8), sample(1, 3, 9), **knobs) == []


def test_the_direction_toward_the_front() -> None:
    """With RATE_UP acknowledgments are dropped by a full queue alone."""
    lines = (sample(0, 3, 0, packet_bytes=66, way="up"), sample(1, 3, 4, packet_bytes=66, way="up"))
    assert told(*lines, RATE_UP="32kbit") == ["at least 21: 3"]
    assert told(*lines) == []
