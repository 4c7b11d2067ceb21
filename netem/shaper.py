"""The commands and sysctls that make a link: with the kernel's netem or, if the kernel has none, with the ferry.

This module runs nothing. Both shapers work in a place that already routes between a device toward the client and a
device toward the front. Both make the same link: packets pass the same delay line and the same bottleneck queue, and
their bytes are counted in the same way.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from priolab.netem import rate_limiter, reordering, tc
from priolab.netem.ferry import loops as ferry_loops
from priolab.netem.link import Link, Part, Qdisc
from priolab.netem.loop import Loop
from priolab.netem.shaper_kind import Shaper
from priolab.netem.tc import Command

NO_TRACES = "the kernel's netem cannot replay a trace"
NO_BYTES = "the kernel's netem limits its queue in packets, not in bytes"
NO_BYTES_IN_STEPS = "with RATE_STEPS the kernel's link limits its queue in packets, not in bytes"


def commands(shaper: Shaper, link: Link, to_client: str, to_front: str) -> list[Command]:
    """Returns the commands that make the link in its place.

    With the ferry these commands only route the packets to the ferry.

    to_client, to_front: the place's devices toward the client and toward the front.
    """
    if shaper is Shaper.FERRY:
        return ferry_loops.commands(link, to_client, to_front)
    return _one_way(link, to_client, to_front, _DOWN) + _one_way(link.reverse, to_front, to_client, _UP)


class _Loops(NamedTuple):
    """The loops of a direction: for a delay line that packets skip, and for a rate that changes."""

    delay: Loop
    rate: Loop


_DOWN = _Loops(reordering.LOOP, rate_limiter.LOOP)
_UP = _Loops(reordering.LOOP_UP, rate_limiter.LOOP_UP)


def _one_way(link: Link, device: str, source: str, loops: _Loops) -> list[Command]:
    """Returns the commands for the direction toward a device. source: the device from which the packets come."""
    made: list[Command] = []
    if link.looped:
        made += reordering.commands(link, source, loops.delay)
        source, link = loops.delay.back, reordering.rest(link)
    return made + (rate_limiter.down(link, device, source, loops.rate) if link.gated else tc.down(link, device))


def _stages(link: Link, device: str, loops: _Loops) -> tc.Stages:
    """Returns the qdiscs of the direction toward a device."""
    rest = reordering.rest(link) if link.looped else link
    found = rate_limiter.stages(device, loops.rate) if rest.gated else tc.down_stages(rest, device)
    return replace(found, delay_line=reordering.stage(loops.delay)) if link.looped else found


def are_alike(one: Link, other: Link) -> bool:
    """True if the lab makes both links of the same parts, whether or not netem can limit a queue in bytes."""
    lacks = [{_lack_of_netem(link, counts_bytes=counts) for counts in (True, False)} for link in (one, other)]
    if lacks[0] != lacks[1] or None not in lacks[0]:
        return lacks[0] == lacks[1]
    first, second = (commands(Shaper.NETEM, link, "near", "far") for link in (one, other))
    return first == second


def later(before: Link, after: Link, to_client: str, to_front: str) -> list[Command]:
    """Returns the commands with which netem's link `before` becomes `after`, without losing packets that are in it.

    Both are of the same `links_over_time` (netem/later_links.py).
    """
    ways = ((before, after, to_client, to_front, _DOWN), (before.reverse, after.reverse, to_front, to_client, _UP))
    return [command for way in ways for command in _later(*way)]


def _later(before: Link, after: Link, device: str, source: str, loops: _Loops) -> list[Command]:
    if not _one_way(before, device, source, loops):
        return _one_way(after, device, source, loops)
    stages, made = _stages(after, device, loops), list[Command]()
    if stages.delay_line is not None and tc.delay_line(before) != tc.delay_line(after):
        made.append(tc.changed(stages.delay_line, tc.later_delay_line(after)))
    if after.gated:
        limits = [(each.rate_bit_s, each.queue_packets) for each in map(rate_limiter.with_rate, (before, after))]
        made += rate_limiter.later(after, device, loops.rate) if limits[0] != limits[1] else []
    elif after.rate_bit_s is not None and tc.bottleneck(before) != tc.bottleneck(after):
        made.append(tc.changed(stages.bottleneck[0], tc.bottleneck(after)))
    return made


def also_from(shaper: Shaper, link: Link, device: str) -> list[Command]:
    """Returns the commands that lead packets from a further device through the link, and delay those toward it.

    The link has been made by the commands of `commands`. device: a device of the place behind which are other senders.
    """
    if shaper is Shaper.FERRY:
        return ferry_loops.also_from(link, device)
    first = reordering.LOOP if link.looped else rate_limiter.LOOP if link.gated else None
    led = [] if first is None else [first.rule(device)]
    return led + tc.up(link, device)


def stages(link: Link, to_client: str, to_front: str) -> Mapping[str, tc.Stages]:
    """Returns, by direction, the qdiscs of a link that netem shapes."""
    return {"down": _stages(link, to_client, _DOWN), "up": _stages(link.reverse, to_front, _UP)}


def devices(link: Link, to_client: str, to_front: str) -> Mapping[str, tuple[str, ...]]:
    """Returns the devices whose qdiscs count the link's packets, by direction."""
    found, own = stages(link, to_client, to_front), {"down": (link, to_client), "up": (link.reverse, to_front)}
    return {name: found[name].devices if way.gated or way.looped else (device,) for name, (way, device) in own.items()}


