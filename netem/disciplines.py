"""The options of tc(8) for the bottleneck's queueing discipline (QDISC), and its marks. Runs nothing.

The bottleneck's queue is the child of a gate, which sets the rate (netem/rate_limiter.py):

    gate (tbf) with a child       fifo, fq_codel, fq, pie, dualpi2: the child has the limit QUEUE
    gate and queue in one qdisc   cake, which has a rate of its own; QUEUE is its limit of memory

Every discipline has the parameters that it has by default, except for its limit and for ECN. So the delay that it aims
at is the kernel's (fq_codel and cake 5 ms, pie and dualpi2 15 ms).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from priolab.common.packets import PACKET_BYTES
from priolab.netem.link import Link, Qdisc

CAKE_PACKET_BYTES = 2304
"""The memory that the kernel counts for a full-size packet that it received through a veth pair, for cake's limit."""

_MARKS = ("ecn_mark", "ecn-mark", "ce_mark")
_IGNORED = "raw"  # cake then counts a packet's bytes as the other qdiscs do


def queue(link: Link) -> Sequence[str] | None:
    """Returns the options of the queue inside the gate; None if the gate is the queue as well.

    The limit does not include the packet being sent, which is behind the gate.
    """
    limit = ("limit", str(link.queue_packets - 1))
    match link.qdisc:
        case Qdisc.FIFO:
            return ("pfifo", *limit)
        case Qdisc.FQ_CODEL | Qdisc.PIE:
            return (link.qdisc, *limit, *_ecn(link))
        case Qdisc.FQ:
            return (link.qdisc, *limit, "flow_limit", str(link.queue_packets - 1))
        case Qdisc.DUALPI2:
            return (link.qdisc, *limit)
        case Qdisc.CAKE:
            return None


def _ecn(link: Link) -> Sequence[str]:
    if link.ecn:
        return ("ecn",)
    return ("noecn",) if link.qdisc is Qdisc.FQ_CODEL else ()


def gate(link: Link, rate_bit_s: int) -> Sequence[str]:
    """Returns the options of the gate, which releases a packet when its transmission begins."""
    if link.qdisc is Qdisc.CAKE:
        memory_bytes = (link.queue_packets - 1) * CAKE_PACKET_BYTES
        return ("cake", "bandwidth", f"{rate_bit_s}bit", _IGNORED, "memlimit", str(memory_bytes))
    # tbf passes its limit on to the fifo inside it, which reads the limit in its own unit (sch_tbf.c, fifo_set_limit).
    return ("tbf", "rate", f"{rate_bit_s}bit", "burst", str(PACKET_BYTES), "limit", str(link.queue_packets - 1))


def gate_rate_bit_s(found: Mapping[str, Any]) -> int:
    """Returns the rate of a gate in tc's JSON, a multiple of 8 bit/s; 0 if it has none."""
    options = found.get("options", {})
    rate = options.get("rate", options.get("bandwidth", 0))
    return 8 * rate if isinstance(rate, int) else 0


def changes(
    link: Link, gate_found: Mapping[str, Any], queue_found: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Yields (name, configured value, observed value) for each difference between the Link and tc's JSON of its qdiscs.

    gate_found, queue_found: the objects of the gate and of the queue inside the gate; empty if there is none.
    """
    asked = "cake" if link.qdisc is Qdisc.CAKE else "tbf"
    if gate_found.get("kind") != asked:
        yield "qdisc that sets the rate", asked, gate_found.get("kind")
    if link.qdisc is Qdisc.CAKE:
        memory_bytes = (link.queue_packets - 1) * CAKE_PACKET_BYTES
        found = gate_found.get("options", {}).get("memlimit")
        if found != memory_bytes:
            yield "memory of cake's queue in bytes", memory_bytes, found
        return
    kind, *_ = queue(link) or ("",)
    if queue_found.get("kind") != kind:
        yield "qdisc of the queue", kind, queue_found.get("kind")
    options = queue_found.get("options", {})
    limits = [options.get("limit")] + ([options.get("flow_limit")] if link.qdisc is Qdisc.FQ else [])
    for limit in limits:
        if _packets(limit) != link.queue_packets - 1:
            yield "queue in packets", link.queue_packets - 1, limit
    if link.qdisc in (Qdisc.FQ_CODEL, Qdisc.PIE) and bool(options.get("ecn")) != link.ecn:
        yield "ECN of the queue", link.ecn, bool(options.get("ecn"))


def _packets(limit: object) -> int | None:
    """Returns a limit as a number: tc writes some as 24, and some as "24p"."""
    text = str(limit).removesuffix("p")
    return int(text) if text.isdigit() else None


def ce_marks(counters: Mapping[str, Any]) -> int:
    """Returns how many packets the qdiscs toward the client have marked as having met congestion (CE).

    counters: the result of priolab.netem.counters.read for the shaper netem.
    """
    return sum(_marks_in(qdisc) for qdisc in counters.get("down", ()))


def _marks_in(found: Any) -> int:
    if isinstance(found, dict):
        return sum(value if key in _MARKS else _marks_in(value) for key, value in found.items())
    return sum(map(_marks_in, found)) if isinstance(found, list) else 0
