"""The story of the presenter's mode: steps, each with a pair of arms, and a closing slide without arms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from priolab.common.formats.toml_schema import declared, read_toml
from priolab.experiments.scenario.knobs import scenario_from
from priolab.extras.demo.plain_names import plain

_FILE = Path(__file__).with_name("story.toml")
START = "start"
"""The mark at which a film begins; the other marks are those that the page draws (page/marks.js)."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of the story.

    at: the chapter mark of the film at which it is said; None for the mark of the sentence before. claims: what the
    page shows at this mark, in the notation of tests/claims.py. talk: True if it says nothing about the film.
    """

    words: str
    at: str | None = None
    claims: tuple[str, ...] = ()
    talk: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError unless the sentence has claims or is talk."""
        if self.talk == bool(self.claims):
            raise ValueError(f"{self.words!r}: either claims, or talk = true")


def joined(sentences: Sequence[Sentence]) -> str:
    """Returns sentences as one text."""
    return " ".join(each.words for each in sentences)


def marks(sentences: Sequence[Sentence]) -> list[str]:
    """Returns the mark at which each sentence is said."""
    found: list[str] = []
    for each in sentences:
        found.append(each.at or (found[-1] if found else START))
    return found


def _said(sentences: Sequence[Sentence]) -> list[dict[str, str]]:
    """Returns the speaker's notes as JSON for the page."""
    return [{"words": each.words, "at": at} for each, at in zip(sentences, marks(sentences), strict=True)]


@dataclass(frozen=True, kw_only=True)
class StoryStep:
    """A step of the story.

    compare: the knob in which the two arms differ. values: the value of this knob in each arm. knobs: the knobs that
    both arms share. speed: the speed of the film, as a multiple of real time. say: the speaker's notes. minute: when
    the step begins in the talk of five minutes; None if that talk leaves the step out. bet: a question that the
    audience answers before the film plays; None for none. It says nothing about the film.
    """

    title: str
    text: tuple[Sentence, ...]
    compare: str
    values: tuple[str, str]
    knobs: Mapping[str, str] = field(default_factory=dict)
    speed: float
    say: tuple[Sentence, ...]
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
        stops = [mark for mark in dict.fromkeys(marks(self.text) + marks(self.say)) if mark != START]
        return {
            **vars(self),
            "text": joined(self.text),
            "say": _said(self.say),
            "stops": stops,
            "names": self.names,
        }


@dataclass(frozen=True, kw_only=True)
class Closing:
    """The closing slide. points: one sentence each. say, minute: as in a step."""

    title: str
    points: tuple[Sentence, ...]
    say: tuple[Sentence, ...]
    minute: str

    def as_document(self) -> dict[str, Any]:
        """The closing slide as JSON for the page."""
        return {**vars(self), "points": [each.words for each in self.points], "say": _said(self.say)}


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
