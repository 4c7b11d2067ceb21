"""Tests hypotheses about TCP_NOTSENT_LOWAT: `make myths` fills docs/measured/myths.md, and draws its pictures.

A module of hypotheses has them as a table of Hypothesis.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from priolab import Figure
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.request import Arm
from priolab.extras.studies import hypothesis_picture, kernel_hypotheses, order_hypotheses, transfer_hypotheses
from priolab.extras.studies.hypothesis import Found, Hypothesis, placed

HYPOTHESES = (*transfer_hypotheses.HYPOTHESES, *order_hypotheses.HYPOTHESES, *kernel_hypotheses.HYPOTHESES)
"""All hypotheses, from each module that has some."""


def findings(measured: Sequence[tuple[Hypothesis, Found]]) -> Findings:
    """Returns the marked places and the pictures. The study holds if each verdict is the one that is explained."""
    return Findings(
        places={name: text for hypothesis, found in measured for name, text in hypothesis.places(found).items()},
        beside={
            f"myths-{hypothesis.name}.svg": Figure(hypothesis_picture.draw(hypothesis, found)).svg.encode()
            for hypothesis, found in measured
        },
        holds=all(hypothesis.holds(found) for hypothesis, found in measured),
    )


def _measure(results: Path, report: Report) -> Findings:
    return findings([(hypothesis, hypothesis.measure(hypothesis, results, report)) for hypothesis in HYPOTHESES])


def arms() -> Iterator[Arm]:
    """Yields an arm for each case of each hypothesis, without the files that a hypothesis makes."""
    for hypothesis in HYPOTHESES:
        for number, case in enumerate(hypothesis.cases):
            knobs = {name: value for name, value in case.knobs.items() if value not in hypothesis.files}
            yield Arm(name=f"{hypothesis.name}-{number}", knobs=placed(knobs, {}))


add_to = Study(name="myths", step="the beliefs", measure=_measure, arms=arms).add_to
