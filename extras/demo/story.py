"""The story of the presenter's mode: steps, each with a pair of arms, and a closing slide without arms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from priolab.experiments.declared import declared, read_toml
from priolab.experiments.scenario.knobs import scenario_from
from priolab.extras.demo.plain_names import plain

_FILE = Path(__file__).with_name("story.toml")


@dataclass(frozen=True, kw_only=True)
class StoryStep:
    """A step of the story.

    compare: the knob in which the two arms differ. values: the value of this knob in each arm. knobs: the knobs that
    both arms share. speed: the speed of the film, as a multiple of real time. say: the speaker's notes. minute: when
    the step begins in the talk of five minutes; None if that talk leaves the step out. bet: a question that the
    audience answers before the film plays; None for none.
    """

    title: str
    text: str
    compare: str
    values: tuple[str, str]
    knobs: Mapping[str, str] = field(default_factory=dict)
    speed: float
    say: str
    minute: str | None = None
    bet: str | None = None

    @property
    def arms(self) -> tuple[dict[str, str], dict[str, str]]:
        """The knobs of each arm."""
        first, second = ({**self.knobs, self.compare: value} for value in self.values)
        return first, second

    @property
    def names(self) -> tuple[str, str]:
        """The plain name of each arm."""
        first, second = (plain(self.compare, value) for value in self.values)
        return first, second

    def as_document(self) -> dict[str, Any]:
        """The step as JSON for the page."""
        return {**vars(self), "names": self.names}


@dataclass(frozen=True, kw_only=True)
class Closing:
    """The closing slide. points: one sentence each. say, minute: as in a step."""

    title: str
    points: tuple[str, ...]
    say: str
    minute: str

    def as_document(self) -> dict[str, Any]:
        """The closing slide as JSON for the page."""
        return dict(vars(self))


class _Story(Struct, frozen=True, kw_only=True):
    steps: tuple[StoryStep, ...]
    closing: Closing


@cache
def steps() -> tuple[StoryStep, ...]:
    """Returns the steps of the story. Raises ScenarioError for unknown or conflicting knobs."""
    for step in _story().steps:
        for arm in step.arms:
            scenario_from(arm)
    return _story().steps


def closing() -> Closing:
    """Returns the closing slide."""
    return _story().closing


@cache
def _story() -> _Story:
    return declared(str(_FILE), read_toml("the story", _FILE), _Story)
