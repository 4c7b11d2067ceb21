"""Tests of the servers and arms of `make late`, and of the rows of runs that are invalid."""

from dataclasses import replace
from pathlib import Path

import pytest

from priolab.analysis.reports.markdown import places as marked
from priolab.common.errors import LabError
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import document_of
from priolab.experiments.execution.request import Arm
from priolab.extras.matrix import late, matrix_files
from priolab.extras.matrix.late_document import INVALID, Case, places
from priolab.extras.matrix.tests.unit.made_up import NOTHING, cell, matrix

FIELD = "header+no7540"


def test_fronts() -> None:
    """The newest version of each server that follows RFC 9218 alone is measured, and nginx for comparison."""
    blind = cell(50, 50, control=None, lowat=None)
    found = matrix(
        replace(blind, server="nginx@bookworm", dialect=FIELD),
        replace(blind, server="nginx@sid", dialect=FIELD),
        replace(cell(), server="go@1.26", dialect=FIELD),
        replace(cell(), server="go@1.27", dialect=FIELD),
        replace(cell(), server="node@bookworm", dialect=FIELD),
        replace(blind, server="node@sid", dialect=FIELD),
        replace(cell(lowat=NOTHING), server="envoy@1", dialect=FIELD),
        replace(cell(), server="h2o@bookworm", dialect="plain"),
    )
    assert late.fronts(found) == [("nginx@sid", "on"), ("go@1.27", "on"), ("envoy@1", "on"), ("envoy@1", "off")]


def test_arms() -> None:
    """Each server has an arm with LOWAT and one without, in the dialect of RFC 9218 alone."""
    made = late.arms("tokens", [("go", "on")])
    assert [case.lowat for case in made] == ["none", "16384"]
    for arm in made.values():
        assert isinstance(arm, Arm)
        assert arm.scenario.dialect == FIELD


def test_an_invalid_run() -> None:
    """An invalid run has a row without numbers, and its reason in a sentence; no sentence judges it."""
    case = Case(server="apache@sid", buffering="on", lowat="16384")
    told = places({case: {INVALID: "the request came late"}}, {case: {INVALID: "too"}}, {}, "nginx")
    assert "| `apache@sid` | invalid |  |  |  |" in told["late"]
    assert told["late-invalid"].endswith("does not judge: `apache@sid`, LOWAT=16384: the request came late.")
    assert told["late-kept"] == ""
    assert told.keys() == marked(document_of("late-urgent")).keys()


def test_without_a_matrix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without docs/measured/matrix.json one line says what makes it."""
    monkeypatch.setattr(matrix_files, "DOCUMENT", tmp_path / "matrix.md")
    with pytest.raises(LabError, match=r"matrix\.json is missing; `make matrix` makes it"):
        late.STUDY.write(tmp_path / "late.md", Report(aside=True))
