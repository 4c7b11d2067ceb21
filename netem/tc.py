"""A Link as tc(8) commands: argument lists, nothing is run here.

Toward the client three stages stand one behind the other:

    cutter (tbf)  ->  delay line (netem delay, jitter, loss)  ->  bottleneck (netem rate; its limit is the queue)

netem takes what TCP's segmentation offload built, up to 64 KiB, for one packet: it would count as one in the queue and
arrive as one lump. tbf cuts up what is larger than its burst (sch_tbf.c, tbf_segment); its own rate is out of reach.

One netem with both would count packets in flight in the delay line against its `limit` (tc-netem(8)): at 128 kB/s and
300 ms some 25 packets are always merely on their way. Split in two, the limit is the queue and nothing else, in every
kernel version: what a limit means once netem has a child changed in 2024, and the delay line's limit never binds here.

netem holds a packet for its whole transmission time, so `limit` includes the packet being sent.
"""

from dataclasses import dataclass

from netem.link import PACKET_BYTES, Link

_OUT_OF_REACH = 1_000_000
# Jitter reorders packets unless netem has a rate: then a packet never overtakes the one before (sch_netem.c, enqueue).
_KEEPS_ORDER = "100gbit"
_CUTTER = ("tbf", "rate", "100gbit", "burst", str(PACKET_BYTES), "limit", str(2**30))

Command = tuple[str, ...]


def _time(time_ns: int) -> str:
    # tc reads fractions of a microsecond, but not every version reads nanoseconds.
    whole, fraction = divmod(time_ns, 1000)
    return f"{whole}.{fraction:03}us" if fraction else f"{whole}us"


def _delay_line(delay_ns: int, jitter_ns: int = 0, loss: float = 0.0) -> Command:
    words: Command = ("netem", "limit", str(_OUT_OF_REACH))
    if delay_ns:
        words += ("delay", _time(delay_ns))
    if jitter_ns:
        words += (_time(jitter_ns), "rate", _KEEPS_ORDER)
    if loss:
        words += ("loss", f"{loss * 100:g}%")
    return words


def down(link: Link, device: str) -> list[Command]:
    """Commands for the middle place's device toward the client; empty if the link leaves packets alone."""
    stages: list[Command] = []
    if link.delay_ns or link.loss:
        stages.append(_delay_line(link.delay_ns, link.jitter_ns, link.loss))
    if link.rate_bit_s is not None:
        stages.append(("netem", "limit", str(link.queue_packets), "rate", f"{link.rate_bit_s}bit"))
    return _nested(stages, device)


def up(link: Link, device: str) -> list[Command]:
    """Commands for the middle place's device toward the front: delay only."""
    return _nested([_delay_line(link.delay_up_ns)] if link.delay_up_ns else [], device)


@dataclass(frozen=True, kw_only=True)
class Stages:
    """Handles (the major number) of a direction's qdiscs, None where the link does without."""

    delay_line: int | None
    bottleneck: int | None


def down_stages(link: Link) -> Stages:
    """The handles that `down` gives."""
    delay_line = 2 if link.delay_ns or link.loss else None
    bottleneck = None if link.rate_bit_s is None else 3 if delay_line else 2
    return Stages(delay_line=delay_line, bottleneck=bottleneck)


def up_stages(link: Link) -> Stages:
    """The handles that `up` gives."""
    return Stages(delay_line=2 if link.delay_up_ns else None, bottleneck=None)


def _nested(stages: list[Command], device: str) -> list[Command]:
    commands: list[Command] = []
    for depth, stage in enumerate([_CUTTER, *stages] if stages else [], start=1):
        parent = ("root",) if depth == 1 else ("parent", f"{depth - 1}:")
        commands.append(("tc", "qdisc", "add", "dev", device, *parent, "handle", f"{depth}:", *stage))
    return commands


def queue_from_bytes(size_bytes: int) -> int:
    """Full-size packets that fit in so many bytes: netem counts packets, not bytes. 0 if not one fits."""
    return size_bytes // PACKET_BYTES


def counters(device: str) -> Command:
    """The command that prints a device's qdisc counters as JSON."""
    return ("tc", "-s", "-j", "qdisc", "show", "dev", device)
