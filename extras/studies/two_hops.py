"""Measures two fronts, one behind the other: `make two-hops` writes docs/measured/two-hops.md and its pictures.

In each case LOWAT is set at neither front, at the front, at the second front, and at both.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import MappingProxyType

from priolab.analysis.figures import ledger_bar, picture
from priolab.analysis.records.runs import Experiment
from priolab.analysis.reports.summary import summarize
from priolab.experiments.commands.checked_run import run_in_guest
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import writing
from priolab.experiments.execution.request import Arm
from priolab.experiments.results.run_folder import check_document, write_document
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies import two_hops_document
from priolab.extras.studies.two_hops_document import Case

_STEP = "the two hops"
_LOWAT = KNOBS["LOWAT"].default
_LOWATS = tuple(product(("none", _LOWAT), repeat=2))
"""The values of LOWAT and VIA_LOWAT in the four arms of a case."""

_SLOW_BETWEEN = {"RATE": "1250kbps", "DELAY": "20ms", "DELAY_UP": "20ms", "VIA_RATE": "128kbps", "VIA_DELAY": "50ms"}

CASES: Mapping[str, Case] = MappingProxyType(
    {
        "client": Case(
            title="The slow link is the client's",
            text="The usual case: the network between the fronts is fast, and the client's link is slow. All bytes soon"
            " are at the front, and the script waits there. Only the front's LOWAT matters, and it acts as without a"
            " second front.",
            knobs={"VIA": "nginx"},
            picture="two-hops-client.svg",
        ),
        "http1": Case(
            title="The slow link is between the fronts, with HTTP/1.1",
            text="With HTTP/1.1 each response has a TCP connection of its own, so the script never stands behind the"
            " image in a send buffer. The two connections share the link, whatever the client asked for. LOWAT of the"
            " front changes nothing, and LOWAT of the second front little.",
            knobs={"VIA": "nginx", **_SLOW_BETWEEN},
            picture=None,
        ),
        "http2": Case(
            title="The slow link is between the fronts, with HTTP/2",
            text="With HTTP/2 both responses share a connection, and Caddy gives each of them a window of 4 MiB. So the"
            " second front hands the whole image to its kernel before the origin has the script. The script waits there"
            " as it waits at a front alone, and LOWAT of the front cannot change that. LOWAT of the second front does."
            " After that h2o divides the link evenly between image and script, because Caddy passes no priorities on.",
            knobs={"SERVER": "caddy", "VIA": "h2o", "VIA_HTTP": "2", **_SLOW_BETWEEN},
            picture="two-hops-between.svg",
        ),
        "windows": Case(
            title="Small windows between the fronts",
            text="HAProxy gives each stream a window of 64 KiB, so little of the image can be in the second front's"
            " kernel. So the window has the effect of a LOWAT. But it also limits the rate, to one window per round"
            " trip.",
            knobs={"SERVER": "haproxy", "VIA": "h2o", "VIA_HTTP": "2", **_SLOW_BETWEEN},
            picture=None,
        ),
    }
)
"""The cases by name, in the order of the document."""


def _arms(case: Case) -> tuple[Arm, ...]:
    return tuple(
        Arm(name=f"front-{lowat}-second-{via_lowat}", knobs=with_defaults({**case.knobs, **_knobs(lowat, via_lowat)}))
        for lowat, via_lowat in _LOWATS
    )


def _knobs(lowat: str, via_lowat: str) -> Mapping[str, str]:
    return {"LOWAT": lowat, "VIA_LOWAT": via_lowat}


def measure(name: str, case: Case, results: Path, report: Report) -> Experiment:
    """Runs the arms of a case in the guest. Raises LabError, also if a run is not ok."""
    return run_in_guest(f"two-hops-{name}", _arms(case), results, report)


def write(path: Path, report: Report) -> None:
    """Runs all cases, and writes the document and the pictures beside it. Raises LabError."""
    check_document(path, _STEP)
    found = {}
    with tempfile.TemporaryDirectory(prefix="priolab-two-hops-") as results:
        for name, case in CASES.items():
            experiment = measure(name, case, Path(results), report)
            arms = {arm["name"]: arm for arm in summarize(experiment)["arms"]}
            found[name] = (
                replace(case, knobs={**case.knobs, **dict.fromkeys(("LOWAT", "VIA_LOWAT"), f"none,{_LOWAT}")}),
                [{**arms[arm.name], "lowats": lowats} for arm, lowats in zip(_arms(case), _LOWATS, strict=True)],
            )
            if case.picture and (declaration := ledger_bar.draw(experiment)) is not None:
                svg, *_ = picture.save(declaration, Path(results), Path(case.picture).stem)
                write_document(path.with_name(case.picture), svg.read_bytes(), _STEP)
    text = two_hops_document.document(found)
    write_document(path, text.encode(), _STEP)
    report.say(text)


add_to = writing(write)
