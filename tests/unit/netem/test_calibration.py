"""A link's expected round trip, and the measurements that disagree with it."""

import pytest

from priolab.common.packets import PACKET_BYTES
from priolab.netem.calibration import REAL, VIRTUAL, Calibration, Tolerance, disagreements, expected_round_trip_ns
from priolab.netem.link import Link

MS = 10**6
MAPS = Link(rate_bit_s=1_024_000, delay_ns=300 * MS, queue_packets=25)
TOLERANCE = Tolerance(rate=0.03, round_trip_ns=3 * MS, queue_packets=0, clock_ns=0)


def saw(
    round_trip_ns: int | None = 300 * MS,
    rate_bit_s: int | None = 1_024_000,
    queue_packets: int | None = 25,
    reordered_packets: int | None = 0,
    *,
    too_fast: bool = False,
) -> Calibration:
    return Calibration(
        round_trip_ns=round_trip_ns,
        rate_bit_s=rate_bit_s,
        queue_packets=queue_packets,
        reordered_packets=reordered_packets,
        too_fast=too_fast,
    )


def names(link: Link, measured: Calibration) -> list[str]:
    return [what for what, _, _ in disagreements(link, measured, TOLERANCE)]


def test_expected_round_trip_holds_both_delays_and_the_datagram_itself() -> None:
    """The round trip contains both delays and the time of the smallest frame.
    The frame has 60 bytes and takes 468,750 ns at 1,024 kbit/s.
    """
    assert expected_round_trip_ns(MAPS) == 300 * MS + 468_750
    assert expected_round_trip_ns(Link(rate_bit_s=None, delay_ns=5 * MS, delay_up_ns=2 * MS)) == 7 * MS
    assert expected_round_trip_ns(Link(rate_bit_s=None, delay_ns=5 * MS, rate_up_bit_s=48_000)) == 15 * MS


def test_a_link_as_asked_agrees() -> None:
    """A link as requested, or within tolerance, causes no disagreement."""
    assert names(MAPS, saw(300 * MS + 468_750)) == []
    assert names(MAPS, saw(round_trip_ns=303 * MS, rate_bit_s=1_054_000)) == []


@pytest.mark.parametrize("round_trip_ns", [None, 297 * MS, 304 * MS])
def test_round_trip_out_of_tolerance(round_trip_ns: int | None) -> None:
    """A round trip that is too short, too long, or unknown is reported with the requested and the measured one."""
    measured = saw(round_trip_ns=round_trip_ns)
    assert disagreements(MAPS, measured, TOLERANCE) == [("round_trip_ns", 300_468_750, round_trip_ns)]


@pytest.mark.parametrize("rate_bit_s", [None, 128_000, 993_000, 1_055_000])
def test_rate_out_of_tolerance(rate_bit_s: int | None) -> None:
    """A rate in kilobits instead of kilobytes, a rate 3% off, and an unknown rate are reported."""
    measured = saw(rate_bit_s=rate_bit_s)
    assert disagreements(MAPS, measured, TOLERANCE) == [("rate_bit_s", 1_024_000, rate_bit_s)]


def test_queue_must_match_exactly() -> None:
    """A queue that is one packet off is reported; one that could not be measured is not."""
    assert names(MAPS, saw(queue_packets=24)) == ["queue_packets"]
    assert names(MAPS, saw(queue_packets=None)) == []


def test_what_is_too_fast_to_measure_is_not_judged() -> None:
    """A rate that was too fast to measure is no disagreement. A measured rate that is wrong is reported."""
    assert names(MAPS, saw(rate_bit_s=None, queue_packets=None, too_fast=True)) == []
    assert names(MAPS, saw(rate_bit_s=None, queue_packets=None)) == ["rate_bit_s"]
    assert names(MAPS, saw(rate_bit_s=9, queue_packets=None, too_fast=True)) == ["rate_bit_s"]


def test_what_a_real_clock_can_tell() -> None:
    """A real clock can count packets at 100 Mbit/s, where a packet takes 0.12 ms, but not at 1 Gbit/s.
    A train of packets must take at least 2 ms to be measured. The virtual clock has no such limits.
    """
    assert REAL.shortest_ns == 2 * MS
    assert REAL.counts_packets_of(Link(rate_bit_s=10**8, delay_ns=0).transmission_ns(PACKET_BYTES))
    assert not REAL.counts_packets_of(Link(rate_bit_s=10**9, delay_ns=0).transmission_ns(PACKET_BYTES))
    assert VIRTUAL.shortest_ns == 0
    assert VIRTUAL.counts_packets_of(1)


def test_jitter_widens_the_round_trip_alone() -> None:
    """Jitter widens the tolerance of the round trip, not that of the rate."""
    jittery = Link(rate_bit_s=1_024_000, delay_ns=300 * MS, jitter_ns=20 * MS)
    assert names(jittery, saw(round_trip_ns=280 * MS)) == []
    assert names(jittery, saw(round_trip_ns=276 * MS, rate_bit_s=900_000)) == [
        "round_trip_ns",
        "rate_bit_s",
    ]


def test_an_unlimited_link_has_no_rate_and_no_queue_to_check() -> None:
    """Without a rate only the round trip is compared."""
    link = Link(rate_bit_s=None, delay_ns=0)
    assert names(link, saw(MS, rate_bit_s=None, queue_packets=None, reordered_packets=None)) == []
    assert names(link, saw(round_trip_ns=4 * MS, rate_bit_s=None, queue_packets=None)) == ["round_trip_ns"]


def test_order_must_be_kept() -> None:
    """Reordered packets are reported, unless their number is unknown."""
    assert disagreements(MAPS, saw(reordered_packets=2), TOLERANCE) == [("reordered_packets", 0, 2)]
    assert names(MAPS, saw(reordered_packets=None)) == []
