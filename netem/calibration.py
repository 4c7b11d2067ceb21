"""The measured figures of a link, and their allowed differences from the configured figures. netem/link_probe.py
measures.

The figures are the round trip of a small datagram on an idle link, the rate, and the number of packets that the
bottleneck queue holds. The rate and the queue are measured with trains: full-size datagrams sent back to back. A queue
in bytes is measured with trains of smaller datagrams as well, and toward the front, too, if this direction has a rate.
A link may be too fast to be measured by a real clock. Then a figure is None rather than wrong. `too_fast` is True if
the rate is None for this reason.
"""

from dataclasses import asdict, dataclass
from typing import Any

from priolab.common.packets import PACKET_BYTES
from priolab.netem.link import Link, Qdisc

SMALL_BYTES = 60
"""The size of small datagrams: the smallest Ethernet frame, so that all shapers count the same number of bytes."""

_MOST_SMALL = 1000
"""The datagrams of a train that fills a queue of usual length with small ones; a longer queue takes larger ones."""
_LARGEST_SMALL_BYTES = PACKET_BYTES // 2
_SENT_IN_NS = 200_000
"""The shortest transmission time of a small datagram, so that a program on a real clock sends faster than the link."""
_ANSWERS_PART = 0.9
"""The largest part of the rate toward the client that answers to a train toward the front may need."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The measured figures; None for a figure that could not be measured.

    rate_bit_s: counts whole Ethernet frames, as tc does. queue_packets: full-size packets. queue_bytes: the bytes of
    small packets, as frames, in the same queue; measured if the queue is limited in bytes. queue_up_packets,
    queue_up_bytes: the same of the queue toward the front. reordered_packets: packets of a train that arrived after a
    packet that was sent later. too_fast: True if the rate is unknown because a train takes too little time, both by the
    configured rate and by the arrival times.
    """

    round_trip_ns: int | None
    rate_bit_s: int | None
    queue_packets: int | None
    reordered_packets: int | None
    too_fast: bool
    queue_bytes: int | None = None
    queue_up_packets: int | None = None
    queue_up_bytes: int | None = None

    def figures(self, link: Link) -> dict[str, Any]:
        """Returns the figures by name; of queues in bytes only those that the link has."""
        absent = {"queue_bytes", "queue_up_packets", "queue_up_bytes"} - {each.figure for each in fillings(link)}
        return {name: value for name, value in asdict(self).items() if name not in absent}


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
        """Returns True if the clock can tell packets apart. transmission_ns: the time of a full-size packet."""
        return transmission_ns * self.queue_packets >= self.clock_ns


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000, queue_packets=0, clock_ns=0)
"""The tolerance in a guest, whose clock stands still while a program computes."""

REAL = Tolerance(rate=0.05, round_trip_ns=20_000_000, queue_packets=1, clock_ns=50_000)
"""The tolerance on real clocks: a busy machine wakes processes late, and may pause a process during a train.

With this tolerance the queue is measured on links up to some 240 Mbit/s. The rate is measured if the link needs 2 ms or
more for a train.
"""


@dataclass(frozen=True, kw_only=True)
class Filling:
    """A train that fills a queue in bytes with packets of one size.

    figure: the figure of a Calibration that it measures. most_bytes: the queue. rate_bit_s: of this direction; None if
    it has none before the measured load. packet_bytes: the packets' size, as frames. is_up: True toward the front.
    """

    figure: str
    most_bytes: int
    rate_bit_s: int | None
    packet_bytes: int
    is_up: bool = False

    @property
    def packets(self) -> int:
        """The packets that the queue should hold."""
        return self.most_bytes // self.packet_bytes

    def measured(self, packets: int) -> int:
        """Returns the figure, if the queue held so many packets."""
        return packets * self.packet_bytes if self.figure.endswith("bytes") else packets


def fillings(link: Link) -> list[Filling]:
    """Returns the trains that fill queues in bytes, beside the train of full-size packets toward the client.

    Each packet toward the front has an answer. So the small ones are so large that the answers have room in the rate.
    """
    found = []
    if link.queue_bytes is not None:
        size = _small_bytes(link.queue_bytes, link.rate_bit_s)
        found.append(
            Filling(figure="queue_bytes", most_bytes=link.queue_bytes, rate_bit_s=link.rate_bit_s, packet_bytes=size)
        )
    if link.queue_up_bytes is not None:
        size = _small_bytes(link.queue_up_bytes, link.rate_up_bit_s, _answered_bytes(link))
        found += [
            Filling(
                figure=figure,
                most_bytes=link.queue_up_bytes,
                rate_bit_s=link.rate_up_bit_s,
                packet_bytes=packet_bytes,
                is_up=True,
            )
            for figure, packet_bytes in (("queue_up_packets", PACKET_BYTES), ("queue_up_bytes", size))
        ]
    return found


def _small_bytes(most_bytes: int, rate_bit_s: int | None, least_bytes: int = SMALL_BYTES) -> int:
    sent_bytes = _SENT_IN_NS * (rate_bit_s or 0) // (8 * 10**9)
    return min(_LARGEST_SMALL_BYTES, max(least_bytes, sent_bytes, -(-most_bytes // _MOST_SMALL)))


def _answered_bytes(link: Link) -> int:
    """Returns the smallest size of packets toward the front for whose answers the rate toward the client suffices."""
    if link.rate_bit_s is None:
        return SMALL_BYTES
    return max(SMALL_BYTES, round(SMALL_BYTES * (link.rate_up_bit_s or 0) / link.rate_bit_s / _ANSWERS_PART))


def unmeasured(link: Link) -> dict[str, str]:
    """Returns the figures that no train can show on this link, each with the reason."""
    reasons: dict[str, str] = {}
    queues = [*(["queue_packets"] if link.rate_bit_s is not None else []), *(each.figure for each in fillings(link))]
    up = [each.figure for each in fillings(link) if each.is_up]
    for knob, value in (("JITTER", link.jitter_ns), ("LOSS", link.loss), ("REORDER", link.reorder)):
        if value:
            reasons |= dict.fromkeys(
                queues, f"with {knob} a missing or late datagram does not show that the queue is full"
            )
    if link.rate_bit_s is not None and link.qdisc is not Qdisc.FIFO:
        reasons["queue_packets"] = f"{link.qdisc} drops packets before its queue is full"
    if link.trace_up is not None:
        reasons |= dict.fromkeys(up, "TRACE_UP limits no rate before the measured load")
    elif _answered_bytes(link) > _LARGEST_SMALL_BYTES:
        reasons |= dict.fromkeys(up, "the rate toward the client is too low for an answer to each datagram")
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
    for filling in fillings(link):
        held = getattr(measured, filling.figure)
        asked = filling.measured(filling.packets)
        most = filling.measured(1) * tolerance.queue_packets * PACKET_BYTES / filling.packet_bytes
        if held is not None and abs(held - asked) > most:
            found.append((filling.figure, asked, held))
    if measured.reordered_packets and not link.reorder:
        found.append(("reordered_packets", 0, measured.reordered_packets))
    return found
