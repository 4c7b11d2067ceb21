"""The measured figures of a link, and their allowed differences from the configured figures. netem/ends.py measures.

There are three figures: the round trip of a small datagram on an idle link, the rate, and the number of packets that
the bottleneck queue holds. The rate and the queue are measured with trains: full-size datagrams sent back to back. A
link may be too fast to be measured by a real clock. Then a figure is None rather than wrong. `too_fast` is True if the
rate is None for this reason.
"""

from dataclasses import dataclass

from priolab.netem.link import Link, Qdisc

SMALL_BYTES = 60
"""The size of small datagrams: the smallest Ethernet frame, so that all shapers count the same number of bytes."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The measured figures; None for a figure that could not be measured.

    rate_bit_s: counts whole Ethernet frames, as tc does. reordered_packets: packets of a train that arrived after a
    packet that was sent later. too_fast: True if the rate is unknown because a train takes too little time, both by the
    configured rate and by the arrival times.
    """

    round_trip_ns: int | None
    rate_bit_s: int | None
    queue_packets: int | None
    reordered_packets: int | None
    too_fast: bool


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """The allowed differences between the measured and the configured figures of a link.

    rate: a fraction of the rate. clock_ns: the error of a timestamp. A figure is not measured if this error alone could
    exceed the tolerance.
    """

    rate: float
    round_trip_ns: int
    queue_packets: int
    clock_ns: int

    @property
    def shortest_ns(self) -> float:
        """The duration of the shortest train whose rate the clock can measure; the rate is taken from half a train."""
        return 2 * self.clock_ns / self.rate

    def counts_packets_of(self, transmission_ns: int) -> bool:
        """Returns True if the clock can tell packets of this transmission time apart."""
        return transmission_ns * self.queue_packets >= self.clock_ns


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000, queue_packets=0, clock_ns=0)
"""The tolerance in a guest, whose clock stands still while a program computes."""

REAL = Tolerance(rate=0.05, round_trip_ns=20_000_000, queue_packets=1, clock_ns=50_000)
"""The tolerance on real clocks: a busy machine wakes processes late, and may pause a process during a train.

With this tolerance the queue is measured on links up to some 240 Mbit/s. The rate is measured if the link needs 2 ms or
more for a train.
"""


def unmeasured(link: Link) -> dict[str, str]:
    """Returns the figures that no train can show on this link, each with the reason."""
    reasons = {}
    if link.rate_bit_s is not None:
        for knob, value in (("JITTER", link.jitter_ns), ("LOSS", link.loss), ("REORDER", link.reorder)):
            if value:
                reasons["queue_packets"] = (
                    f"with {knob} a missing or late datagram does not show that the queue is full"
                )
        if link.qdisc is not Qdisc.FIFO:
            reasons["queue_packets"] = f"{link.qdisc} drops packets before its queue is full"
    if link.reorder:
        reasons["reordered_packets"] = "REORDER asks for packets that overtake others"
    return reasons


def expected_round_trip_ns(link: Link) -> int:
    """Returns the round trip of a small datagram on an idle link: the delays and the transmission times."""
    return link.round_trip_ns + link.transmission_ns(SMALL_BYTES) + link.up_ns(SMALL_BYTES)


def disagreements(link: Link, measured: Calibration, tolerance: Tolerance) -> list[tuple[str, object, object]]:
    """Returns (name, configured value, measured value) for each figure of the link that is out of tolerance.

    Jitter is added to the tolerance of the round trip.
    """
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
    if measured.reordered_packets and not link.reorder:
        found.append(("reordered_packets", 0, measured.reordered_packets))
    return found
