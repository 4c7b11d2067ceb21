"""Measures what the bottleneck's queueing discipline does to LOWAT's effect: `make link` writes docs/measured/link.md.

Each discipline is measured with a deep queue, alone and beside a bulk flow, each with LOWAT unset and with LOWAT.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from priolab.analysis.reports.summary import summarize
from priolab.experiments.commands.checked_run import run_in_guest
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import writing
from priolab.experiments.execution.request import Arm
from priolab.experiments.results.run_folder import check_document, write_document
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies import link_document
from priolab.extras.studies.link_document import Case, Measured
from priolab.netem.link import Qdisc

_STEP = "the link's disciplines"
_DEEP = "1000"
_SHARED = {"fifo": "100"}
"""QUEUE beside a bulk flow, if it is not _DEEP. In a fifo of 1000 packets, which the flow fills, loads take minutes."""
_NEEDS_NEW_TC = (Qdisc.DUALPI2,)
"""Left out, because tc(8) of Debian 12 and 13 does not know it."""
_QDISCS = tuple(qdisc for qdisc in Qdisc if qdisc not in _NEEDS_NEW_TC)
_LOWAT = KNOBS["LOWAT"].default


def arms() -> dict[Case, Arm]:
    """Returns the arms of all cases."""
    found = {}
    for cross in (0, 1):
        for qdisc in _QDISCS:
            queue = _SHARED.get(qdisc, _DEEP) if cross else _DEEP
            for ecn in (False, True) if qdisc is Qdisc.FQ_CODEL and not cross else (False,):
                for lowat in ("none", _LOWAT):
                    case = Case(qdisc=qdisc, queue=queue, ecn=ecn, cross=cross, lowat=lowat)
                    found[case] = Arm(name=_name(case), knobs=with_defaults(_knobs(case)))
    return found


def _knobs(case: Case) -> Mapping[str, str]:
    return {
        "QDISC": case.qdisc,
        "QUEUE": case.queue,
        "ECN": "on" if case.ecn else "off",
        "CROSS": str(case.cross),
        "LOWAT": case.lowat,
    }


def _name(case: Case) -> str:
    return "-".join([case.qdisc, *(["ecn"] if case.ecn else []), *(["cross"] if case.cross else []), case.lowat])


def measure(results: Path, report: Report) -> Mapping[Case, Measured]:
    """Runs all arms in the guest. Raises LabError, also if a run is not ok."""
    asked = arms()
    found = {arm["name"]: arm for arm in summarize(run_in_guest("link", list(asked.values()), results, report))["arms"]}
    return {case: found[arm.name] for case, arm in asked.items()}


def write(path: Path, report: Report) -> None:
    """Runs all arms and writes the document. Raises LabError."""
    check_document(path, _STEP)
    with tempfile.TemporaryDirectory(prefix="priolab-link-") as results:
        text = link_document.document(measure(Path(results), report))
    write_document(path, text.encode(), _STEP)
    report.say(text)


add_to = writing(write)
