"""Tests beliefs about TCP_NOTSENT_LOWAT: `make myths` fills docs/measured/myths.md, and draws its pictures.

A module of beliefs has them as a table of Belief.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from priolab.analysis.figures import picture
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.request import Arm
from priolab.extras.studies import belief_picture, kernel_beliefs, order_beliefs, transfer_beliefs
from priolab.extras.studies.belief import Belief, Found, placed

BELIEFS = (*transfer_beliefs.BELIEFS, *order_beliefs.BELIEFS, *kernel_beliefs.BELIEFS)
"""All beliefs, from each module that has some."""


def findings(measured: Sequence[tuple[Belief, Found]]) -> Findings:
    """Returns the marked places and the pictures. The study holds if each verdict is the one that is explained."""
    return Findings(
        places={name: text for belief, found in measured for name, text in belief.places(found).items()},
        beside={
            f"myths-{belief.name}.svg": picture.drawn(belief_picture.draw(belief, found)).encode()
            for belief, found in measured
        },
        holds=all(belief.holds(found) for belief, found in measured),
    )


def _measure(results: Path, report: Report) -> Findings:
    return findings([(belief, belief.measure(belief, results, report)) for belief in BELIEFS])


def arms() -> Iterator[Arm]:
    """Yields an arm for each case of each belief, without the files that a belief makes."""
    for belief in BELIEFS:
        for number, case in enumerate(belief.cases):
            knobs = {name: value for name, value in case.knobs.items() if value not in belief.files}
            yield Arm(name=f"{belief.name}-{number}", knobs=placed(knobs, {}))


add_to = Study(name="myths", step="the beliefs", measure=_measure, arms=arms).add_to
