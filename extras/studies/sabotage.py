"""Measures the scenarios that spoil the effect of LOWAT: `make sabotage` writes docs/measured/sabotage.md.

These scenarios are the sabotage catalogue. Each is measured without and with its cure.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from priolab.analysis.reports.summary import summarize
from priolab.experiments.commands.checked_run import run_in_guest
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import writing
from priolab.experiments.execution.request import Arm, arms_for
from priolab.experiments.results.run_folder import check_document, write_document
from priolab.experiments.scenario.named import LAYERS, Card, Entry, catalogue, sabotage
from priolab.experiments.scenario.scenario import Scenario
from priolab.extras.studies import sabotage_document
from priolab.extras.studies.sabotage_document import Spoiler

_STEP = "the sabotage catalogue"
PLAIN = "maps"
"""The scenario whose effect the scenarios of the sabotage catalogue spoil."""


class Role(StrEnum):
    """The role of an arm: control or treatment, without or with the cure of the catalogue's entry."""

    CONTROL = "control"
    TREATMENT = "treatment"
    CURED_CONTROL = "cured-control"
    CURED_TREATMENT = "cured-treatment"


Case = tuple[str, Role]
"""A case: the name of the catalogue's entry, and the role of the arm."""


def arms() -> dict[Case, Arm]:
    """Returns the arms of every scenario with a card, and of the unspoiled scenario. Equal scenarios share an arm."""
    cases: dict[Case, Arm] = {}
    seen: dict[Scenario, Arm] = {}
    for name, entry in {PLAIN: catalogue()[PLAIN], **sabotage()}.items():
        for role, knobs in _knobs(entry).items():
            arm = Arm(name=f"{name}.{role}", knobs=knobs)
            cases[name, role] = seen.setdefault(arm.scenario, arm)
    return cases


def _knobs(entry: Entry) -> dict[Role, Mapping[str, str]]:
    control, treatment = arms_for(entry.knobs, control=True)
    found: dict[Role, Mapping[str, str]] = {Role.CONTROL: control.knobs, Role.TREATMENT: treatment.knobs}
    cure = entry.card.cure_knobs if entry.card else {}
    if cure and "LOWAT" not in cure:  # a cure by LOWAT is the treatment itself
        found[Role.CURED_CONTROL] = {**control.knobs, **cure}
        found[Role.CURED_TREATMENT] = {**treatment.knobs, **cure}
    return found


@dataclass(frozen=True, kw_only=True)
class SabotageResults:
    """The results of all cases. arms: the arms in the experiment's summary, by name."""

    arms: Mapping[str, Mapping[str, Any]]

    @cached_property
    def _names(self) -> Mapping[Case, str]:
        return {case: arm.name for case, arm in arms().items()}

    def of(self, name: str, role: Role) -> Mapping[str, Any]:
        """Returns the summary's arm for a role of the catalogue's entry `name`. Raises KeyError."""
        return self.arms[self._names[name, role]]


def measure(results: Path, report: Report) -> SabotageResults:
    """Runs all arms in the guest. Raises LabError, also if a run is not ok."""
    unique = list({arm.name: arm for arm in arms().values()}.values())
    summary = summarize(run_in_guest("sabotage", unique, results, report))
    return SabotageResults(arms={arm["name"]: arm for arm in summary["arms"]})


def document(found: SabotageResults) -> str:
    """Returns the text of docs/measured/sabotage.md."""
    spoiled = [
        (spoiler(entry, entry.card), [found.of(name, role) for role in _knobs(entry)])
        for name, entry in sabotage().items()
        if entry.card
    ]
    plain = [found.of(PLAIN, role) for role in (Role.CONTROL, Role.TREATMENT)]
    return sabotage_document.document(plain, spoiled)


def spoiler(entry: Entry, card: Card) -> Spoiler:
    """Returns the text of a catalogue entry and its card, in the form that the document needs."""
    return Spoiler(
        name=entry.name,
        title=entry.title,
        knobs=" ".join(f"{name}={value}" for name, value in entry.knobs.items()),
        see=card.see,
        layer=LAYERS[card.layer],
        tell=card.tell,
        cure=card.cure,
    )


def write(path: Path, report: Report) -> None:
    """Runs all arms and writes the document. Raises LabError."""
    check_document(path, _STEP)
    with tempfile.TemporaryDirectory(prefix="priolab-sabotage-") as results:
        text = document(measure(Path(results), report))
    write_document(path, text.encode(), _STEP)
    report.say(text)


add_to = writing(write)
