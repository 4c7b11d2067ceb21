"""A delay line that some packets skip (REORDER), and so overtake the packets in it: commands of tc(8) and ip(8).

The same delay line makes copies of packets (DUPLICATE): the kernel's netem makes none inside another netem, or around
one (sch_netem.c, check_netem_in_tree).

netem hands a packet that skips the delay to its device at once, past every qdisc inside the netem (sch_netem.c,
netem_dequeue). So the delay line cannot have the bottleneck inside it. It is on a loop of its own, a veth pair inside
the link's place, and the packets leave this loop toward the rest of the link:

    cutter -> delay line (netem delay, jitter, loss, reorder) == loop ==> rest of the link, without a delay
"""

from dataclasses import replace

from priolab.netem import tc
from priolab.netem.link import Link, Part
from priolab.netem.loop import Loop
from priolab.netem.tc import Command, Stage

LOOP = Loop(device="delay-down", back="down-delay", mac="02:00:c6:12:00:11", table="13")
LOOP_UP = Loop(device="delay-up", back="up-delay", mac="02:00:c6:12:00:13", table="15")
_DELAY_LINE = 2


def commands(link: Link, source: str, loop: Loop = LOOP) -> list[Command]:
    """Returns the commands that make the loop with the delay line. source: the device from which the packets come."""
    return [*loop.commands(source), *tc.nested([tc.delay_line(link)], loop.device)]


def rest(link: Link) -> Link:
    """Returns the rest of the link: the same link without what the loop does."""
    return replace(
        link,
        delay_ns=0,
        jitter_ns=0,
        loss=0.0,
        loss_burst_packets=None,
        reorder=0.0,
        duplicate=0.0,
        corrupt=0.0,
        prepared=link.prepared & {Part.GATE},
    )


def stage(loop: Loop = LOOP) -> Stage:
    """Returns the qdisc that is the delay line."""
    return Stage(device=loop.device, handle=_DELAY_LINE)
