"""What the link turned out to be, and how far that may be from what was asked; `netem/ends.py` measures it.

Three figures: the round trip of a small datagram on an idle link, the rate, and how many packets the bottleneck's queue
holds. On a real clock a link may be too fast to be measured: then a figure is None rather than wrong, and it says so
(`too_fast`).
"""

from dataclasses import dataclass

from netem.link import Link

SMALL_BYTES = 60
"""The smallest Ethernet frame, so that every shaper counts the same."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was measured; None where it could not be.

    rate_bit_s counts whole Ethernet frames, as tc does. reordered_packets: how many of a train arrived after one sent
    later. too_fast: neither as asked nor as seen did the link leave time enough to measure its rate.
    """

    round_trip_ns: int | None
    rate_bit_s: int | None
    queue_packets: int | None
    reordered_packets: int | None
    too_fast: bool


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far measured may be from asked: a fraction of the rate, nanoseconds of round trip, packets of queue.

    clock_ns: what a moment may be wrong by; figures that this blurs beyond the tolerance are not measured.
    """

    rate: float
    round_trip_ns: int
    queue_packets: int
    clock_ns: int

    @property
    def shortest_ns(self) -> float:
        """What the clock must have time for to tell a rate: both halves of a train."""
        return 2 * self.clock_ns / self.rate

    def counts_packets_of(self, transmission_ns: int) -> bool:
        """Whether packets that take so long can be counted."""
        return transmission_ns * self.queue_packets >= self.clock_ns


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000, queue_packets=0, clock_ns=0)
"""For the guest, whose clock does not move while it works."""

REAL = Tolerance(rate=0.05, round_trip_ns=20_000_000, queue_packets=1, clock_ns=50_000)
"""For real clocks: a busy machine wakes a process late, and may pause one in the middle of a train.

Queues are measured up to some 240 Mbit/s, rates where a full queue lasts 2 ms.
"""


def expected_round_trip_ns(link: Link) -> int:
    """Round trip of the small datagram on an idle link: delays and its own transmission time."""
    return link.round_trip_ns + link.transmission_ns(SMALL_BYTES)


def disagreements(link: Link, measured: Calibration, tolerance: Tolerance) -> list[tuple[str, object, object]]:
    """(what, asked, measured) for each figure out of tolerance; jitter widens the one for the round trip."""
    found: list[tuple[str, object, object]] = []
    asked_ns = expected_round_trip_ns(link)
    allowed_ns = tolerance.round_trip_ns + link.jitter_ns
    if measured.round_trip_ns is None or abs(measured.round_trip_ns - asked_ns) > allowed_ns:
        found.append(("round_trip_ns", asked_ns, measured.round_trip_ns))
    if link.rate_bit_s is not None:
        rate = measured.rate_bit_s
        missing = rate is None and not measured.too_fast
        if missing or (rate is not None and abs(rate - link.rate_bit_s) > tolerance.rate * link.rate_bit_s):
            found.append(("rate_bit_s", link.rate_bit_s, rate))
        queue = measured.queue_packets
        if queue is not None and abs(queue - link.queue_packets) > tolerance.queue_packets:
            found.append(("queue_packets", link.queue_packets, queue))
    if measured.reordered_packets:
        found.append(("reordered_packets", 0, measured.reordered_packets))
    return found