def sysctls(shaper: Shaper, link: Link) -> Mapping[str, str]:
    """Returns the sysctls to set in the link's place, after the commands of `commands`."""
    if shaper is Shaper.FERRY:
        return ferry_loops.sysctls(link)
    ways = ((link, _DOWN), (link.reverse, _UP))
    loops = [loop for way, of in ways for loop, needed in zip(of, (way.looped, way.gated), strict=True) if needed]
    return {"net.ipv4.ip_forward": "1"} | {name: value for loop in loops for name, value in loop.sysctls().items()}


def lack_of(shaper: Shaper, link: Link, *, netem_counts_bytes: bool = False) -> str | None:
    """Returns the reason why a shaper cannot make a link; None if it can.

    netem_counts_bytes: True if netem in the link's place can limit a queue in bytes.
    """
    if shaper is Shaper.FERRY and link.qdisc is not Qdisc.FIFO:
        return f"the ferry has only the queueing discipline fifo, not {link.qdisc}"
    return _lack_of_netem(link, counts_bytes=netem_counts_bytes) if shaper is Shaper.NETEM else None


def _lack_of_netem(link: Link, *, counts_bytes: bool) -> str | None:
    if link.traced:
        return NO_TRACES
    in_bytes = link.counts_bytes or Part.BYTES in link.prepared | link.prepared_up
    if in_bytes and (link.gated or link.reverse.gated):
        return NO_BYTES_IN_STEPS
    return NO_BYTES if in_bytes and not counts_bytes else None


def chosen(
    asked: Shaper | None,
    link: Link,
    look_for_netem: Callable[[], str | None],
    usual: Shaper | None = None,
    *,
    netem_counts_bytes: bool = False,
) -> tuple[Shaper, str | None]:
    """Returns the shaper of a link, and why SHAPER=auto does not stand for netem; None if it does, or is not requested.

    asked: None for SHAPER=auto. look_for_netem: returns the reason why the kernel has no netem; None if it has. usual:
    what SHAPER=auto stands for if netem can make the link; None to look for netem. netem_counts_bytes: as in `lack_of`.
    """
    lack = None
    if asked is None:
        lack = _lack_of_netem(link, counts_bytes=netem_counts_bytes)
        if lack is None and usual is None and link.shaped:
            lack = look_for_netem()
    return asked or (Shaper.FERRY if lack else usual or Shaper.NETEM), lack
