"""The Link: a description of the network between client and front.

Rules:
1. A Link that exists is valid.
2. "Down" is toward the client and carries the pages; "up" carries requests and acknowledgements.
3. `queue_packets` and `queue_bytes` limit the bottleneck queue alone. Packets in the delay line do not count; the
   packet being sent does.
4. A rate step takes effect between packets: the packet being sent is finished at the old rate. All other packets, in
   the queue or later, are sent at the new rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Self

from priolab.common.packets import ACKNOWLEDGMENT_BYTES, PACKET_BYTES, SEGMENT_BYTES
from priolab.common.trace import Trace
from priolab.netem import units
from priolab.netem.link_ranges import RANGES, STEP_RATES, LinkError

_LATEST_STEP_NS = 3600 * 10**9
_MOST_STEPS = 16
_SHORTEST_TIMEOUT_NS = 2 * 10**8
"""The kernel's shortest retransmission time-out (TCP_RTO_MIN in include/net/tcp.h)."""
_LARGEST_BURST_PACKETS = 23
"""The packets of a probe that wait at the bottleneck at the same time: half of its first 64 KiB, as slow start sends
two packets for each that has left the queue."""


class Qdisc(StrEnum):
    """The queueing disciplines of the bottleneck: how it orders packets, and when it drops or marks them."""

    FIFO = "fifo"
    """A single queue, which drops a packet that finds it full."""
    FQ_CODEL = "fq_codel"
    FQ = "fq"
    CAKE = "cake"
    PIE = "pie"
    DUALPI2 = "dualpi2"

    @property
    def marks(self) -> bool:
        """True if the discipline marks packets of flows that use ECN."""
        return self in (Qdisc.FQ_CODEL, Qdisc.CAKE, Qdisc.PIE, Qdisc.DUALPI2)

    @property
    def counts(self) -> str:
        """The unit of the discipline's limit in the kernel; memory is not proportional to the packets' bytes."""
        return "memory, not bytes of packets" if self is Qdisc.CAKE else "packets"


