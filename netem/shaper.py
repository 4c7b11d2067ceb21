"""The commands and sysctls that make a link: with the kernel's netem or, if the kernel has none, with the ferry.

This module runs nothing. Both shapers work in a place that already routes between a device toward the client and a
device toward the front. Both make the same link: packets pass the same delay line and the same bottleneck queue, and
their bytes are counted in the same way.
"""

from collections.abc import Mapping
from enum import StrEnum

from netem import stepped, tc
from netem.ferry import loops
from netem.link import Link
from netem.tc import Command


class Shaper(StrEnum):
    """The shapers: the kernel's netem, or the lab's ferry, gives the link its rate, delay, queue, loss and jitter."""

    NETEM = "netem"
    FERRY = "ferry"


TRIAL: tuple[Command, ...] = (
    ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
    ("tc", "qdisc", "del", "dev", "lo", "root"),
)
"""Commands that fail if the place's kernel has no netem."""

NO_NETEM = "this kernel has no sch_netem"
# Without extended error messages tc has only the number ENOENT.
_REFUSALS = ("Error: Specified qdisc kind is unknown", "RTNETLINK answers: No such file or directory")


def lack_of_netem(failure: str) -> str:
    """Returns the reason why netem is not available. failure: the error of a command that needs netem.

    Only certain errors prove that the kernel has no netem; after any other error the reason says that this is unknown.
    """
    if any(refusal in failure for refusal in _REFUSALS):
        return NO_NETEM
    return f"unknown if this kernel has sch_netem: {failure}"


def commands(shaper: Shaper, link: Link, to_client: str, to_front: str) -> list[Command]:
    """Returns the commands that make the link in its place.

    With the ferry these commands only route the packets to the ferry.

    to_client, to_front: the place's devices toward the client and toward the front.
    """
    if shaper is Shaper.FERRY:
        return loops.commands(link, to_client, to_front)
    down = stepped.down(link, to_client, to_front) if link.rate_steps else tc.down(link, to_client)
    return down + tc.up(link, to_front)


def stages(link: Link, to_client: str, to_front: str) -> Mapping[str, tc.Stages]:
    """Returns, by direction, the qdiscs of a link that netem shapes."""
    down = stepped.stages(to_client) if link.rate_steps else tc.down_stages(link, to_client)
    return {"down": down, "up": tc.up_stages(link, to_front)}


def devices(link: Link, to_client: str, to_front: str) -> Mapping[str, tuple[str, ...]]:
    """Returns the devices whose qdiscs count the link's packets, by direction."""
    down = stages(link, to_client, to_front)["down"].devices if link.rate_steps else (to_client,)
    return {"down": down, "up": (to_front,)}


def sysctls(shaper: Shaper, link: Link) -> Mapping[str, str]:
    """Returns the sysctls to set in the link's place, after the commands of `commands`."""
    if shaper is Shaper.FERRY:
        return loops.sysctls(link)
    return {"net.ipv4.ip_forward": "1", **(stepped.sysctls() if link.rate_steps else {})}
