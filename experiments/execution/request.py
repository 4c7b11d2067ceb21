"""The request for an experiment: its arms and the execution options."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from priolab.client.plan import PlanKind
from priolab.common.tuning import TunerKind
from priolab.experiments.execution.labels import labels
from priolab.experiments.results.run_options import RunOptions
from priolab.experiments.scenario.knobs import NAMED_BY_PATH, SEVERAL, check_together, scenario_from, with_defaults
from priolab.experiments.scenario.scenario import Scenario

if TYPE_CHECKING:
    from priolab.experiments.hosts.fabric import Fabric


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A scenario inside an experiment. knobs: the scenario's knobs, defaults included."""

    name: str
    knobs: Mapping[str, str]

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that the knobs describe."""
        return scenario_from(self.knobs)


def arms_for(knobs: Mapping[str, str], *, control: bool) -> list[Arm]:
    """Builds the arms: the control, and a treatment for each value of LOWAT.

    The knobs of SEVERAL may have several values, too; each combination of these has its own arms. Values
    are separated by commas; a repeated value makes no further arm. For a probe one arm is built, because LOWAT has no
    effect on a probe. Raises ScenarioError.

    control: True to add the control even if `none` is not among the values of LOWAT.
    """
    complete = with_defaults(knobs)
    several = {name: _values(complete[name]) for name in SEVERAL}
    check_together(several)
    known_as = {name: labels(values, NAMED_BY_PATH.get(name)) for name, values in several.items()}
    arms = []
    for values in product(*several.values()):
        chosen = dict(zip(several, values, strict=True))
        prefix = "".join(
            f"{SEVERAL[name]}{known_as[name][value]}-" for name, value in chosen.items() if len(several[name]) > 1
        )
        of_these = _arms_of(complete | chosen, control=control)
        arms += [replace(arm, name=prefix + arm.name) for arm in of_these]
    return arms


def _values(text: str) -> list[str]:
    """Splits the text at its commas. Returns the values, each once."""
    return list(dict.fromkeys(value.strip() for value in text.split(",")))


def _arms_of(knobs: Mapping[str, str], *, control: bool) -> list[Arm]:
    values = _values(knobs["LOWAT"])
    scenarios = {value: scenario_from({**knobs, "LOWAT": value}) for value in values}
    if any(scenario.plan is PlanKind.PROBE for scenario in scenarios.values()):
        return [Arm(name="probe", knobs={**knobs, "LOWAT": values[0]})]
    treatments = {scenario.lowat: value for value, scenario in scenarios.items()}
    arms = []
    if control or None in treatments:
        arms.append(Arm(name="control", knobs={**knobs, "LOWAT": "none"}))
    arms += [
        Arm(name=f"lowat-{lowat}", knobs={**knobs, "LOWAT": value})
        for lowat, value in treatments.items()
        if lowat is not None
    ]
    return arms


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunOptions):
    """Execution options that all runs of an experiment or sweep share.

    fabric_reason: why this fabric was chosen. load_deadline_ns: the longest page load, in link time; None for a
    generous value that is derived from link and page. tuner: the tuner for LOWAT=auto.
    """

    fabric: "Fabric"
    fabric_reason: str
    load_deadline_ns: int | None = None
    tuner: TunerKind = TunerKind.BPF


@dataclass(frozen=True, kw_only=True)
class Request:
    """An experiment to run.

    repeat: the number of repetitions. results: the folder for results. seed: the seed of the first repetition; each
    further repetition adds 1. side_by_side: the number of runs carried out at once; None for as many as the machine can
    carry out. reuse: True to use a finished experiment that has the same fingerprint, if any.
    """

    name: str
    arms: tuple[Arm, ...]
    repeat: int
    run_settings: RunSettings
    results: Path
    seed: int = 1
    side_by_side: int | None = None
    reuse: bool = False
