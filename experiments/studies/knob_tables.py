"""Writes docs/knobs.md, the tables of all knobs: `python -m experiments.studies.knob_tables FILE`, or `make knobs`."""

import sys
from collections.abc import Iterable
from pathlib import Path

from experiments.execution.invocation import RUN_KNOBS, RunKnob
from experiments.scenario.knobs import KNOBS, Knob

_HEAD = """# Knobs

Words after `make experiment`, or after `.venv/bin/priolab run`. `make knobs` writes this page from the code.

## What is measured

{scenario}

`SERVER`, `LOWAT` and `CLIENT` take several values, with commas between: each combination is an arm. `make sweep` takes
lists of all of these ([sweeps.md](sweeps.md)).

## How it is run

{run}
"""


def document() -> str:
    """The page, as Markdown."""
    return _HEAD.format(scenario=_table(KNOBS.values()), run=_table(RUN_KNOBS.values()))


def _table(knobs: Iterable[Knob | RunKnob]) -> str:
    rows = [f"| `{knob.name}` | `{knob.default}` | {knob.allowed} | {knob.meaning} |" for knob in knobs]
    return "\n".join(["| knob | default | allowed | meaning |", "|---|---|---|---|", *rows])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document())
