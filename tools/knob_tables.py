"""Writes docs/reference/knobs.md, the tables of all knobs: `make knobs`, or this module with the file's name."""

import sys
from collections.abc import Iterable
from pathlib import Path

from priolab.analysis.reports.markdown import Table
from priolab.experiments.execution.invocation import RUN_KNOBS, RunKnob
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.knobs import KNOBS

_HEAD = """# Knobs

Knobs are settings, given as `NAME=VALUE` after `make experiment` or `.venv/bin/priolab run`. `make knobs` writes this
page from the code.

## What is measured

{scenario}

Each combination of values is an arm. `make sweep` takes several values of every knob in this table
([sweeps.md](../guide/sweeps.md)).

## How it is run

{run}
"""


def document() -> str:
    """Returns docs/reference/knobs.md as Markdown."""
    return _HEAD.format(scenario=_table(KNOBS.values()), run=_table(RUN_KNOBS.values()))


def _table(knobs: Iterable[Knob | RunKnob]) -> str:
    rows = tuple((f"`{knob.name}`", f"`{knob.default}`", knob.allowed, knob.meaning) for knob in knobs)
    return Table(head=("knob", "default", "allowed", "meaning"), rows=rows).markdown()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document())
