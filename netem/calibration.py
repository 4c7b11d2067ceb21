"""A link's measured figures, and how far they may be from those asked for. `netem/ends.py` measures them.

Three figures: the round trip of a small datagram on an idle link, the rate, and the number of packets that the
bottleneck's queue holds. On a real clock a link may be too fast to be measured. Then a figure is None rather than
wrong; `too_fast` is set where that is the reason why the rate is None.
"""

from dataclasses import dataclass

from netem.link import Link

SMALL_BYTES = 60
"""The smallest Ethernet frame, so that every shaper counts the same number of bytes."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The measured figures; None for a figure that could not be measured.

    rate_bit_s counts whole Ethernet frames, as tc does. reordered_packets: packets of a train that arrived after one
    sent later. too_fast: the train is over too soon to tell a rate, both at the rate asked for and as it arrived.
    """

    round_trip_ns: int | None
    rate_bit_s: int | None
    queue_packets: int | None
    reordered_packets: int | None
    too_fast: bool


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """The allowed difference of measured and asked: a fraction of the rate, ns of round trip, packets of queue.

    clock_ns: the error of a timestamp. Figures that this error blurs beyond the tolerance are not measured.
    """

    rate: float
    round_trip_ns: int
    queue_packets: int
    clock_ns: int

    @property
    def shortest_ns(self) -> float:
        """The shortest train whose rate the clock can tell: both halves of it."""
        return 2 * self.clock_ns / self.rate

    def counts_packets_of(self, transmission_ns: int) -> bool:
        """True if the clock can count packets with this transmission time."""
        return transmission_ns * self.queue_packets >= self.clock_ns


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000, queue_packets=0, clock_ns=0)
"""For the guest, whose clock stands still while a program works."""

REAL = Tolerance(rate=0.05, round_trip_ns=20_000_000, queue_packets=1, clock_ns=50_000)
"""For real clocks: a busy machine wakes a process late, and may pause one in the middle of a train.

With it queues are measured up to some 240 Mbit/s, and rates where a full queue lasts 2 ms.
"""


def expected_round_trip_ns(link: Link) -> int:
    """The round trip of the small datagram on an idle link: the delays and its own transmission time."""
    return link.round_trip_ns + link.transmission_ns(SMALL_BYTES)


def disagreements(link: Link, measured: Calibration, tolerance: Tolerance) -> list[tuple[str, object, object]]:
    """Returns (what, asked, measured) for each figure out of tolerance; jitter widens that of the round trip."""
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
