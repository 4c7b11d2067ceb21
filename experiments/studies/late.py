"""Measures late urgent requests at servers that follow RFC 9218: `make late` writes docs/late-urgent.md."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.reports import late_document
from analysis.reports.late_document import Case
from analysis.reports.summary import summarize
from experiments.commands.console import Report
from experiments.execution.request import Arm
from experiments.results.run_folder import check_document, write_document
from experiments.scenario.knobs import with_defaults
from experiments.studies.checked_run import run_in_guest

_STEP = "the late urgent requests"
_ON = ("nginx", "lighttpd", "nghttpx", "nghttpx@sid", "node@sid", "envoy", "go")
_FRONTS = (*((server, "on") for server in _ON), ("node@sid", "off"), ("envoy", "off"))
"""Servers, each with BUFFERING: nginx, for comparison, and those that follow RFC 9218 if a client speaks it alone."""

_LOWATS = ("none", "16384")
_COMMON = {"DIALECT": "header+no7540"}
_PAGES: Mapping[str, Mapping[str, str]] = {"late": {}, "tokens": {"GSO": "2"}}
"""The pages, each with further knobs. GSO=2: otherwise a packet buffer is larger than LOWAT=16384."""


def arms(page: str) -> dict[Case, Arm]:
    """Returns the arms of all rows about a page."""
    return {
        Case(server=server, buffering=buffering, lowat=lowat): Arm(
            name=f"{server}-{buffering}-{lowat}",
            knobs=with_defaults(
                {
                    **_COMMON,
                    **_PAGES[page],
                    "PAGE": page,
                    "SERVER": server,
                    "BUFFERING": buffering,
                    "LOWAT": lowat,
                }
            ),
        )
        for server, buffering in _FRONTS
        for lowat in _LOWATS
    }


def measure(page: str, results: Path, report: Report) -> Mapping[Case, Mapping[str, Any]]:
    """Runs the arms of a page in the guest. Raises LabError, also if a run is not ok."""
    asked = arms(page)
    found = {arm["name"]: arm for arm in summarize(run_in_guest(page, list(asked.values()), results, report))["arms"]}
    return {case: found[arm.name] for case, arm in asked.items()}


def write(path: Path, report: Report) -> None:
    """Runs all arms and writes the document. Raises LabError."""
    check_document(path, _STEP)
    with tempfile.TemporaryDirectory(prefix="priolab-late-") as results:
        late, pieces = (measure(page, Path(results), report) for page in _PAGES)
    text = late_document.document(late, pieces)
    write_document(path, text.encode(), _STEP)
    report.say(text)
