"""The commands and sysctls that make a link: with the kernel's netem or, if the kernel has none, with the ferry.

This module runs nothing. Both shapers work in a place that already routes between a device toward the client and a
device toward the front. Both make the same link: packets pass the same delay line and the same bottleneck queue, and
their bytes are counted in the same way.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from priolab.netem import rate_limiter, reordering, tc
from priolab.netem.ferry import loops as ferry_loops
from priolab.netem.link import Link, Qdisc
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
    made: list[Command] = []
    source, rest = to_front, link
    if link.reorder:
        made += reordering.commands(link, to_front)
        source, rest = reordering.LOOP.back, reordering.rest(link)
    made += rate_limiter.down(rest, to_client, source) if rest.gated else tc.down(rest, to_client)
    return made + tc.up(link, to_front)


def also_from(shaper: Shaper, link: Link, device: str) -> list[Command]:
    """Returns the commands that lead packets from a further device through the link, and delay those toward it.

    The link has been made by the commands of `commands`. device: a device of the place behind which are other senders.
    """
    if shaper is Shaper.FERRY:
        return ferry_loops.also_from(link, device)
    first = reordering.LOOP if link.reorder else rate_limiter.LOOP if link.gated else None
    led = [] if first is None else [first.rule(device)]
    return led + tc.up(link, device)


def stages(link: Link, to_client: str, to_front: str) -> Mapping[str, tc.Stages]:
    """Returns, by direction, the qdiscs of a link that netem shapes."""
    rest = reordering.rest(link) if link.reorder else link
    down = rate_limiter.stages(to_client) if rest.gated else tc.down_stages(rest, to_client)
    if link.reorder:
        down = replace(down, delay_line=reordering.stage())
    return {"down": down, "up": tc.up_stages(link, to_front)}


def devices(link: Link, to_client: str, to_front: str) -> Mapping[str, tuple[str, ...]]:
    """Returns the devices whose qdiscs count the link's packets, by direction."""
    several = link.gated or link.reorder
    down = stages(link, to_client, to_front)["down"].devices if several else (to_client,)
    return {"down": down, "up": (to_front,)}


def sysctls(shaper: Shaper, link: Link) -> Mapping[str, str]:
    """Returns the sysctls to set in the link's place, after the commands of `commands`."""
    if shaper is Shaper.FERRY:
        return ferry_loops.sysctls(link)
    loops = [loop for loop, needed in ((reordering.LOOP, link.reorder), (rate_limiter.LOOP, link.gated)) if needed]
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
    if link.counts_bytes and link.rate_steps:
        return NO_BYTES_IN_STEPS
    return NO_BYTES if link.counts_bytes and not counts_bytes else None


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
