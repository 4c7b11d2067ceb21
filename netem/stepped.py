"""A Link with rate steps for the kernel's own shaper: argument lists of tc(8) and ip(8), and the Changer of the rate.

netem fixes a packet's departure time when the packet enters (sch_netem.c, netem_enqueue), and a `change` leaves these
times alone: all waiting packets would still leave at the old rate, and later ones after them. So here the packets wait
before a tbf, which reads its rate for each packet:

    cutter -> delay line -> queue (pfifo) -> gate (tbf, a bucket of one packet) == loop ==> sender (netem rate)

A tbf releases a packet when its transmission begins; a link delivers it when the transmission ends. The sender, which
has the same rate, holds the packet for that time. It never holds more than the gate's bucket, one full-size packet, so
no other packet is bound to the old rate. Together the two release packets when a single netem with that rate would.

Rules:
1. Gate and sender cannot be on one device, where the inner qdisc is the earlier one and netem has to be the later. The
   loop is a veth pair inside the link's place: packets toward the client are routed into it, and come back at its other
   end to be forwarded. Both ends have one MAC address and no ARP, so each takes the other's frames for its own.
2. The queue's limit leaves out the packet being sent: that one is with the sender.
3. The sender is changed first: what the gate, its bucket full again, then lets go at once is sent at the new rate.
4. A bucket of one packet cannot make up for a late wake-up. In the guest there are none. On real clocks every packet of
   full size is later by as much: nothing at 10 ms a packet, a tenth of the rate where wake-ups are late by a ninth of a
   packet's time. Calibration sees it at the first rate; nothing does at a faster one after a step
   (docs/decisions/0003-rate-steps.md).
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
    """Commands that change the rate."""
    start = ("tc", "qdisc", "change", "dev")
    return [
        (*start, to_client, "root", "handle", f"{_SENDER}:", *sender(rate_bit_s)),
        (*start, _DEVICE, "parent", f"{_GATE - 1}:", "handle", f"{_GATE}:", "tbf", *gate(link, rate_bit_s)),
    ]


class Changer:
    """Changes the rate of the link at once. A context; must be created in the link's place.

    Raises OSError if there is no tc, and RuntimeError.
    """

    def __init__(self, link: Link, to_client: str) -> None:
        self._link = link
        self._to_client = to_client
        with ExitStack() as stack:
            self._tc = stack.enter_context(KeptTc(_DEVICE))
            self._tc.tell([])  # waits until tc has started, some milliseconds
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def make(self, rate_bit_s: int) -> int:
        """Sets the rate. Returns the rate that the kernel reports, a multiple of 8 bit/s. Raises RuntimeError."""
        qdiscs = self._tc.tell(change(self._link, rate_bit_s, self._to_client))
        (gate,) = (qdisc for qdisc in qdiscs if qdisc["handle"] == f"{_GATE}:")
        return int(gate["options"]["rate"]) * 8


@contextmanager
def kernel_changes(link: Link, to_client: str, journal: Path) -> Iterator[RateChanges]:
    """Yields the Link's RateChanges. They act in the caller's network namespace and are recorded beside the journal."""
    with ExitStack() as stack:
        make = stack.enter_context(Changer(link, to_client)).make if link.rate_steps else _make_nothing
        yield stack.enter_context(RateChanges(link.rate_steps, make, beside(journal)))


def _make_nothing(rate_bit_s: int) -> int:
    return rate_bit_s


def stages(to_client: str) -> Stages:
    """The stages that `down` makes."""
    return Stages(
        delay_line=Stage(device=_DEVICE, handle=_GATE - 1),
        bottleneck=(Stage(device=_DEVICE, handle=_GATE), Stage(device=to_client, handle=_SENDER)),
    )


def sysctls() -> Mapping[str, str]:
    """The sysctls that the place must have: no rp_filter, as the way back to a packet's source avoids the loop."""
    return {f"net.ipv4.conf.{name}.rp_filter": "0" for name in ("all", _DEVICE, _BACK)}


def gate(link: Link, rate_bit_s: int) -> Sequence[str]:
    """The options of a tbf that releases a packet when its transmission begins."""
    # tbf passes its own limit on to a fifo inside, in whatever unit that counts (sch_tbf.c, fifo_set_limit).
    return ("rate", f"{rate_bit_s}bit", "burst", str(PACKET_BYTES), "limit", str(link.queue_packets - 1))


def sender(rate_bit_s: int) -> Command:
    """The qdisc that holds a packet for its transmission time."""
    return ("netem", "limit", str(tc.OUT_OF_REACH), "rate", f"{rate_bit_s}bit")


def _loop(to_front: str) -> list[Command]:
    ends = (_DEVICE, _BACK)
    return [
        ("ip", "link", "add", _DEVICE, "address", _MAC, "type", "veth", "peer", "name", _BACK, "address", _MAC),
        *(("ip", "link", "set", "dev", end, "arp", "off", "up") for end in ends),
        ("ip", "route", "add", "default", "dev", _DEVICE, "table", _TABLE),
        ("ip", "rule", "add", "iif", to_front, "lookup", _TABLE),
    ]
