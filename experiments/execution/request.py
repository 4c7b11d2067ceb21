"""What to run and how: the arms of an experiment, and everything that is not a scenario's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from client.plan import PlanKind
from experiments.scenario.knobs import KNOBS, scenario_from
from experiments.scenario.scenario import Scenario
from experiments.testbed.fabric import Fabric
from netem.shaper import Shaper
from proxy.tuner.tuner import TunerKind


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One scenario inside an experiment; knobs are all of its words, defaults included."""

    name: str
    knobs: Mapping[str, str]

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario the knobs describe."""
        return scenario_from(self.knobs)


def arms_for(knobs: Mapping[str, str], *, control: bool) -> list[Arm]:
    """A treatment for each value of LOWAT, and before them the control, LOWAT unset. Of each SERVER and CLIENT.

    Values are separated by commas; one that is given twice is one arm. A probe is one arm, whatever LOWAT, which plays
    no part in it. Raises ScenarioError.
    """
    complete = {name: knobs.get(name, knob.default) for name, knob in KNOBS.items()} | dict(knobs)
    several = {name: _values(complete[name]) for name in ("SERVER", "CLIENT")}
    arms = []
    for values in product(*several.values()):
        chosen = dict(zip(several, values, strict=True))
        prefix = "".join(f"{value}-" for name, value in chosen.items() if len(several[name]) > 1)
        of_these = _arms_of(complete | chosen, control=control)
        arms += [replace(arm, name=prefix + arm.name) for arm in of_these]
    return arms


def _values(text: str) -> list[str]:
    """What stands between commas, each once."""
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
class Manner:
    """How every run of a batch is made: in which fabric and why in that one, and with which instruments.

    shaper: what the link is to be made of; None leaves it to the fabric.
    sample_ns: how often the front's socket and the link's queue are looked at, None for hardly at all.
    load_deadline_ns: longest page load, in link time, None for a generous one derived from the link.
    tuner: what LOWAT=auto is to be done by; None leaves it to what can be used.
    capture: whether packets are written down.
    """

    fabric: Fabric
    fabric_reason: str
    sample_ns: int | None
    shaper: Shaper | None = None
    load_deadline_ns: int | None = None
    tuner: TunerKind | None = None
    capture: bool = False


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to do: arms, how often, how, where the folder goes.

    seed: of the first repetition; each further one has the next.
    side_by_side: how many arms at once, None for as many as this machine bears.
    reuse: whether a finished experiment that must come to the same will do.
    """

    name: str
    arms: tuple[Arm, ...]
    repeat: int
    manner: Manner
    results: Path
    seed: int = 1
    side_by_side: int | None = None
    reuse: bool = False
