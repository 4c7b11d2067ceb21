"""How a Link becomes real: by the kernel's netem, or, where the kernel has none, by the ferry.

Nothing is run here. Both work in a place that already routes between a device toward the client and one toward the
front, and give the same link: same stages, same queue, same way to count.
"""

from collections.abc import Mapping
from enum import StrEnum

from netem import stepped, tc
from netem.ferry import loops
from netem.link import Link
from netem.tc import Command


class Shaper(StrEnum):
    """What a link is made of."""

    NETEM = "netem"
    FERRY = "ferry"


TRIAL: tuple[Command, ...] = (
    ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
    ("tc", "qdisc", "del", "dev", "lo", "root"),
)
"""Commands that fail, in a place, if its kernel has no netem."""

NO_NETEM = "this kernel has no sch_netem"
# Without extended error messages tc has only the number ENOENT to tell of.
_REFUSALS = ("Error: Specified qdisc kind is unknown", "RTNETLINK answers: No such file or directory")


def lack_of_netem(failure: str) -> str:
    """Why netem cannot be had, from what was said when the trial failed: only the kernel knows that it has none."""
    if any(refusal in failure for refusal in _REFUSALS):
        return NO_NETEM
    return f"whether this kernel has sch_netem could not be found out: {failure}"


def commands(shaper: Shaper, link: Link, to_client: str, to_front: str) -> list[Command]:
    """The commands that shape the place; with the ferry they only lead the packets to it."""
    if shaper is Shaper.FERRY:
        return loops.commands(link, to_client, to_front)
    down = stepped.down(link, to_client, to_front) if link.rate_steps else tc.down(link, to_client)
    return down + tc.up(link, to_front)


def stages(link: Link, to_client: str, to_front: str) -> Mapping[str, tc.Stages]:
    """By direction, where the qdiscs are that netem's commands make."""
    down = stepped.stages(to_client) if link.rate_steps else tc.down_stages(link, to_client)
    return {"down": down, "up": tc.up_stages(link, to_front)}


def devices(link: Link, to_client: str, to_front: str) -> Mapping[str, tuple[str, ...]]:
    """By direction, the devices whose qdiscs' counters say what went over the link: there, but for rate steps."""
    down = stages(link, to_client, to_front)["down"].devices if link.rate_steps else (to_client,)
    return {"down": down, "up": (to_front,)}


def sysctls(shaper: Shaper, link: Link) -> Mapping[str, str]:
    """What must hold in the place once the commands are done."""
    if shaper is Shaper.FERRY:
        return loops.sysctls(link)
    return {"net.ipv4.ip_forward": "1", **(stepped.sysctls() if link.rate_steps else {})}
