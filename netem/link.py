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
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Self

from priolab.common.packets import ACKNOWLEDGMENT_BYTES, PACKET_BYTES, SEGMENT_BYTES
from priolab.common.trace import Trace
from priolab.netem import units
from priolab.netem.link_ranges import RANGES, STEP_RATES, UP, LinkError

_NEARLY = 1 - 1e-9  # for numbers that are equal but for rounding
_LATEST_STEP_NS = 3600 * 10**9
_MOST_STEPS = 16
_SHORTEST_TIMEOUT_NS = 2 * 10**8
"""The kernel's shortest retransmission time-out (TCP_RTO_MIN in include/net/tcp.h)."""
_LARGEST_BURST_PACKETS = 23
"""The packets of a probe that wait at the bottleneck at the same time: half of its first 64 KiB, as slow start sends
two packets for each that has left the queue."""


class Part(StrEnum):
    """The parts of a direction that a link may have although its present values do not need them (`prepared`)."""

    DELAY_LINE = "delay line"
    LOOP = "loop"
    """A delay line that packets can leave past the bottleneck's queue (netem/reordering.py)."""
    GATE = "gate"
    """A queue and a gate, whose rate can change (netem/rate_limiter.py)."""
    BYTES = "bytes"
    """A queue that can be limited in bytes."""


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
    duplicate, corrupt: the fractions of packets that arrive twice, and with a wrong bit.
    queue_up_packets: as queue_packets, for the bottleneck toward the front; None if it holds as many. The fields whose
    names end in _up otherwise are those toward the front, each as the field of this name toward the client.
    mtu_bytes: the largest IP packet of both directions; None for 1500. mtu_silent: True if senders of larger ones are
    not told.
    coalesce_ns: the host's network card collects packets that arrive for this time, and passes on those of a flow as
    one; 0 if each is passed on at once.
    prepared, prepared_up: the parts that the link has from its beginning for later values (netem/later_links.py).
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
    queue_up_packets: int | None = None
    loss_up: float = 0.0
    loss_burst_up_packets: float | None = None
    jitter_up_ns: int = 0
    reorder_up: float = 0.0
    duplicate: float = 0.0
    duplicate_up: float = 0.0
    corrupt: float = 0.0
    corrupt_up: float = 0.0
    mtu_bytes: int | None = None
    mtu_silent: bool = False
    coalesce_ns: int = 0
    prepared: frozenset[Part] = frozenset()
    prepared_up: frozenset[Part] = frozenset()

    def __post_init__(self) -> None:
        for field, within in RANGES.items():
            within.check(getattr(self, field))
        if self.rate_up_bit_s is not None and self.trace_up is not None:
            raise LinkError("RATE_UP", "is unlimited with trace_up (TRACE_UP), which has the rate")
        self._check_queue()
        self._check_delay_line()
        self._check_delay_line(UP, "_UP")
        if self.qdisc is not Qdisc.FIFO and (self.rate_bit_s is None or self.queue_packets < 2):
            raise LinkError("QDISC", "is fifo if the rate is unlimited, or the queue shorter than two packets")
        if self.ecn and not self.qdisc.marks:
            raise LinkError("ECN", f"is off with qdisc {self.qdisc}, which marks no packets")
        if self.rate_steps:
            self._check_steps()
        if Part.GATE in self.prepared | self.prepared_up and self.queue_packets < 2 and not self.counts_bytes:
            raise LinkError("QUEUE", "two or more packets with a rate that changes")
        if self.traced:
            self._check_fits_trace("TRACE" if self.trace is not None else "TRACE_UP")

    def _check_delay_line(self, names: Mapping[str, str] = MappingProxyType({}), end: str = "") -> None:
        """Checks one direction. names: its fields, where they differ. end: that of its knobs' names."""

        def of(name: str) -> Any:
            return getattr(self, names.get(name, name))

        if not 0 <= of("jitter_ns") <= of("delay_ns"):
            raise LinkError(f"JITTER{end}", "are 0ms to the delay")
        burst, loss = of("loss_burst_packets"), of("loss")
        if burst is not None and not loss:
            raise RANGES[names.get("loss_burst_packets", "loss_burst_packets")].error
        if burst is not None and burst * (1 - loss) < loss * _NEARLY:
            raise LinkError(f"LOSS_BURST{end}", "are so many packets that others come between two bursts")
        if of("reorder") and not of("delay_ns"):
            raise RANGES[names.get("reorder", "reorder")].error

    def _check_queue(self) -> None:
        if not self.counts_bytes:
            return
        if self.qdisc is not Qdisc.FIFO:
            counts = f"whose limit counts {self.qdisc.counts}"
            raise LinkError("QUEUE", f"a number of packets with QDISC={self.qdisc}, {counts}")
        size_bytes = self.queue_bytes or (self.queue_up_bytes if self.queue_up_packets is None else None)
        if size_bytes is not None and self.queue_packets != size_bytes // PACKET_BYTES:
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
            "prepared": sorted(self.prepared),
            "prepared_up": sorted(self.prepared_up),
        }
        return {name: value for name, value in (vars(self) | texts).items() if name not in self.left_out}

    @property
    def left_out(self) -> Sequence[str]:
        """The fields that a run's link never sets, as far as they have their defaults."""
        added = [each.name for each in fields(self)]
        return [name for name in added[added.index("queue_up_packets") :] if not getattr(self, name)]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Reads the output of `as_document`. Raises ValueError, and TypeError if the document is no Link."""
        steps, traces = document.get("rate_steps"), {name: document.get(name) for name in ("trace", "trace_up")}
        values = {
            "rate_steps": tuple(map(RateStep.parse, steps.split("+"))) if steps else (),
            "qdisc": Qdisc(document.get("qdisc", Qdisc.FIFO)),
            **{name: text and Trace.unpack(text) for name, text in traces.items()},
            **{name: frozenset(map(Part, document.get(name, ()))) for name in ("prepared", "prepared_up")},
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
        return any(bool(way.rate_bit_s) or way.delayed or way.gated for way in (self, self.reverse)) or self.traced

    @property
    def reverse(self) -> "Link":
        """The direction toward the front as a link's direction toward the client, with nothing in the other one."""
        fields_up = {name: getattr(self, field) for name, field in UP.items()}
        packets = self.queue_packets if self.queue_up_packets is None else self.queue_up_packets
        if self.queue_up_bytes is not None:
            packets = self.queue_up_bytes // PACKET_BYTES
        return Link(**fields_up | {"queue_packets": packets})

    @property
    def delayed(self) -> bool:
        """True if the direction toward the client has a delay line, which loses packets and changes them, too."""
        return bool(self.delay_ns or self.loss or self.corrupt or self.looped or Part.DELAY_LINE in self.prepared)

    @property
    def looped(self) -> bool:
        """True if the kernel's shaper has the delay line on a loop of its own (netem/reordering.py)."""
        return bool(self.reorder or self.duplicate or Part.LOOP in self.prepared)

    @property
    def gated(self) -> bool:
        """True if the kernel's shaper needs a queue and a gate in front of it (netem/rate_limiter.py)."""
        return bool(self.rate_steps) or self.qdisc is not Qdisc.FIFO or Part.GATE in self.prepared

    @property
    def burst_odds(self) -> tuple[float, float] | None:
        """The probabilities, before each packet, that a burst of losses begins and that it ends; None without bursts.

        During a burst every packet is lost. The mean length of a burst is 1/end, and the mean loss begin/(begin + end).
        """
        if self.loss_burst_packets is None:
            return None
        ends = 1 / self.loss_burst_packets
        return min(1.0, ends * self.loss / (1 - self.loss)), ends

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
