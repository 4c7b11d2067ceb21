"""Tests of a link's rate and queue, computed from a train of datagrams."""

import pytest

from priolab.common.packets import PACKET_BYTES
from priolab.netem.ferry.direction import Direction
from priolab.netem.link import Link
from priolab.netem.packet_train import Arrival, held_packets, spacing_rate_bit_s

MS = 10**6
RATE = 8_000_000
SPACING_NS = PACKET_BYTES * 8 * 10**9 // RATE


def crossed(link: Link, sent_ns: list[int]) -> list[Arrival]:
    """Return the datagrams that arrive after a train, sent at these times, has crossed the model of the link."""
    model = Direction.down(link, 1)
    for number, each_ns in enumerate(sent_ns):
        model.arrive(each_ns, number.to_bytes(4).ljust(PACKET_BYTES))
    return [
        Arrival(number=number, sent_ns=sent_ns[number], arrived_ns=departure_ns)
        for departure_ns, frame in model.due(10**12)
        for number in [int.from_bytes(frame[:4])]
    ]


@pytest.mark.parametrize("queue_packets", [1, 2, 25])
@pytest.mark.parametrize("pace_ns", [0, 1000, SPACING_NS // 3, SPACING_NS * 3 // 4])
def test_the_queue_is_what_it_held_at_once(queue_packets: int, pace_ns: int) -> None:
    """Datagrams that left the queue while the train was being sent are not counted."""
    link = Link(rate_bit_s=RATE, delay_ns=0, queue_packets=queue_packets)
    train = crossed(link, [number * pace_ns for number in range(200)])
    assert held_packets(train, 200, SPACING_NS) == queue_packets


def test_a_sender_that_pauses_does_not_change_the_queue() -> None:
    """A pause while the train is sent does not change the queue's size, even if the queue empties meanwhile."""
    link = Link(rate_bit_s=RATE, delay_ns=0, queue_packets=25)
    train = crossed(link, [number * 1000 + (100 * MS if number > 10 else 0) for number in range(60)])
    assert held_packets(train, 60, SPACING_NS) == 25


def test_a_train_that_comes_whole_says_nothing_about_the_queue() -> None:
    """The queue's size is None if the queue was never full."""
    link = Link(rate_bit_s=RATE, delay_ns=0, queue_packets=25)
    assert held_packets(crossed(link, [0] * 25), 25, SPACING_NS) is None
    assert held_packets(crossed(link, [number * SPACING_NS for number in range(99)]), 99, SPACING_NS) is None
    assert held_packets([], 33, SPACING_NS) is None


def spaced(count: int, spacing_ns: int, late_ns: dict[int, int]) -> list[int]:
    return [number * spacing_ns + late_ns.get(number, 0) for number in range(count)]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 24, 25])
def test_rate_is_that_of_the_spacing(count: int) -> None:
    """The rate is right for trains of any length."""
    assert spacing_rate_bit_s(spaced(count, SPACING_NS, {})) == pytest.approx(RATE, rel=1e-6)


@pytest.mark.parametrize(
    "late_ns",
    [{24: 9 * MS}, {0: 9 * MS}, {20: 5 * MS, 21: 4 * MS, 22: 2 * MS, 23: MS}, {0: 3 * MS, 12: 3 * MS, 24: 3 * MS}],
    ids=["the last", "the first", "a bunch", "here and there"],
)
def test_a_few_late_packets_do_not_change_the_rate(late_ns: dict[int, int]) -> None:
    """The rate is right if fewer than a quarter of the packets are late by any time."""
    assert spacing_rate_bit_s(spaced(25, SPACING_NS, late_ns)) == pytest.approx(RATE, rel=1e-6)


def test_a_train_that_comes_at_once_has_no_rate() -> None:
    """The rate is None if all packets arrive at the same time."""
    assert spacing_rate_bit_s([5, 5, 5, 5]) is None
