"""Writes docs/measured/link.md: the bottleneck's queueing disciplines and cross traffic, with measurements. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import WORDS
from priolab.analysis.reports.markdown import filled, head, row

_HEAD = head(
    "link", "LOWAT", "verdict", "script first byte:", "possible:", "longest part of the script's wait", "unexplained:"
)
_CROSS_HEAD = head(
    "link", "LOWAT", "verdict", "script first byte:", "possible:", "own:", "others:", "longest part", "unexplained:"
)
_INTRODUCTION = (
    "The bottleneck of a real link is not always one queue that drops packets only when it is full. QDISC gives the"
    " lab's bottleneck another queueing discipline of the kernel, ECN lets this discipline mark packets instead of"
    " dropping them, and CROSS adds bulk flows of other senders. [knobs.md](../reference/knobs.md) has the allowed"
    " values, and [0029](../decisions/0029-qdiscs.md) the reasons for the way in which the link is made."
)
_MADE = (
    "`make link` makes this page. Each row is one run of the Maps case in the guest, and times are seconds. The first"
    " byte is that of the script in the measured load; *possible* is the soonest that it could have come, whatever"
    " front and kernel do. *Unexplained* is the part of the script's wait that the ledger does not account for."
)
_DEEP = (
    "A queue of 1000 packets holds 11.8 s of this link. With fifo the front's kernel sends the whole image into it, so"
    " LOWAT comes too late: it bounds only what is not sent. fq shares the link between flows, but does not shorten"
    " the queue of a flow. fq_codel, cake and pie drop or mark packets as soon as packets wait longer than a target of"
    " 5 ms or 15 ms. So the front's congestion window stays near the size of the link, the rest of the image stays"
    " unsent in the front's kernel, and there LOWAT has its effect."
)
_SHARED = (
    "With CROSS=1 a bulk flow (CROSS_CC=cubic) from another sender shares the bottleneck from before the first load on."
    " The ledger then divides the script's wait in the bottleneck queue: behind packets of the front's *own*"
    " connection, and behind packets of *others*. *Possible* counts only what the bulk flow left of the link. The fifo"
    " has QUEUE=100 here, because a bulk flow fills 1000 packets, and a page load then takes minutes."
)
_LEFT_OUT = (
    "QDISC=dualpi2 is not in the tables, because tc of Debian 12 and 13 does not know it. It was tried with iproute2"
    " 7.3. The lab's connections use no ECN, or ECN as RFC 3168 describes it, so they never enter its queue of low"
    " latency."
)
_OTHERS = (
    "[traces.md](traces.md) has links whose rate follows a trace. LOSS_BURST makes the losses of LOSS come in bursts,"
    " and with REORDER some packets skip the delay; [knobs.md](../reference/knobs.md) describes both."
)

Measured = Mapping[str, Any]
"""An arm in the summary of an experiment."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: the knobs QDISC, QUEUE, ECN, CROSS and LOWAT. cross: the number of bulk flows."""

    qdisc: str
    queue: str
    ecn: bool
    cross: int
    lowat: str


def document(found: Mapping[Case, Measured]) -> str:
    """Returns the text of docs/measured/link.md."""
    alone = [_row(case, arm) for case, arm in found.items() if not case.cross]
    shared = [_cross_row(case, arm) for case, arm in found.items() if case.cross]
    lines = ["# The link", "", filled(_INTRODUCTION), "", filled(_MADE), ""]
    lines += ["## A deep queue", "", filled(_DEEP), "", *_HEAD, *alone, ""]
    lines += ["## Beside a bulk flow", "", filled(_SHARED), "", *_CROSS_HEAD, *shared, "", filled(_LEFT_OUT)]
    lines += ["", filled(_OTHERS)]
    return "\n".join(lines) + "\n"


def _beginning(case: Case, arm: Measured) -> list[str]:
    link = [f"QDISC={case.qdisc}", f"QUEUE={case.queue}", *(["ECN=on"] if case.ecn else [])]
    first, possible = (f"{ms / 1000:.2f}" for ms in (arm["first_byte_ms"], arm["oracle"]["first_byte_ms"]))
    return [f"`{' '.join(link)}`", case.lowat.replace("none", "unset"), arm["verdict"], first, possible]


def _end(arm: Measured) -> list[str]:
    ledger = arm["ledger"]
    largest = ledger["largest"]
    return [f"{WORDS[Layer(largest)]}, {ledger['parts_ms'][largest] / 1000:.2f}", f"{1 - ledger['explained']:.1%}"]


def _row(case: Case, arm: Measured) -> str:
    return row([*_beginning(case, arm), *_end(arm)])


def _cross_row(case: Case, arm: Measured) -> str:
    parts_ms = arm["ledger"]["parts_ms"]
    behind = [f"{parts_ms[layer] / 1000:.2f}" for layer in (Layer.QUEUE, Layer.CROSS)]
    return row([*_beginning(case, arm), *behind, *_end(arm)])
