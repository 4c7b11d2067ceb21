"""Compares predictions with measurements in the virtual fabric: `make model` fills docs/measured/model.md.

The study has two parts: cases that were looked at when the model was made, and networks that were drawn by seed
afterwards (extras/studies/networks.py).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from priolab.analysis.loads import model
from priolab.analysis.reports.markdown import Table
from priolab.analysis.reports.summary import summarize
from priolab.experiments.commands.checked_run import run_checked
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.invocation import joined_words, split_words
from priolab.experiments.execution.request import Arm, Manner, Request
from priolab.experiments.run.fabrics import choose
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies import networks
from priolab.extras.studies.networks import draw

_FABRIC = "virtual"
_NEAR = 0.1
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


@dataclass(frozen=True, kw_only=True)
class Row:
    """The measured and the predicted time of the focal resource's first byte, in one arm."""

    arm: str
    measured_ms: float
    predicted_ms: float

    @property
    def error(self) -> float:
        """The prediction's error as a fraction of the measured time; positive if the prediction is too late."""
        return (self.predicted_ms - self.measured_ms) / self.measured_ms


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The comparison for an experiment. reasons: why arms without a prediction have none, one for each of them."""

    rows: Sequence[Row]
    reasons: Sequence[str]

    def places(self, name: str) -> dict[str, str]:
        """Returns the marked places of the document about this experiment. name: the beginning of their names."""
        errors = [abs(row.error) for row in self.rows]
        cells = [
            (row.arm, f"{row.measured_ms:.0f}", f"{row.predicted_ms:.0f}", f"{row.error:+.1%}") for row in self.rows
        ]
        found = {
            "predicted": f"{len(errors)} of {len(errors) + len(self.reasons)}",
            "median": f"{median(errors):.1%}",
            "largest": f"{max(errors):.1%}",
            "near": f"{sum(error <= _NEAR for error in errors)} of the errors are at most {_NEAR:.0%}",
            "within": f"{sum(error <= model.LARGEST_ERROR for error in errors)} at most {model.LARGEST_ERROR:.0%}",
            "table": Table(head=("arm", "measured:", "predicted:", "error:"), rows=tuple(cells)).markdown(),
        }
        return {f"{name}-{place}": text for place, text in found.items()}

    @property
    def declined(self) -> str:
        """A Markdown list of the causes for which there is no prediction, each with the number of arms."""
        causes = Counter(reason.partition(": ")[2].partition(" may ")[0] or reason for reason in self.reasons)
        return "\n".join(f"- {cause}: {count}" for cause, count in causes.most_common())


def compared(summary: Mapping[str, Any]) -> Compared:
    """Compares the arms of a summary (priolab.analysis.reports.summary) that are ok."""
    reasons = [arm["prediction"]["reason"] for arm in summary["arms"] if arm["status"] == "ok" and arm["prediction"]]
    return Compared(rows=rows(summary), reasons=[reason for reason in reasons if reason is not None])


def rows(summary: Mapping[str, Any]) -> list[Row]:
    """Returns a row for each arm of a summary (priolab.analysis.reports.summary) that is ok and has a prediction."""
    return [
        Row(
            arm=arm["name"],
            measured_ms=arm["first_byte_ms"],
            predicted_ms=arm["prediction"]["first_byte_ms"],
        )
        for arm in summary["arms"]
        if arm["status"] == "ok" and arm["prediction"] and arm["prediction"]["first_byte_ms"] is not None
    ]


def median_error(found: Iterable[Row]) -> float:
    """Returns the median of the absolute values of the rows' errors."""
    return median(abs(row.error) for row in found)


def findings(known: Compared, new: Compared) -> Findings:
    """Returns the results. known: for the cases; new: for the drawn networks."""
    return Findings(
        places={
            "model": _docstring(model.__doc__),
            **known.places("known"),
            "networks": str(_NETWORKS),
            "seed": str(_SEED),
            "drawing": _docstring(networks.__doc__),
            **new.places("drawn"),
            "declined": new.declined,
        }
    )


def _docstring(text: str | None) -> str:
    """Returns a docstring without its first paragraph, as a block of Markdown."""
    return f"```\n{(text or '').partition(chr(10) * 2)[2].strip()}\n```"


def _measure(results: Path, report: Report) -> Findings:
    return findings(
        *(compared(_run(name, arms, results, report)) for name, arms in (("cases", _cases()), ("drawn", _drawn())))
    )


def _cases() -> list[Arm]:
    return [_arm(words, split_words(words.split())) for words in _CASES]


def _drawn() -> list[Arm]:
    return [_arm(_name(knobs), knobs) for knobs in draw(_SEED, _NETWORKS)]


def arms() -> list[Arm]:
    """Returns the arms of both parts."""
    return [*_cases(), *_drawn()]


def _name(knobs: Mapping[str, str]) -> str:
    """Returns the knobs of a drawn network in words, without defaults."""
    return joined_words({name: value for name, value in knobs.items() if value != KNOBS[name].default})


def _arm(words: str, knobs: Mapping[str, str]) -> Arm:
    return Arm(name=words.replace("=", " "), knobs=with_defaults(knobs))


def _run(name: str, arms: Sequence[Arm], results: Path, report: Report) -> Mapping[str, Any]:
    """Runs an experiment, and returns its summary. A load may take as long as it likes: some have many losses."""
    fabric, why = choose(_FABRIC, [arm.scenario for arm in arms], None)
    manner = Manner(fabric=fabric, fabric_reason=why, load_deadline_ns=_DEADLINE_NS)
    request = Request(name=name, arms=tuple(arms), repeat=1, manner=manner, results=results)
    return summarize(run_checked(request, report))


add_to = Study(name="model", step="the model's error", measure=_measure, arms=arms).add_to
