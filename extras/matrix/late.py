"""Measures late urgent requests at servers that follow RFC 9218: `make late` fills late-urgent.md and writes .json.

docs/measured/matrix.json decides which servers read RFC 9218; the newest version of each is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from priolab.analysis.judgement.layers import Layer
from priolab.analysis.reports.summary import summarize
from priolab.client import dialects
from priolab.client.plan import PlanKind
from priolab.experiments.commands.checked_run import run_in_guest
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.commands.trial import Trial
from priolab.experiments.execution.request import Arm
from priolab.extras.matrix import equal_urgency, late_document, matrix_files
from priolab.extras.matrix.equal_urgency import Sequel, Sequels
from priolab.extras.matrix.late_document import INVALID, Case
from priolab.extras.matrix.matrix import Matrix

_STEP = "the late urgent requests"
_DIALECT = dialects.parse("header+no7540")
COMPARED = "nginx"
"""A server that does not read RFC 9218, for comparison."""

_LOWATS = (None, 16384)
_PAGES: Mapping[str, Mapping[str, str]] = {"late": {}, "tokens": {"GSO": "2"}}
"""The pages, each with further knobs. GSO=2: otherwise a packet buffer is larger than LOWAT=16384."""

EQUALS: Mapping[equal_urgency.Case, tuple[str, tuple[str, str]]] = {
    equal_urgency.Case.BOTH: ("twins", ("first", "second")),
    equal_urgency.Case.NEITHER: ("turns", ("first", "second")),
    equal_urgency.Case.INCREMENTAL_FIRST: ("mixed", ("pieces", "whole")),
    equal_urgency.Case.INCREMENTAL_SECOND: ("mixed", ("whole", "pieces")),
}
"""For each case the page, and its resources in the order of the requests."""


def fronts(matrix: Matrix) -> list[tuple[str, str]]:
    """Returns the servers to measure, each with BUFFERING, in the order of the matrix.

    First comes the newest version of COMPARED. Then comes the newest version of each server that follows RFC 9218 when
    a client uses no other signal. A server that loses the order in the front comes once more, with BUFFERING=off.
    """
    older = {old.name for old, _ in matrix.successions()}
    newest = {name: matrix.cells.get((name, str(_DIALECT))) for name in matrix.fronts if name not in older}
    compared = [name for name in newest if matrix.fronts[name].server == COMPARED]
    follow = [name for name, cell in newest.items() if cell and cell.honoured and name not in compared]
    lose = [name for name in follow if matrix.cells[name, str(_DIALECT)].layer is Layer.FRONT]
    return [*((name, "on") for name in [*compared, *follow]), *((name, "off") for name in lose)]


def arms(page: str, servers: Sequence[tuple[str, str]]) -> dict[Case, Arm]:
    """Returns the arms of all rows about a page. servers: as `fronts` returns them."""
    loads = Trial(plan=PlanKind.LOADS, page=page, dialect=_DIALECT, loads=3)
    trials = [replace(loads, lowat_bytes=each) for each in _LOWATS]
    return {
        Case(server=server, buffering=buffering, lowat=trial.knobs["LOWAT"]): trial.arm(
            f"{server}-{buffering}-{trial.knobs['LOWAT']}", **_PAGES[page], SERVER=server, BUFFERING=buffering
        )
        for server, buffering in servers
        for trial in trials
    }


def measure(
    page: str, servers: Sequence[tuple[str, str]], results: Path, report: Report
) -> Mapping[Case, Mapping[str, Any]]:
    """Runs the arms of a page in the guest; returns the arms of the summary. Raises LabError, also if a run failed.

    The arm of an invalid run has the key INVALID alone, with the reason.
    """
    asked = arms(page, servers)
    experiment = run_in_guest(page, list(asked.values()), results, report, invalid_too=True)
    found = {arm["name"]: arm for arm in summarize(experiment)["arms"]}
    found |= {run.arm: {INVALID: run.record.reason} for run in experiment.runs if run.status == "invalid"}
    return {case: found[arm.name] for case, arm in asked.items()}


def probes(servers: Sequence[str], results: Path, report: Report) -> Sequels:
    """Runs the probes of two responses of the same urgency in the guest. Raises LabError, also if a run is not ok."""
    asked = {
        (server, case): Trial(page=page, dialect=_DIALECT, first=names[0]).arm(
            f"{server}-{page}-{names[0]}", SERVER=server
        )
        for server in servers
        for case, (page, names) in EQUALS.items()
    }
    found = {run.arm: run.record.probe for run in run_in_guest("equals", list(asked.values()), results, report).runs}
    made: dict[str, dict[equal_urgency.Case, Sequel]] = {}
    for (server, case), arm in asked.items():
        record = found[arm.name]
        assert record is not None  # a probe that is ok has a record
        made.setdefault(server, {})[case] = Sequel(
            names=EQUALS[case][1], steps=record.steps, important=record.important, served=record.served
        )
    return made


def _measure(results: Path, report: Report) -> Findings:
    servers = fronts(matrix_files.documented())
    late, pieces = (measure(page, servers, results, report) for page in _PAGES)
    equals = probes([server for server, buffering in servers if buffering == "on"], results, report)
    return Findings(
        places=late_document.places(late, pieces, equals, COMPARED),
        beside={"late-urgent.json": equal_urgency.dumped(equals).encode()},
    )


STUDY = Study(name="late-urgent", step=_STEP, measure=_measure)
add_to = STUDY.add_to
