"""A Link as tc(8) commands: argument lists, nothing is run here.

Packets toward the client pass three stages:

    cutter (tbf)  ->  delay line (netem delay, jitter, loss)  ->  bottleneck (netem rate; its limit is the queue)

netem takes a packet built by TCP's segmentation offload, up to 64 KiB, for a single one: it would count as one in the
queue and arrive as one lump. tbf segments packets larger than its burst (sch_tbf.c, tbf_segment); its rate never binds.

A single netem with both would count the packets in flight in the delay line against its `limit` (tc-netem(8)): at
128 kB/s and 300 ms some 25 packets are always in flight. Split in two, the limit is the queue and nothing else, in
every kernel version: the meaning of a limit once netem has a child changed in 2024, and the delay line's never binds.

netem holds a packet for its whole transmission time, so `limit` includes the packet being sent. A rate change does not
reach packets that already wait; so a Link with rate steps is made differently (netem/stepped.py).
"""

from dataclasses import dataclass

from netem.link import PACKET_BYTES, Link

OUT_OF_REACH = 1_000_000
"""A limit in packets that never binds."""
# Jitter reorders packets unless netem has a rate: then no packet overtakes the one before (sch_netem.c, enqueue).
_KEEPS_ORDER = "100gbit"
_CUTTER = ("tbf", "rate", "100gbit", "burst", str(PACKET_BYTES), "limit", str(2**30))

Command = tuple[str, ...]


def _time(time_ns: int) -> str:
    # Every version of tc reads fractions of a microsecond; not every one reads nanoseconds.
    whole, fraction = divmod(time_ns, 1000)
    return f"{whole}.{fraction:03}us" if fraction else f"{whole}us"


def _delay_line(delay_ns: int, jitter_ns: int = 0, loss: float = 0.0) -> Command:
    words: Command = ("netem", "limit", str(OUT_OF_REACH))
    if delay_ns:
        words += ("delay", _time(delay_ns))
    if jitter_ns:
        words += (_time(jitter_ns), "rate", _KEEPS_ORDER)
    if loss:
        words += ("loss", f"{loss * 100:g}%")
    return words


def delay_line(link: Link) -> Command:
    """The stage before the bottleneck, toward the client."""
    return _delay_line(link.delay_ns, link.jitter_ns, link.loss)


def down(link: Link, device: str) -> list[Command]:
    """Commands for the middle place's device toward the client; none if the link does not change packets."""
    stages: list[Command] = []
    if link.delay_ns or link.loss:
        stages.append(delay_line(link))
    if link.rate_bit_s is not None:
        stages.append(("netem", "limit", str(link.queue_packets), "rate", f"{link.rate_bit_s}bit"))
    return nested(stages, device)


def up(link: Link, device: str) -> list[Command]:
    """Commands for the middle place's device toward the front: delay only."""
    return nested([_delay_line(link.delay_up_ns)] if link.delay_up_ns else [], device)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A qdisc: its device, and its handle (the major number)."""

    device: str
    handle: int


@dataclass(frozen=True, kw_only=True)
class Stages:
    """A direction's stages. bottleneck: one qdisc or, with rate steps, two that share the work; the first drops.

    delay_line is None, and bottleneck empty, if the link has none.
    """

    delay_line: Stage | None = None
    bottleneck: tuple[Stage, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that have the stages, each once."""
        stages = [*([self.delay_line] if self.delay_line else []), *self.bottleneck]
        return tuple(dict.fromkeys(stage.device for stage in stages))


def down_stages(link: Link, device: str) -> Stages:
    """The stages that `down` makes."""
    delayed = 1 if link.delay_ns or link.loss else 0
    return Stages(
        delay_line=Stage(device=device, handle=2) if delayed else None,
        bottleneck=() if link.rate_bit_s is None else (Stage(device=device, handle=2 + delayed),),
    )


def up_stages(link: Link, device: str) -> Stages:
    """The stages that `up` makes."""
    return Stages(delay_line=Stage(device=device, handle=2) if link.delay_up_ns else None)


def nested(stages: list[Command], device: str) -> list[Command]:
    """Commands that nest the stages one inside the other, in a cutter; none if there are no stages."""
    commands: list[Command] = []
    for depth, stage in enumerate([_CUTTER, *stages] if stages else [], start=1):
        parent = ("root",) if depth == 1 else ("parent", f"{depth - 1}:")
        commands.append(("tc", "qdisc", "add", "dev", device, *parent, "handle", f"{depth}:", *stage))
    return commands


def queue_from_bytes(size_bytes: int) -> int:
    """The number of full-size packets that fit into that many bytes, because netem counts packets; 0 if none fits."""
    return size_bytes // PACKET_BYTES


COUNTERS: Command = ("tc", "-s", "-j", "qdisc", "show")
"""The command that prints the counters of every device's qdiscs as JSON; `dev` in it names the device."""
