"""A Link whose bottleneck is the sender's own egress, by the kernel's qdiscs: argument lists, nothing is run here.

    the sender's place: queue (pfifo) -> gate (tbf, a bucket of one packet)
    the middle place:   cutter -> sender (netem rate) -> delay line

It is what a link should not be made of. The kernel knows what of a socket's still waits in a local qdisc and gives it
no more than two packets (TCP Small Queues, tcp_small_queue_check in tcp_output.c): the rest stays unsent in the socket,
where TCP_NOTSENT_LOWAT bounds it. So the queue is hardly ever used, and nothing is out of reach.

Rules:
1. The rate must be tbf's. netem sets a packet free as it takes it in (skb_orphan_partial), so with netem there the
   kernel would believe that it had left, and nothing would be different.
2. The delay is in the middle, for the same reason, and so behind the bottleneck.
3. As in netem/stepped.py the gate lets a packet go when its transmission begins, and the sender holds it meanwhile; the
   queue's limit leaves that one out.
"""

from collections.abc import Mapping

from netem import stepped, tc
from netem.link import Link
from netem.tc import Command, Stage, Stages

_GATE, _QUEUE, _SENDER = 1, 2, 2


def gate(link: Link, device: str) -> list[Command]:
    """Commands for the sender's device toward the middle place. The Link has a rate, and a queue of two at least."""
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
    """By direction, where the qdiscs are that these commands make, in both places."""
    down = Stages(
        delay_line=Stage(device=to_client, handle=_SENDER + 1),
        bottleneck=(Stage(device=device, handle=_GATE), Stage(device=to_client, handle=_SENDER)),
    )
    return {"down": down, "up": tc.up_stages(link, to_front)}
