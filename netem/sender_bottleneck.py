"""The commands for a link whose bottleneck is on the front's own egress (SHAPER_AT=front). Does not run them.

    the front's place: queue (pfifo) -> gate (tbf, a bucket of one packet)
    the link's place:  cutter -> sender (netem rate) -> delay line

netem/tc.py explains cutter and delay line, netem/rate_limiter.py gate and sender.

Real links do not have this structure. The kernel lets a socket have no more than two packets in a local qdisc (TCP
Small Queues, tcp_small_queue_check in tcp_output.c). All further data stay unsent in the socket, where
TCP_NOTSENT_LOWAT bounds them. So the bottleneck queue is hardly ever used, and LOWAT reaches all waiting data.

Rules:
1. At the front a tbf sets the rate, not a netem. A netem orphans a packet on enqueue (skb_orphan_partial). Then
   the kernel would count the packet as sent, as if the bottleneck were not at the front.
2. For the same reason the delay is in the link's place, and so behind the bottleneck.
3. As in netem/rate_limiter.py, the gate releases a packet when its transmission begins, and the sender holds the packet
   until its transmission ends. So the queue's limit does not include the packet being sent.
"""

from collections.abc import Mapping

from priolab.netem import disciplines, rate_limiter, tc
from priolab.netem.link import Link
from priolab.netem.tc import Command, Stage, Stages

_GATE, _QUEUE, _SENDER = 1, 2, 2


def gate(link: Link, device: str) -> list[Command]:
    """Returns the commands that put the queue (pfifo) and the gate (tbf, which sets the rate) on the front's device.

    The Link must have a rate, and a queue of at least two packets.
    """
    assert link.rate_bit_s is not None
    start = ("tc", "qdisc", "add", "dev", device)
    return [
        (*start, "root", "handle", f"{_GATE}:", *disciplines.gate(link, link.rate_bit_s)),
        (*start, "parent", f"{_GATE}:", "handle", f"{_QUEUE}:", "pfifo", "limit", str(link.queue_packets - 1)),
    ]


def rest(link: Link, to_client: str, to_front: str) -> list[Command]:
    """Returns the commands that make, in the link's place, the qdiscs of both directions. The Link must have a rate.

    to_client, to_front: the place's devices toward the client and toward the front.
    """
    assert link.rate_bit_s is not None
    return tc.nested([rate_limiter.sender(link.rate_bit_s), tc.delay_line(link)], to_client) + tc.up(link, to_front)


def stages(link: Link, device: str, to_client: str, to_front: str) -> Mapping[str, Stages]:
    """Returns, by direction, the qdiscs of a link whose bottleneck is on the front's device.

    device: the front's device. to_client, to_front: the devices of the link's place.
    """
    down = Stages(
        delay_line=Stage(device=to_client, handle=_SENDER + 1),
        bottleneck=(Stage(device=device, handle=_GATE), Stage(device=to_client, handle=_SENDER)),
    )
    return {"down": down, "up": tc.up_stages(link, to_front)}
