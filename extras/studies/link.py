"""Measures what the bottleneck's queueing discipline does to LOWAT's effect: `make link` fills docs/measured/link.md.

Each discipline is measured with a deep queue, alone and beside a bulk flow, each with LOWAT unset and with LOWAT.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from priolab import Layer
from priolab.analysis.reports.markdown import Table
from priolab.analysis.reports.summary import longest_part
from priolab.common.packets import PACKET_BYTES
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies.in_guest import run_in_guest
from priolab.netem.link import Qdisc

_DEEP = "1000"
_SHARED = {"fifo": "100"}
"""QUEUE beside a bulk flow, if it is not _DEEP. In a fifo of 1000 packets, which the flow fills, loads take minutes."""
_NEEDS_NEW_TC = (Qdisc.DUALPI2,)
"""Left out, because tc(8) of Debian 12 and 13 does not know it."""
_QDISCS = tuple(qdisc for qdisc in Qdisc if qdisc not in _NEEDS_NEW_TC)
_LOWAT = KNOBS["LOWAT"].default

Measured = Mapping[str, Any]
"""An arm in the summary of an experiment."""


def arms() -> list[Arm]:
    """Returns the arms, in the order of the tables' rows."""
    return [
        _arm(qdisc, _SHARED.get(qdisc, _DEEP) if cross else _DEEP, ecn, cross, lowat)
        for cross in (0, 1)
        for qdisc in _QDISCS
        for ecn in (("off", "on") if qdisc is Qdisc.FQ_CODEL and not cross else ("off",))
        for lowat in ("none", _LOWAT)
    ]


def _arm(qdisc: str, queue: str, ecn: str, cross: int, lowat: str) -> Arm:
    knobs = {"QDISC": qdisc, "QUEUE": queue, "ECN": ecn, "CROSS": str(cross), "LOWAT": lowat}
    return Arm(name="-".join(knobs.values()), knobs=with_defaults(knobs))


def findings(measured: Iterable[tuple[Arm, Measured]]) -> Findings:
    """Returns the tables. measured: the arms, each with that of the experiment's summary."""
    alone, shared, unexplained = [], [], []
    for arm, seen in measured:
        if arm.knobs["CROSS"] == "0":
            alone.append((*_beginning(arm, seen), longest_part(seen["ledger"])))
        else:
            parts_ms = seen["ledger"]["parts_ms"]
            behind = [f"{parts_ms[layer] / 1000:.2f}" for layer in (Layer.QUEUE, Layer.CROSS)]
            shared.append((*_beginning(arm, seen), *behind, longest_part(seen["ledger"])))
        unexplained.append(1 - seen["ledger"]["explained"])
    head = ("link", "LOWAT", "verdict", "script first byte:", "possible:")
    longest = "longest part of the script's wait"
    held_s = int(_DEEP) * PACKET_BYTES * 8 / KNOBS["RATE"].parse(KNOBS["RATE"].default)
    return Findings(
        places={
            "queue": f"{held_s:.1f} s",
            "alone": Table(head=(*head, longest), rows=tuple(alone)).merged(1).markdown(),
            "shared": Table(head=(*head, "own:", "others:", longest), rows=tuple(shared)).merged(1).markdown(),
            "unexplained": f"{median(unexplained):.1%} in the median, and {max(unexplained):.1%} at most",
        }
    )


def _beginning(arm: Arm, seen: Measured) -> list[str]:
    shown = ("QDISC", "QUEUE", *(["ECN"] if arm.knobs["ECN"] == "on" else []))
    link = " ".join(f"{name}={arm.knobs[name]}" for name in shown)
    first, possible = (f"{ms / 1000:.2f}" for ms in (seen["first_byte_ms"], seen["oracle"]["first_byte_ms"]))
    return [f"`{link}`", arm.knobs["LOWAT"].replace("none", "unset"), seen["verdict"], first, possible]


def _measure(results: Path, report: Report) -> Findings:
    asked = arms()
    return findings(zip(asked, run_in_guest("link", asked, results, report).check().summary["arms"], strict=True))


add_to = Study(name="link", step="the link's disciplines", measure=_measure).add_to
