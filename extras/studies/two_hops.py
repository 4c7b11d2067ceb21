"""Measures two fronts, one behind the other: `make two-hops` fills docs/measured/two-hops.md, and draws its pictures.

In each case LOWAT is set at neither front, at the front, at the second front, and at both.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from priolab import Experiment, Layer
from priolab.analysis.reports.markdown import Table
from priolab.analysis.reports.summary import longest_part
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.cli_request import joined_words
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.studies.in_guest import run_in_guest

_LOWAT = KNOBS["LOWAT"].default
_LOWATS = tuple(product(("none", _LOWAT), repeat=2))
"""The values of LOWAT and VIA_LOWAT in the four arms of a case."""

_SLOW_BETWEEN = {"RATE": "1250kbps", "DELAY": "20ms", "DELAY_UP": "20ms", "VIA_RATE": "128kbps", "VIA_DELAY": "50ms"}
CASES: Mapping[str, Mapping[str, str]] = {
    "client": {"VIA": "nginx"},
    "http1": {"VIA": "nginx", **_SLOW_BETWEEN},
    "http2": {"SERVER": "caddy", "VIA": "h2o", "VIA_HTTP": "2", **_SLOW_BETWEEN},
    "windows": {"SERVER": "haproxy", "VIA": "h2o", "VIA_HTTP": "2", **_SLOW_BETWEEN},
}
"""The knobs of each case, by the name of its place in the document."""

_PICTURES = {"client": "two-hops-client.svg", "http2": "two-hops-between.svg"}
_GROUPS: Mapping[str, tuple[Layer, ...]] = {
    "at the second front:": (Layer.SECOND, Layer.SECOND_UNSENT),
    "between the fronts:": (Layer.BETWEEN_QUEUE, Layer.BETWEEN),
    "at the front:": (
        Layer.PENDING,
        Layer.COMMITTED,
        Layer.SERVICE,
        Layer.FLOW,
        Layer.UNSENT,
        Layer.RECEIVE_WINDOW,
    ),
    "to the client:": (Layer.QUEUE, Layer.PROPAGATION, Layer.RECOVERY, Layer.RECORD, Layer.UNEXPLAINED),
}
"""The layers of the ledger by the hop to which they belong."""
_HEAD = ("LOWAT and VIA_LOWAT", "verdict", "script first byte:", "possible:", *_GROUPS, "longest part")


def measure(name: str, results: Path, report: Report) -> Experiment:
    """Runs the arms of a case in the guest. Raises LabError, also if a run is not ok."""
    return run_in_guest(f"two-hops-{name}", arms(name), results, report).check()


def arms(name: str) -> list[Arm]:
    """Returns the arms of a case."""
    return [
        Arm(
            name=f"front-{lowat}-second-{via_lowat}",
            knobs=with_defaults({**CASES[name], "LOWAT": lowat, "VIA_LOWAT": via_lowat}),
        )
        for lowat, via_lowat in _LOWATS
    ]


def place(name: str, arms: Sequence[Mapping[str, Any]]) -> str:
    """Returns the command of a case and the table of its arms; arms with equal results share a row.

    arms: those of the experiment's summary.
    """
    knobs = {**CASES[name], **dict.fromkeys(("LOWAT", "VIA_LOWAT"), f"none,{_LOWAT}")}
    rows = tuple(_row(lowats, arm) for lowats, arm in zip(_LOWATS, arms, strict=True))
    return f"    make experiment {joined_words(knobs)}\n\n{Table(head=_HEAD, rows=rows).merged().markdown()}"


def _row(lowats: Sequence[str], arm: Mapping[str, Any]) -> tuple[str, ...]:
    parts_ms = arm["ledger"]["parts_ms"]
    hops_ms = (sum(parts_ms.get(layer, 0) for layer in layers) for layers in _GROUPS.values())
    times_ms = (arm["first_byte_ms"], arm["oracle"]["first_byte_ms"], *hops_ms)
    return (
        " and ".join(lowat.replace("none", "unset") for lowat in lowats),
        arm["verdict"],
        *(f"{time_ms / 1000:.2f}" for time_ms in times_ms),
        longest_part(arm["ledger"]),
    )


def _measure(results: Path, report: Report) -> Findings:
    places, pictures = {}, {}
    for name in CASES:
        experiment = measure(name, results, report)
        places[name] = place(name, experiment.summary["arms"])
        if name in _PICTURES:
            pictures[_PICTURES[name]] = experiment.figure("ledger-bar").svg.encode()
    return Findings(places=places, beside=pictures)


add_to = Study(
    name="two-hops",
    step="the two hops",
    measure=_measure,
    arms=lambda: [arm for name in CASES for arm in arms(name)],
).add_to
