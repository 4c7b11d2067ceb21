"""A Link with the bottleneck on the sender's own egress, made of qdiscs: argument lists, nothing is run here.

    the sender's place: queue (pfifo) -> gate (tbf, a bucket of one packet)
    the middle place:   cutter -> sender (netem rate) -> delay line

A link should not be made like this. The kernel counts the packets of a socket that wait in a local qdisc and allows no
more than two (TCP Small Queues, tcp_small_queue_check in tcp_output.c). The rest stays unsent in the socket, where
TCP_NOTSENT_LOWAT bounds it. So the queue is hardly ever used, and no data is out of LOWAT's reach.

Rules:
1. The rate must be tbf's. netem orphans a packet on enqueue (skb_orphan_partial): with netem there the kernel would
   believe that the packet had left, and the link would behave like any other.
2. For the same reason the delay is in the middle place, and so behind the bottleneck.
3. As in netem/stepped.py, the gate releases a packet when its transmission begins and the sender holds it meanwhile. So
   the queue's limit leaves out the packet being sent.
"""

from collections.abc import Mapping

from netem import stepped, tc
from netem.link import Link
from netem.tc import Command, Stage, Stages

_GATE, _QUEUE, _SENDER = 1, 2, 2


def gate(link: Link, device: str) -> list[Command]:
    """Commands for the sender's device toward the middle place. The Link must have a rate and a queue of at least 2."""
    assert link.rate_bit_s is not None
    start = ("tc", "qdisc", "add", "dev", device)
    return [
        (*start, "root", "handle", f"{_GATE}:", "tbf", *stepped.gate(link, link.rate_bit_s)),
        (*start, "parent", f"{_GATE}:", "handle", f"{_QUEUE}:", "pfifo", "limit", str(link.queue_packets - 1)),
    ]


def rest(link: Link, to_client: str, to_front: str) -> list[Command]:
    """Commands for the middle place."""
    assert link.rate_bit_s is not None
    return tc.nested([stepped.sender(link.rate_bit_s), tc.delay_line(link)], to_client) + tc.up(link, to_front)


def stages(link: Link, device: str, to_client: str, to_front: str) -> Mapping[str, Stages]:
    """The qdiscs that these commands make in both places, by direction."""
    down = Stages(
        delay_line=Stage(device=to_client, handle=_SENDER + 1),
        bottleneck=(Stage(device=device, handle=_GATE), Stage(device=to_client, handle=_SENDER)),
    )
    return {"down": down, "up": tc.up_stages(link, to_front)}
