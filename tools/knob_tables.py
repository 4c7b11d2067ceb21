"""Fills docs/reference/knobs.md with the tables of all knobs: `make knobs`, or this module with the file's name."""

import sys
from collections.abc import Iterable
from pathlib import Path

from priolab.analysis.reports.markdown import Table, with_places
from priolab.experiments.execution.cli_request import RUN_KNOBS, RunKnob
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.knobs import KNOBS


def document(before: str) -> str:
    """Returns docs/reference/knobs.md with the tables. before: the text of the page, in which they may be old."""
    return with_places(before, {"scenario": _table(KNOBS.values()), "run": _table(RUN_KNOBS.values())})


def _table(knobs: Iterable[Knob | RunKnob]) -> str:
    rows = tuple((f"`{knob.name}`", f"`{knob.default}`", knob.allowed, knob.meaning) for knob in knobs)
    return Table(head=("knob", "default", "allowed", "meaning"), rows=rows).markdown()


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(document(page.read_text()))
