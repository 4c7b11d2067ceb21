"""Compares predictions with measurements in the virtual fabric: `make model` writes docs/model.md."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.loads import model
from analysis.reports.predictions import Row, markdown, median_error, rows
from analysis.reports.summary import summarize
from experiments.commands.console import Report
from experiments.commands.options import writing
from experiments.execution.invocation import split_words
from experiments.execution.request import Arm, Manner, Request
from experiments.results.run_folder import check_document, write_document
from experiments.run.fabrics import choose
from experiments.scenario.knobs import with_defaults
from experiments.studies.checked_run import run_checked

_FABRIC = "virtual"
_STEP = "the model's error"
_NEAR = 0.1
_CASES = (
    "LOWAT=none",
    "LOWAT=524288",
    "LOWAT=131072",
    "LOWAT=65536",
    "LOWAT=16384",
    "LOWAT=4096 GSO=2",
    "LOWAT=none SERVER=h2o",
    "LOWAT=131072 SERVER=h2o",
    "LOWAT=16384 SERVER=h2o",
    "LOWAT=65536 SERVER=h2o JS_DELAY=1s",
    "LOWAT=none CC=bbr",
    "LOWAT=131072 CC=bbr",
    "LOWAT=16384 CC=bbr",
    "LOWAT=16384 CC=bbr GSO=2",
    "LOWAT=131072 CC=reno",
    "LOWAT=4096 CC=reno GSO=2",
    "LOWAT=131072 QUEUE=1000 RELOADS=4",
    "LOWAT=32768 QUEUE=100",
    "LOWAT=none SNDBUF=stock",
    "LOWAT=none SNDBUF=stock CC=bbr RELOADS=4",
    "LOWAT=131072 RELOADS=0",
    "LOWAT=65536 RELOADS=0",
    "LOWAT=16384 JS_DELAY=3s",
    "LOWAT=65536 JS_DELAY=1s DELAY_UP=100ms",
    "LOWAT=none RATE=128kbit RELOADS=1",
    "LOWAT=131072 RATE=128kbit RELOADS=1",
    "LOWAT=16384 RATE=128kbit RELOADS=1 CC=bbr",
    "LOWAT=65536 RATE=1mbit DELAY=50ms",
    "LOWAT=none RATE=10mbit DELAY=50ms",
    "LOWAT=65536 RATE=10mbit DELAY=50ms",
    "LOWAT=131072 RATE=unlimited DELAY=0ms",
    "LOWAT=131072 PRIORITY=none",
    "LOWAT=131072 SIZE=204800",
)
"""The cases that are predicted and measured. They vary each term of the model. Runs like these suggested the terms, but
no number was fitted to the runs."""


def write(path: Path, report: Report) -> None:
    """Predicts and runs all cases, and writes the document. Raises LabError."""
    check_document(path, _STEP)
    found: list[Row] = []
    arms = [_arm(words) for words in _CASES]
    with tempfile.TemporaryDirectory(prefix="priolab-model-") as results:
        for server in dict.fromkeys(arm.scenario.server for arm in arms):
            own = tuple(arm for arm in arms if arm.scenario.server == server)
            found += rows(_run(own, Path(results), report))
    text = _document(found)
    write_document(path, text.encode(), _STEP)
    report.say(text)


def _arm(words: str) -> Arm:
    return Arm(name=words.replace("=", " "), knobs=with_defaults(split_words(words.split())))


def _run(arms: tuple[Arm, ...], results: Path, report: Report) -> Mapping[str, Any]:
    """Runs an experiment of these arms, which all have the same SERVER. Returns its summary."""
    fabric, why = choose(_FABRIC, [arm.scenario for arm in arms], None)
    request = Request(
        name="model",
        arms=arms,
        repeat=1,
        manner=Manner(
            fabric=fabric,
            fabric_reason=why,
        ),
        results=results,
    )
    return summarize(run_checked(request, report))


def _document(found: list[Row]) -> str:
    errors = [abs(row.error) for row in found]
    within = sum(error <= _NEAR for error in errors) / len(errors)
    meaning = (model.__doc__ or "").partition("\n\n")[2].strip()
    lines = [
        "# The model",
        "",
        "The model computes the time of the script's first byte from the scenario, without a run. This is the",
        "docstring of `analysis/loads/model.py`:",
        "",
        "```",
        meaning,
        "```",
        "",
        f"`make model` compares predictions with measurements, in the virtual fabric: {len(found)} scenarios, each run",
        "once. The terms of the model were found by looking at such runs, but no number in the model was fitted to",
        "runs. The table has the time of the script's first byte, in milliseconds from the request of the measured",
        "load's page.",
        "",
        f"The median error is {median_error(found):.1%}, the largest {max(errors):.1%};",
        f"{within:.0%} of the errors are at most {_NEAR:.0%}.",
        "",
        markdown(found),
        "Every run records its prediction (`prediction` in the summary). The lab's tests compare the measurements of",
        "their runs with these predictions.",
    ]
    return "\n".join(lines) + "\n"


add_to = writing(write)
