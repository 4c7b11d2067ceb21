"""A Link with rate steps for the kernel's own shaper: argument lists of tc(8) and ip(8), and who changes the rate.

netem tells a packet when to leave as soon as it enters (sch_netem.c, netem_enqueue), and a `change` leaves those times
alone: all that waits would still leave at the old rate, and what comes later after it. So here the packets wait before
a tbf, which looks at its rate packet by packet:

    cutter -> delay line -> queue (pfifo) -> gate (tbf, a bucket of one packet) == loop ==> sender (netem rate)

A tbf lets a packet go when its transmission begins, where a link has it at the other end when that ends. The sender,
which has the same rate, holds it for that time. It never has more than the gate's bucket, one full-size packet, so
nothing else is bound to the old rate, and together the two let packets go when a single netem with that rate would.

Rules:
1. Gate and sender cannot be on one device, where the inner qdisc is the earlier one and netem has to be the later. The
   loop is a veth pair inside the link's place: packets toward the client are routed into it, and come back at its other
   end to be forwarded. Both ends have one MAC address and no ARP, so each takes the other's frames for its own.
2. The queue's limit leaves out the packet being sent: that one is with the sender.
3. The sender is changed first: what the gate, its bucket full again, then lets go at once is sent at the new rate.
4. A bucket of one packet cannot make up for a late wake-up. In the guest there are none. On real clocks every packet of
   full size is later by as much: nothing at 10 ms a packet, a tenth of the rate where wake-ups are late by a ninth of a
   packet's time. Calibration sees it at the first rate; nothing does at a faster one after a step (docs/design.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from netem import tc
from netem.batch import KeptTc
from netem.changes import RateChanges, beside
from netem.link import PACKET_BYTES, Link
from netem.tc import Command, Stage, Stages

_DEVICE, _BACK = "rate-down", "down-rate"
_MAC = "02:00:c6:12:00:10"
_TABLE = "12"
_GATE, _QUEUE, _SENDER = 3, 4, 1


def down(link: Link, to_client: str, to_front: str) -> list[Command]:
    """Commands for a place that routes between two devices."""
    first_bit_s, *_ = link.rates_bit_s
    shaped = ("tbf", *gate(link, first_bit_s))
    queue = ("tc", "qdisc", "add", "dev", _DEVICE, "parent", f"{_GATE}:", "handle", f"{_QUEUE}:")
    root = ("tc", "qdisc", "add", "dev", to_client, "root", "handle", f"{_SENDER}:")
    return [
        *_loop(to_front),
        *tc.nested([tc.delay_line(link), shaped], _DEVICE),
        (*queue, "pfifo", "limit", str(link.queue_packets - 1)),
        (*root, *sender(first_bit_s)),
    ]


def change(link: Link, rate_bit_s: int, to_client: str) -> list[Command]:
    """Commands that make the rate another."""
    start = ("tc", "qdisc", "change", "dev")
    return [
        (*start, to_client, "root", "handle", f"{_SENDER}:", *sender(rate_bit_s)),
        (*start, _DEVICE, "parent", f"{_GATE - 1}:", "handle", f"{_GATE}:", "tbf", *gate(link, rate_bit_s)),
    ]


class Changer:
    """Makes the rate of a place's link another, at once. A context, to be made in the place.

    Raises OSError if there is no tc, and RuntimeError.
    """

    def __init__(self, link: Link, to_client: str) -> None:
        self._link = link
        self._to_client = to_client
        with ExitStack() as stack:
            self._tc = stack.enter_context(KeptTc(_DEVICE))
            self._tc.tell([])  # it takes some milliseconds to start
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def make(self, rate_bit_s: int) -> int:
        """Have that rate; the rate that the kernel says it has then, in whole bytes a second. Raises RuntimeError."""
        qdiscs = self._tc.tell(change(self._link, rate_bit_s, self._to_client))
        (gate,) = (qdisc for qdisc in qdiscs if qdisc["handle"] == f"{_GATE}:")
        return int(gate["options"]["rate"]) * 8


@contextmanager
def kernel_changes(link: Link, to_client: str, journal: Path) -> Iterator[RateChanges]:
    """A Link's rate steps, made in the network namespace this is in; noted down beside that journal."""
    with ExitStack() as stack:
        make = stack.enter_context(Changer(link, to_client)).make if link.rate_steps else _make_nothing
        yield stack.enter_context(RateChanges(link.rate_steps, make, beside(journal)))


def _make_nothing(rate_bit_s: int) -> int:
    return rate_bit_s


def stages(to_client: str) -> Stages:
    """Where what is where."""
    return Stages(
        delay_line=Stage(device=_DEVICE, handle=_GATE - 1),
        bottleneck=(Stage(device=_DEVICE, handle=_GATE), Stage(device=to_client, handle=_SENDER)),
    )


def sysctls() -> Mapping[str, str]:
    """What must hold in the place: the way back to a packet's source does not lead through the loop (rp_filter)."""
    return {f"net.ipv4.conf.{name}.rp_filter": "0" for name in ("all", _DEVICE, _BACK)}


def gate(link: Link, rate_bit_s: int) -> Sequence[str]:
    """What a tbf is told that is to let a packet go when its transmission begins."""
    # With a fifo inside, tbf hands its own limit down to it, in whatever that counts (sch_tbf.c, fifo_set_limit).
    return ("rate", f"{rate_bit_s}bit", "burst", str(PACKET_BYTES), "limit", str(link.queue_packets - 1))


def sender(rate_bit_s: int) -> Command:
    """The qdisc that holds a packet for its transmission."""
    return ("netem", "limit", str(tc.OUT_OF_REACH), "rate", f"{rate_bit_s}bit")


def _loop(to_front: str) -> list[Command]:
    ends = (_DEVICE, _BACK)
    return [
        ("ip", "link", "add", _DEVICE, "address", _MAC, "type", "veth", "peer", "name", _BACK, "address", _MAC),
        *(("ip", "link", "set", "dev", end, "arp", "off", "up") for end in ends),
        ("ip", "route", "add", "default", "dev", _DEVICE, "table", _TABLE),
        ("ip", "rule", "add", "iif", to_front, "lookup", _TABLE),
    ]