@dataclass(frozen=True, kw_only=True)
class RateStep:
    """A change of the rate toward the client, at_ns after the measured load began."""

    at_ns: int
    rate_bit_s: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a step of RATE_STEPS, such as `1024kbit@2s`. Raises ValueError."""
        rate, _, at = text.partition("@")
        return cls(rate_bit_s=units.parse_rate_bit_s(rate), at_ns=units.parse_time_ns(at))

    def __str__(self) -> str:
        return f"{self.rate_bit_s}bit@{self.at_ns}ns"


def check_steps(steps: Sequence[RateStep]) -> None:
    """Checks the number, rates and times of rate steps. Raises LinkError."""
    times = [0, *(step.at_ns for step in steps)]
    if len(steps) > _MOST_STEPS:
        raise LinkError("RATE_STEPS", f"are at most {_MOST_STEPS} steps")
    for step in steps:
        STEP_RATES.check(step.rate_bit_s)
    if any(later <= earlier for earlier, later in pairwise(times)) or times[-1] > _LATEST_STEP_NS:
        raise LinkError("RATE_STEPS", "are times above 0s up to 3600s, each later than the one before")


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link. Raises LinkError, which names the knob, if a value is out of range.

    rate_bit_s: the rate toward the client in bits per second, None for unlimited. Whole Ethernet frames count, as with
    tc. rate_up_bit_s: the rate toward the front, None for unlimited. delay_ns, delay_up_ns: the one-way delays toward
    the client and toward the front.
    queue_packets: the number of full-size packets that the bottleneck holds, the packet being sent included. With
    rate_up_bit_s or trace_up the direction toward the front has a bottleneck, too, which holds as many packets.
    queue_bytes, queue_up_bytes: the bytes that the bottleneck toward the client and the one toward the front hold,
    whatever the packets' sizes, the packet being sent included; None if the queue is limited in packets, or without
    this bottleneck.
    loss: the fraction of packets lost toward the client.
    jitter_ns: the delay toward the client is longer or shorter by up to this time, evenly distributed. Packets stay in
    order.
    rate_steps: later changes of rate_bit_s, in order of time.
    loss_burst_packets: the mean number of packets that are lost one after the other, the mean loss being `loss`
    (Gilbert's model); None for losses that do not depend on each other.
    reorder: the fraction of packets toward the client that skip the delay, and so overtake all packets in it.
    qdisc: the queueing discipline of the bottleneck. ecn: True if it marks packets instead of dropping them, as far as
    their flow uses ECN.
    trace, trace_up: the packet opportunities toward the client and toward the front, replayed from the start of the
    measured load. Before that, the rate toward the client is rate_bit_s, the mean rate of `trace`.
    """

    rate_bit_s: int | None
    delay_ns: int
    delay_up_ns: int = 0
    queue_packets: int = 25
    queue_bytes: int | None = None
    queue_up_bytes: int | None = None
    loss: float = 0.0
    jitter_ns: int = 0
    rate_steps: tuple[RateStep, ...] = ()
    loss_burst_packets: float | None = None
    reorder: float = 0.0
    qdisc: Qdisc = Qdisc.FIFO
    ecn: bool = False
    trace: Trace | None = None
    trace_up: Trace | None = None
    rate_up_bit_s: int | None = None

    def __post_init__(self) -> None:
        for field, within in RANGES.items():
            within.check(getattr(self, field))
        if self.rate_up_bit_s is not None and self.trace_up is not None:
            raise LinkError("RATE_UP", "is unlimited with trace_up (TRACE_UP), which has the rate")
        self._check_queue()
        if not 0 <= self.jitter_ns <= self.delay_ns:
            raise LinkError("JITTER", "are 0ms to the delay")
        if self.loss_burst_packets is not None and not self.loss:
            raise RANGES["loss_burst_packets"].error
        if self.reorder and not self.delay_ns:
            raise RANGES["reorder"].error
        if self.qdisc is not Qdisc.FIFO and (self.rate_bit_s is None or self.queue_packets < 2):
            raise LinkError("QDISC", "is fifo if the rate is unlimited, or the queue shorter than two packets")
        if self.ecn and not self.qdisc.marks:
            raise LinkError("ECN", f"is off with qdisc {self.qdisc}, which marks no packets")
        if self.rate_steps:
            self._check_steps()
        if self.traced:
            self._check_fits_trace("TRACE" if self.trace is not None else "TRACE_UP")

    def _check_queue(self) -> None:
        if not self.counts_bytes:
            return
        if self.qdisc is not Qdisc.FIFO:
            counts = f"whose limit counts {self.qdisc.counts}"
            raise LinkError("QUEUE", f"a number of packets with QDISC={self.qdisc}, {counts}")
        if self.queue_packets != (self.queue_bytes or self.queue_up_bytes or 0) // PACKET_BYTES:
            raise LinkError("QUEUE", "as many packets as full-size ones have room in its bytes")

    def _check_fits_trace(self, knob: str) -> None:
        """Checks that nothing else than the trace changes the rate. knob: the trace's. Raises LinkError."""
        if self.rate_steps:
            raise LinkError(knob, "none with rate steps (RATE_STEPS)")
        if self.qdisc is not Qdisc.FIFO:
            raise LinkError(knob, f"none with QDISC={self.qdisc}; any trace with QDISC=fifo")

    def as_document(self) -> dict[str, Any]:
        """Returns the link for a JSON document, in the form in which run.json records it: steps and traces as texts."""
        texts = {
            "rate_steps": "+".join(map(str, self.rate_steps)) or None,
            "qdisc": self.qdisc.value,
            "trace": self.trace and self.trace.packed,
            "trace_up": self.trace_up and self.trace_up.packed,
        }
        return vars(self) | texts

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Reads the output of `as_document`. Raises ValueError, and TypeError if the document is no Link."""
        steps, traces = document.get("rate_steps"), {name: document.get(name) for name in ("trace", "trace_up")}
        values = {
            "rate_steps": tuple(map(RateStep.parse, steps.split("+"))) if steps else (),
            "qdisc": Qdisc(document.get("qdisc", Qdisc.FIFO)),
            **{name: text and Trace.unpack(text) for name, text in traces.items()},
        }
        return cls(**{**document, **values})

    def _check_steps(self) -> None:
        check_steps(self.rate_steps)
        if self.rate_bit_s is None:
            raise LinkError("RATE_STEPS", "with a limited rate only")
        if self.queue_packets < 2 and not self.counts_bytes:
            raise LinkError("RATE_STEPS", "with a queue of two or more packets only")

    @property
    def traced(self) -> bool:
        """True if the link replays a trace, in one direction or in both."""
        return self.trace is not None or self.trace_up is not None

    @property
    def counts_bytes(self) -> bool:
        """True if the bottleneck's queue is limited in bytes."""
        return self.queue_bytes is not None or self.queue_up_bytes is not None

    @property
    def most_queue_bytes(self) -> int:
        """The most bytes in the bottleneck toward the client."""
        return self.queue_bytes or self.queue_packets * PACKET_BYTES

    @property
    def most_acknowledgment_bytes(self) -> int:
        """The most bytes in the bottleneck toward the front, if it has only acknowledgments."""
        return self.queue_up_bytes or self.queue_packets * ACKNOWLEDGMENT_BYTES

    @property
    def shaped(self) -> bool:
        """True if the link has a limited rate, a delay, loss or a trace."""
        limits = self.rate_bit_s or self.rate_up_bit_s
        return bool(limits or self.delay_ns or self.delay_up_ns or self.loss or self.traced)

    @property
    def gated(self) -> bool:
        """True if the kernel's shaper needs a queue and a gate in front of it (netem/rate_limiter.py)."""
        return bool(self.rate_steps) or self.qdisc is not Qdisc.FIFO

    @property
    def burst_odds(self) -> tuple[float, float] | None:
        """The probabilities, before each packet, that a burst of losses begins and that it ends; None without bursts.

        During a burst every packet is lost. The mean length of a burst is 1/end, and the mean loss begin/(begin + end).
        """
        if self.loss_burst_packets is None:
            return None
        ends = 1 / self.loss_burst_packets
        return ends * self.loss / (1 - self.loss), ends

    @property
    def rates_bit_s(self) -> tuple[int, ...]:
        """The first rate and the rates of the steps, in order of time; empty if the rate is unlimited."""
        return () if self.rate_bit_s is None else (self.rate_bit_s, *(step.rate_bit_s for step in self.rate_steps))

    @property
    def round_trip_ns(self) -> int:
        """The delay in both directions together, without transmission times."""
        return self.delay_ns + self.delay_up_ns

    def longest_silence_ns(self, burst_bytes: int) -> int:
        """Returns the longest time between a request of bytes and the next arrival at the client.

        The link carries no other bytes than those of the front's answer, and loses none at random. Then this is the
        round trip with the answer's transmission. Where the bottleneck may drop packets it is three times as long, and
        longer by the kernel's shortest time-out: the kernel probes for a lost tail after two round trips and this
        time-out at most (tcp_schedule_loss_probe in net/ipv4/tcp_output.c). burst_bytes: the size of the answer, in
        full packets. 0 for a link with neither rate nor delay.
        """
        packets = -(-burst_bytes // SEGMENT_BYTES)
        answer_ns = self.round_trip_ns + self.jitter_ns + self.transmission_ns(packets * PACKET_BYTES)
        answer_ns += self.up_ns(PACKET_BYTES + packets * ACKNOWLEDGMENT_BYTES)
        drops = self.qdisc is not Qdisc.FIFO or self.queue_packets < _LARGEST_BURST_PACKETS
        if self.rate_bit_s is None or not drops:
            return answer_ns
        return 3 * answer_ns + _SHORTEST_TIMEOUT_NS

    def transmission_ns(self, size_bytes: int) -> int:
        """Returns the transmission time of a packet at the link's first rate. size_bytes includes all headers."""
        return 0 if self.rate_bit_s is None else size_bytes * 8 * 10**9 // self.rate_bit_s

    def up_ns(self, size_bytes: int) -> int:
        """Returns the transmission time of packets toward the front. size_bytes includes all headers."""
        return 0 if self.rate_up_bit_s is None else size_bytes * 8 * 10**9 // self.rate_up_bit_s
