"""A link with rate steps or with a QDISC, made by the kernel's netem and a gate: commands of tc(8) and ip(8), and a
class that changes the rate.

netem fixes a packet's departure time when the packet enters (sch_netem.c, netem_enqueue), and `tc qdisc change` leaves
these times unchanged. So all waiting packets would still leave at the old rate. Here the packets wait before a tbf,
which reads its rate for each packet:

    cutter -> delay line -> queue (pfifo) -> gate (tbf, a bucket of one packet) == loop ==> sender (netem rate)

netem/tc.py explains cutter and delay line. With a QDISC the queue is that discipline (netem/disciplines.py). Behind the
delay line it sees only the packets that wait for the bottleneck.

The gate releases a packet when its transmission begins, but a link delivers a packet when its transmission ends. The
sender has the same rate and holds the packet for its transmission time. It never holds more bytes than the gate's
bucket, one full-size packet, so no other packet leaves at the old rate. Gate and sender together release packets at the
same times as a single netem with that rate.

Rules:
1. Gate and sender cannot be on one device. If a tbf and a netem are nested, in either order, the netem acts first. But
   the sender, a netem, must act after the gate, a tbf. So a loop (netem/loop.py) separates gate and sender.
2. The queue's limit does not include the packet being sent, which is in the sender.
3. A change sets the sender's rate first. A change of the gate fills the gate's bucket, so the gate releases packets at
   once. These packets must leave the sender at the new rate.
4. A bucket of one packet cannot make up for a late wake-up, so every full-size packet leaves late by that time. A guest
   has no late wake-ups. On real clocks the effect is negligible if a packet takes 10 ms, but the link loses a tenth of
   its rate if wake-ups are late by a ninth of a packet's transmission time. Calibration detects this at the first rate.
   Nothing detects it at a faster rate after a step (docs/decisions/0003-rate-steps.md).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from priolab.common.snapshot.queues import qdisc_name
from priolab.netem import disciplines, tc
from priolab.netem.changes import RateChanges, beside
from priolab.netem.link import Link, Qdisc
from priolab.netem.link_ranges import MOST_PACKETS, STEP_RATES
from priolab.netem.loop import Loop
from priolab.netem.tc import Command, Stage, Stages
from priolab.netem.tc_session import TcSession

LOOP = Loop(device="rate-down", back="down-rate", mac="02:00:c6:12:00:10", table="12")
LOOP_UP = Loop(device="rate-up", back="up-rate", mac="02:00:c6:12:00:12", table="14")
_DEVICE = LOOP.device
_GATE, _QUEUE, _SENDER = 3, 4, 1
_CAKE_RATE = "attribute 2"  # TCA_CAKE_BASE_RATE64


def down(link: Link, to_client: str, source: str, loop: Loop = LOOP) -> list[Command]:
    """Returns the commands that make the link toward the client.

    The place already routes to its device to_client. source: the device from which the packets come.
    """
    link = with_rate(link)
    first_bit_s, *_ = link.rates_bit_s
    start = ("tc", "qdisc", "add", "dev", loop.device, "parent", f"{_GATE}:", "handle", f"{_QUEUE}:")
    root = ("tc", "qdisc", "add", "dev", to_client, "root", "handle", f"{_SENDER}:")
    queue = disciplines.queue(link)
    return [
        *loop.commands(source),
        *tc.nested([tc.delay_line(link), tuple(disciplines.gate(link, first_bit_s))], loop.device),
        *([] if queue is None else [(*start, *queue)]),
        (*root, *_sender(first_bit_s)),
    ]


def with_rate(link: Link) -> Link:
    """Returns the link, or one that is as fast as a gate can be, and never drops, in place of one without a rate."""
    if link.rate_bit_s is not None:
        return link
    return replace(link, rate_bit_s=round(STEP_RATES.most), queue_packets=MOST_PACKETS)


def change(link: Link, rate_bit_s: int, to_client: str, loop: Loop = LOOP) -> list[Command]:
    """Returns the commands that change the link's rate to rate_bit_s. to_client: the device toward the client."""
    start = ("tc", "qdisc", "change", "dev")
    return [
        (*start, to_client, "root", "handle", f"{_SENDER}:", *_sender(rate_bit_s)),
        (*start, loop.device, "parent", f"{_GATE - 1}:", "handle", f"{_GATE}:", *disciplines.gate(link, rate_bit_s)),
    ]


def later(link: Link, to_client: str, loop: Loop) -> list[Command]:
    """Returns the commands that give the gate and the queue the rate and the size of a later link."""
    link = with_rate(link)
    queue = disciplines.queue(link)
    start = ("tc", "qdisc", "change", "dev", loop.device, "parent", f"{_GATE}:", "handle", f"{_QUEUE}:")
    assert link.rate_bit_s is not None
    return [*change(link, link.rate_bit_s, to_client, loop), *([] if queue is None else [(*start, *queue)])]


class Changer:
    """Changes the rate of the link without the delay of starting tc.

    A context manager, which must be created in the link's place.

    Raises OSError if tc is not installed, and RuntimeError if tc fails.
    """

    def __init__(self, link: Link, to_client: str) -> None:
        self._link = link
        self._to_client = to_client
        with ExitStack() as stack:
            self._tc = stack.enter_context(TcSession(_DEVICE))
            self._tc.tell([])  # waits some milliseconds until tc has started
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def make(self, rate_bit_s: int) -> int:
        """Sets the rate. Returns the rate that the kernel reports, a multiple of 8 bit/s. Raises RuntimeError."""
        qdiscs = self._tc.tell(change(self._link, rate_bit_s, self._to_client))
        (gate,) = (qdisc for qdisc in qdiscs if qdisc["handle"] == f"{_GATE}:")
        return disciplines.gate_rate_bit_s(gate)


@contextmanager
def kernel_changes(link: Link, to_client: str, journal: Path) -> Iterator[RateChanges]:
    """Yields the RateChanges of a link that netem shapes in the caller's network namespace.

    journal: the file of the queues' samples. The rate steps are recorded beside this file.
    """
    with ExitStack() as stack:
        make = stack.enter_context(Changer(link, to_client)).make if link.rate_steps else _make_nothing
        yield stack.enter_context(RateChanges(link.rate_steps, make, beside(journal)))


def _make_nothing(rate_bit_s: int) -> int:
    return rate_bit_s


def stages(to_client: str, loop: Loop = LOOP) -> Stages:
    """Returns the qdiscs of the direction toward the client. to_client: the device toward the client."""
    return Stages(
        delay_line=Stage(device=loop.device, handle=_GATE - 1),
        bottleneck=(Stage(device=loop.device, handle=_GATE), Stage(device=to_client, handle=_SENDER)),
    )


def queue_stage() -> Stage:
    """Returns the qdisc inside the gate."""
    return Stage(device=_DEVICE, handle=_QUEUE)


def changing(link: Link, to_client: str) -> list[str]:
    """Returns the settings, by their names in a picture, that rate steps change; their journal has the rates."""
    gate, sent = qdisc_name(_DEVICE, _GATE, None), qdisc_name(to_client, _SENDER, None)
    options = (_CAKE_RATE,) if link.qdisc is Qdisc.CAKE else ("rate in bit/s", "burst in ns")
    return [*(f"{gate}, {option}" for option in options), f"{sent}, rate in bit/s"]


def _sender(rate_bit_s: int) -> Command:
    """Returns the options of the sender: a netem that holds a packet for its transmission time."""
    return ("netem", "limit", str(tc.OUT_OF_REACH), "rate", f"{rate_bit_s}bit")
