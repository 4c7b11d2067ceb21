"""Measures the scenarios that spoil the effect of LOWAT: `make sabotage` fills docs/measured/sabotage.md.

These scenarios are the sabotage catalogue. Each is measured without and with its cure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from priolab.analysis.reports.markdown import Table, filled
from priolab.analysis.reports.summary import longest_part
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.cli_request import joined_words
from priolab.experiments.execution.request import Arm, arms_for
from priolab.experiments.scenario.named import LAYERS, Card, Entry, catalogue, sabotage
from priolab.experiments.scenario.scenario import Scenario
from priolab.extras.studies.in_guest import run_in_guest

PLAIN = "maps"
"""The scenario whose effect the scenarios of the sabotage catalogue spoil."""

_TIMES = ("script first byte:", "script last byte:", "image last byte:", "longest part")
_HEAD = ("scenario", "LOWAT unset", *_TIMES, "with LOWAT", *_TIMES)


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

    def table(self) -> Table:
        """Returns the table: a row for each control and its treatment."""
        pairs = rows().items()
        return Table(
            head=_HEAD, rows=tuple((name, *_cells(self.of(*one)), *_cells(self.of(*two))) for name, (one, two) in pairs)
        )


def rows() -> dict[str, tuple[Case, Case]]:
    """Returns control and treatment of each row of the table, by its name.

    A cure that leads back to the unspoiled scenario has no row of its own.
    """
    cases, found = arms(), {}
    pairs = {"": (Role.CONTROL, Role.TREATMENT), "cured": (Role.CURED_CONTROL, Role.CURED_TREATMENT)}
    for name, entry in {PLAIN: catalogue()[PLAIN], **sabotage()}.items():
        for cured, (control, treatment) in pairs.items():
            arm = cases.get((name, control))
            if arm and (name == PLAIN or arm is not cases[PLAIN, Role.CONTROL]):
                label = f"{name}, `{entry.card.cure}`" if entry.card and cured else name
                found[label] = ((name, control), (name, treatment))
    return found


def _cells(arm: Mapping[str, Any]) -> tuple[str, ...]:
    times_ms = (arm["script"]["first_byte_ms"], arm["script"]["last_byte_ms"], arm["image"]["last_byte_ms"])
    longest = longest_part(arm["ledger"]) if arm["ledger"] else "-"
    return (arm["verdict"], *(f"{time_ms / 1000:.2f}" for time_ms in times_ms), longest)


def measure(results: Path, report: Report) -> SabotageResults:
    """Runs all arms in the guest. Raises LabError, also if a run is not ok."""
    unique = list({arm.name: arm for arm in arms().values()}.values())
    summary = run_in_guest("sabotage", unique, results, report).check().summary
    return SabotageResults(arms={arm["name"]: arm for arm in summary["arms"]})


def places(found: SabotageResults) -> dict[str, str]:
    """Returns the table of all scenarios, and the cards."""
    cards = (words(entry, entry.card) for entry in sabotage().values() if entry.card)
    return {"arms": found.table().markdown(), "cards": "\n\n".join(cards)}


def words(entry: Entry, card: Card) -> str:
    """Returns the title and the card of an entry, in Markdown."""
    told = {
        "See": card.see,
        "Layer": f"{LAYERS[card.layer]}.",
        "How to recognize it": card.tell,
        "Cure": f"`{card.cure}`",
    }
    items = "\n".join(filled(f"- **{name}**: {text}", hanging="  ") for name, text in told.items())
    return f"## {entry.name}\n\n{filled(f'{entry.title}: `{joined_words(entry.knobs)}`.')}\n\n{items}"


def _measure(results: Path, report: Report) -> Findings:
    return Findings(places=places(measure(results, report)))


add_to = Study(name="sabotage", step="the sabotage catalogue", measure=_measure).add_to
