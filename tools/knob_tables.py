"""Fills docs/reference/knobs.md with the tables of all knobs, and compose.yaml with those of the link: `make knobs`."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from priolab.analysis.reports.markdown import Table, with_places
from priolab.experiments.execution.cli_request import RUN_KNOBS, RunKnob
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.knobs import KNOBS
from priolab.netem.link_options import LINK_OPTIONS

_OF_THE_LINK = re.compile(r"( *# The knobs of the link, as `make knobs` writes them\.\n)(?: *[A-Z_]+: .*\n)*")


def document(before: str) -> str:
    """Returns docs/reference/knobs.md with the tables. before: the text of the page, in which they may be old."""
    return with_places(before, {"scenario": _table(KNOBS.values()), "run": _table(RUN_KNOBS.values())})


def _table(knobs: Iterable[Knob | RunKnob]) -> str:
    rows = tuple((f"`{knob.name}`", f"`{knob.default}`", knob.allowed, knob.meaning) for knob in knobs)
    return Table(head=("knob", "default", "allowed", "meaning"), rows=rows).markdown()


def services(before: str) -> str:
    """Returns compose.yaml with the knobs of the link. before: the file, in which they may be old."""
    lines = "".join(f"      {name}: ${{{name}:-{option.default}}}\n" for name, option in LINK_OPTIONS.items())
    return _OF_THE_LINK.sub(lambda found: found[1] + lines, before)


if __name__ == "__main__":
    for file, filled in zip(map(Path, sys.argv[1:]), (document, services), strict=True):
        file.write_text(filled(file.read_text()))
