"""Compares predictions with measurements in the virtual fabric: `make model` writes docs/measured/model.md.

The study has two parts: cases that were looked at when the model was made, and networks that were drawn by seed
afterwards (extras/studies/networks.py).
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from priolab.analysis.loads import model
from priolab.analysis.reports.summary import summarize
from priolab.experiments.commands.checked_run import run_checked
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import writing
from priolab.experiments.execution.invocation import split_words
from priolab.experiments.execution.request import Arm, Manner, Request
from priolab.experiments.results.run_folder import check_document, write_document
from priolab.experiments.run.fabrics import choose
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies import networks
from priolab.extras.studies.networks import draw
from priolab.extras.studies.predictions_document import Compared, compared

_FABRIC = "virtual"
_STEP = "the model's error"
_LOOKED_AT = 480
_SEED, _NETWORKS = 3, 150
_DEADLINE_NS = 3600 * 10**9
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
    "LOWAT=65536 SERVER=h2o CC=bbr RATE=5mbit DELAY=80ms",
    "LOWAT=262144 SERVER=caddy CC=reno RATE=20mbit DELAY=20ms",
    "LOWAT=none SERVER=h2o RATE=100mbit DELAY=50ms",
)
"""The cases that are predicted and measured. They vary each term of the model."""


def write(path: Path, report: Report) -> None:
    """Predicts and runs all cases, and writes the document. Raises LabError."""
    check_document(path, _STEP)
    cases = [_arm(words, split_words(words.split())) for words in _CASES]
    drawn = [_arm(_name(knobs), knobs) for knobs in draw(_SEED, _NETWORKS)]
    with tempfile.TemporaryDirectory(prefix="priolab-model-") as results:
        known, new = (
            compared(_run(name, arms, Path(results), report)) for name, arms in (("cases", cases), ("drawn", drawn))
        )
    text = _document(known, new)
    write_document(path, text.encode(), _STEP)
    report.say(text)


def _name(knobs: Mapping[str, str]) -> str:
    """Returns the knobs of a drawn network in words, without defaults."""
    return " ".join(f"{name}={value}" for name, value in knobs.items() if value != KNOBS[name].default)


def _arm(words: str, knobs: Mapping[str, str]) -> Arm:
    return Arm(name=words.replace("=", " "), knobs=with_defaults(knobs))


def _run(name: str, arms: Sequence[Arm], results: Path, report: Report) -> Mapping[str, Any]:
    """Runs an experiment, and returns its summary. A load may take as long as it likes: some have many losses."""
    fabric, why = choose(_FABRIC, [arm.scenario for arm in arms], None)
    manner = Manner(fabric=fabric, fabric_reason=why, load_deadline_ns=_DEADLINE_NS)
    request = Request(name=name, arms=tuple(arms), repeat=1, manner=manner, results=results)
    return summarize(run_checked(request, report))


def _document(known: Compared, new: Compared) -> str:
    meaning = (model.__doc__ or "").partition("\n\n")[2].strip()
    drawing = (networks.__doc__ or "").partition("\n\n")[2].strip()
    looked_at = f"{_LOOKED_AT} networks that were drawn like those below, with the seeds 1 and 2"
    parts = [
        "# The model",
        _prose(
            "The model computes the time of the script's first byte from the scenario, without a run. This is the "
            "docstring of `analysis/loads/model.py`:"
        ),
        f"```\n{meaning}\n```",
        _prose(
            "`make model` compares predictions with measurements, in the virtual fabric. Each scenario runs once. The "
            "tables have the time of the script's first byte, in milliseconds from the request of the measured load's "
            "page."
        ),
        "## Scenarios that were known",
        _prose(
            f"The terms of the model were found by looking at these runs, and at {looked_at}. The numbers of records "
            f"that a server has begun were measured in the drawn networks. {known.words}"
        ),
        known.table,
        "## Networks that nobody had looked at",
        _prose(
            f"These {_NETWORKS} networks were drawn with the seed {_SEED} after the last change of the model. From the "
            "docstring of `extras/studies/networks.py`:"
        ),
        f"```\n{drawing}\n```",
        _prose(new.words),
        new.table,
        "### No prediction",
        _prose("The model declines if the first byte may come too early or too late for a reason that it cannot know:"),
        new.declined,
        _prose(
            "Every run records its prediction (`prediction` in the summary). The lab's tests compare the measurements "
            "of their runs, and those of other drawn networks, with the predictions."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _prose(words: str) -> str:
    return fill(words, width=120, break_long_words=False, break_on_hyphens=False)


add_to = writing(write)
