"""The tc(8) commands that make a link. Does not run them.

Packets toward the client pass three qdiscs:

    cutter (tbf)  ->  delay line (netem delay, jitter, loss)  ->  bottleneck (netem rate; its limit is the queue)

The cutter is needed because netem handles a packet of TCP's segmentation offload, up to 64 KiB, as a single packet: it
would count once in the queue and arrive all at once. tbf segments packets larger than its burst (sch_tbf.c,
tbf_segment). The cutter's rate is too high to matter.

Delay line and bottleneck are two netems. A single netem with delay and rate would count the packets in the delay line
against its `limit` (tc-netem(8)). At 128 kB/s and 300 ms the delay line holds some 25 packets. With two netems
the bottleneck's limit is the queue and nothing else. This is true of every kernel version: in 2024 the meaning of
`limit` changed only for a netem with a child. Here the only netem with a child is the delay line, whose limit is never
reached.

netem holds a packet for its whole transmission time, so `limit` includes the packet being sent. The guest's netem can
limit the bottleneck in bytes (testbed/guest/kernel_patches/queue_bytes.py). A rate change does not
affect packets that already wait, so a link with rate steps is made differently (netem/rate_limiter.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from priolab.common.packets import PACKET_BYTES
from priolab.netem.link import Link

OUT_OF_REACH = 1_000_000
"""A limit in packets that is never reached."""
_IN_BYTES = 2**31
"""The bit of a netem's limit with which the rest counts bytes."""
# Jitter reorders packets unless netem has a rate; with a rate no packet overtakes another (sch_netem.c, netem_enqueue).
_KEEPS_ORDER = "100gbit"
_CUTTER = ("tbf", "rate", "100gbit", "burst", str(PACKET_BYTES), "limit", str(2**30))

Command = tuple[str, ...]


def _time(time_ns: int) -> str:
    # Every version of tc reads fractions of a microsecond; not every version reads nanoseconds.
    whole, fraction = divmod(time_ns, 1000)
    return f"{whole}.{fraction:03}us" if fraction else f"{whole}us"


def netem_limit(queue_packets: int, queue_bytes: int | None) -> int:
    """Returns the limit of a netem that is a bottleneck. queue_bytes: None for a queue that is limited in packets."""
    return queue_packets if queue_bytes is None else _IN_BYTES | queue_bytes


def bottleneck(link: Link) -> Command:
    """Returns the options of the bottleneck toward the client, if there is one."""
    limit = netem_limit(link.queue_packets, link.queue_bytes)
    return "netem", "limit", str(limit), "rate", f"{link.rate_bit_s}bit"


def _percent(fraction: float) -> str:
    return f"{fraction * 100:g}%"


def delay_line(link: Link) -> Command:
    """Returns the options of the delay line toward the client."""
    words: Command = ("netem", "limit", str(OUT_OF_REACH))
    if link.delay_ns:
        words += ("delay", _time(link.delay_ns))
    if link.jitter_ns:
        words += (_time(link.jitter_ns), "rate", _KEEPS_ORDER)
    if link.burst_odds is not None:
        words += ("loss", "gemodel", *map(_percent, link.burst_odds))
    elif link.loss:
        words += ("loss", _percent(link.loss))
    for name, share in (("duplicate", link.duplicate), ("corrupt", link.corrupt), ("reorder", link.reorder)):
        if share:
            words += (name, _percent(share))
    return words


def later_delay_line(link: Link) -> Command:
    """Returns the options that make a delay line one of another link; packets in it stay before those that follow.

    netem keeps its rate and shares that a command does not name.
    """
    words = delay_line(link)
    if not link.jitter_ns:
        words += ("rate", _KEEPS_ORDER)
    for name, share in (("corrupt", link.corrupt), ("reorder", link.reorder)):
        words += () if share else (name, "0%")
    return words


def down(link: Link, device: str) -> list[Command]:
    """Returns the commands for the link's device toward the client; none if the link changes no packets there."""
    stages: list[Command] = []
    if link.delayed:
        stages.append(delay_line(link))
    if link.rate_bit_s is not None:
        stages.append(bottleneck(link))
    return nested(stages, device)


def up(link: Link, device: str) -> list[Command]:
    """Returns the commands for the link's device toward the front, which delays packets and limits their rate."""
    return down(link.reverse, device)


class Stage(NamedTuple):
    """A qdisc. handle: the major number of its handle."""

    device: str
    handle: int


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The qdiscs of one direction. delay_line: None if the direction has no delay line.

    bottleneck: one qdisc; with rate steps two, of which the first drops packets; empty without a bottleneck.
    """

    delay_line: Stage | None = None
    bottleneck: tuple[Stage, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that have these qdiscs, each once."""
        stages = [*([self.delay_line] if self.delay_line else []), *self.bottleneck]
        return tuple(dict.fromkeys(stage.device for stage in stages))


def down_stages(link: Link, device: str) -> Stages:
    """Returns the qdiscs of the link's device toward the client."""
    delayed = 1 if link.delayed else 0
    return Stages(
        delay_line=Stage(device=device, handle=2) if delayed else None,
        bottleneck=() if link.rate_bit_s is None else (Stage(device=device, handle=2 + delayed),),
    )


def up_stages(link: Link, device: str) -> Stages:
    """Returns the qdiscs of the link's device toward the front."""
    return down_stages(link.reverse, device)


def nested(stages: list[Command], device: str) -> list[Command]:
    """Returns the commands that make a device's qdiscs: a cutter, and inside it the qdiscs `stages`.

    stages: the options of each qdisc. Each qdisc is inside the one before it. Without stages there are no commands.
    """
    commands: list[Command] = []
    for depth, stage in enumerate([_CUTTER, *stages] if stages else [], start=1):
        parent = ("root",) if depth == 1 else ("parent", f"{depth - 1}:")
        commands.append(("tc", "qdisc", "add", "dev", device, *parent, "handle", f"{depth}:", *stage))
    return commands


def changed(stage: Stage, options: Command) -> Command:
    """Returns the command that gives a qdisc inside another one other options."""
    where = ("parent", f"{stage.handle - 1}:", "handle", f"{stage.handle}:")
    return ("tc", "qdisc", "change", "dev", stage.device, *where, *options)


def ways(commands: Iterable[Command]) -> str:
    """Returns, for the input of `ip -6 -batch`, the rules and routes among the commands that make a link.

    ip(8) without -6 makes them for IPv4 alone.
    """
    led = (words for program, *words in commands if program == "ip" and words[0] in ("rule", "route"))
    return "".join(f"{' '.join(words)}\n" for words in led)


COUNTERS: Command = ("tc", "-s", "-j", "qdisc", "show")
"""The command that prints the counters of all qdiscs as JSON. The key `dev` holds the qdisc's device."""
