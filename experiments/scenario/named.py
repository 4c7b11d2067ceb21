"""Named scenarios: the files in catalogue/, and the user's own scenario files.

An entry with a card is a scenario that spoils the effect of LOWAT. The entries with a card are the sabotage catalogue.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import Meta, Struct

from priolab.analysis.loads.layer import Layer
from priolab.common.errors import ScenarioError
from priolab.common.formats.toml_schema import Word, declared, read_toml
from priolab.experiments.scenario.knobs import KNOBS, scenario_from

_CATALOGUE = Path(__file__).parent / "catalogue"
_NEAR = 0.7  # least similarity for a suggestion; with less, RATE would be suggested for REPEAT, an execution option

LAYERS: Mapping[str, str] = MappingProxyType(
    {
        Layer.SECOND: "the second front",
        Layer.SECOND_UNSENT: "the second front's send buffer",
        Layer.BETWEEN_QUEUE: "the queue between the fronts",
        Layer.BETWEEN: "propagation between the fronts",
        Layer.PENDING: "the front, where bytes are still reorderable",
        Layer.COMMITTED: "the front's output queue",
        Layer.SERVICE: "the front, while its server was at work",
        Layer.FLOW: "HTTP/2's flow control",
        Layer.UNSENT: "the kernel's send buffer",
        Layer.RECEIVE_WINDOW: "TCP's receive window",
        Layer.QUEUE: "the bottleneck queue",
        Layer.CROSS: "the bottleneck queue, behind packets of other flows",
        Layer.PROPAGATION: "propagation",
        Layer.RECOVERY: "recovery from loss",
        Layer.RECORD: "the incomplete TLS record",
        "scheduler": "the front's scheduler",
        "front_buffers": "the front's buffer for each response",
        "origin": "the origin",
    }
)
"""Descriptions of the layers that can spoil LOWAT's effect.

The ledger counts how long bytes wait in some of these layers. In the others, such as the front's scheduler, no byte
waits.
"""


_Text = Annotated[str, Meta(min_length=1, description="a text that is not empty")]


class Card(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The explanation of how a scenario spoils the effect of LOWAT.

    see: the symptom. layer: the layer that causes the symptom, a key of LAYERS. tell: how to recognize this cause.
    cure: words KNOB=VALUE that restore the effect; None if the card names no cure.
    """

    see: _Text
    layer: Annotated[str, Meta(pattern=rf"^({'|'.join(LAYERS)})\Z", description=", ".join(LAYERS))]
    tell: _Text
    cure: _Text | None = None

    @property
    def cure_knobs(self) -> Mapping[str, str]:
        """The knobs that the cure sets, with their values; empty if the card names no cure."""
        pairs = (word.partition("=") for word in (self.cure or "").split())
        return {name: value for name, _, value in pairs}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A named scenario.

    knobs: the values of the knobs that the file sets. expect: the expected result. card: the explanation, if the
    scenario spoils the effect of LOWAT.
    """

    name: str
    title: str
    expect: str
    knobs: Mapping[str, str]
    card: Card | None = None


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    title: str | None = None
    expect: str = ""
    knobs: Annotated[Mapping[str, Word], Meta(description="a table of KNOB = value")] = {}
    card: Card | None = None


@cache
def _files() -> Mapping[str, Path]:
    """Returns the file of each scenario of the catalogue, by the scenario's name."""
    return {path.stem: path for path in sorted(_CATALOGUE.glob("*.toml"))}


@cache
def _entry(name: str) -> Entry:
    return _read(_files()[name])


@cache
def catalogue() -> Mapping[str, Entry]:
    """Returns the named scenarios by name."""
    return MappingProxyType({name: _entry(name) for name in _files()})


def sabotage() -> Mapping[str, Entry]:
    """Returns the named scenarios that spoil the effect of LOWAT, by name."""
    return {name: entry for name, entry in catalogue().items() if entry.card}


def read_entry(path: Path) -> Entry:
    """Reads a scenario file: `title`, `expect`, a table `knobs`, and optionally `card`. Raises ScenarioError.

    Checks the values of the knobs, too, which the lab's tests do for the catalogue.
    """
    entry = _read(path)
    scenario_from(entry.knobs)
    if entry.card:
        scenario_from({**entry.knobs, **entry.card.cure_knobs})
    return entry


def _read(path: Path) -> Entry:
    where = f"SCENARIO={path}"
    read = declared(where, read_toml("SCENARIO", path), _File)
    _check_knobs(where, read.knobs)
    if read.card:
        _check_cure(f"{where}: card: cure", read.card)
    knobs = {name: str(value) for name, value in read.knobs.items()}
    return Entry(name=path.stem, title=read.title or path.stem, expect=read.expect, knobs=knobs, card=read.card)


def _check_cure(where: str, card: Card) -> None:
    words = (card.cure or "").split()
    if bare := [word for word in words if "=" not in word]:
        raise ScenarioError(where, bare[0], "words KNOB=VALUE")
    if len(card.cure_knobs) < len(words):
        raise ScenarioError(where, str(card.cure), "each knob once")
    _check_knobs(where, card.cure_knobs)


def _check_knobs(where: str, table: Mapping[str, Any]) -> None:
    if strangers := [name for name in table if name not in KNOBS]:
        near = difflib.get_close_matches(strangers[0].upper(), KNOBS, n=2, cutoff=_NEAR)
        which = f"did you mean {' or '.join(near)}?" if near else ", ".join(KNOBS)
        allowed = f"knobs of the scenario ({which}); give execution options on the command line"
        raise ScenarioError(where, strangers[0], allowed)


def entry_of(text: str) -> Entry:
    """Returns the named scenario, or the scenario in a file. text: a name, or a path. Raises ScenarioError."""
    if text.endswith(".toml"):
        return read_entry(Path(text))
    if text not in _files():
        raise ScenarioError("SCENARIO", text, f"{', '.join(_files())}, or a path that ends in .toml")
    return _entry(text)
