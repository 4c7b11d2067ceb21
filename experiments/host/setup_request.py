"""What a set-up is for: a part of the lab, and the knobs of what will be run."""

import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from analysis.records.files import MOST_TOML_BYTES, content, parsed

_CATALOGUES = {"SCENARIO": Path("experiments/scenario/catalogue"), "SWEEP": Path("experiments/sweep/catalogue")}
_WITHOUT_PACKAGES = {"compose"}
"""Fabrics whose programs are in images."""

DEFAULT_SWEEP = "networks"
OF_A_RUN = frozenset({"REPEAT", "SEED", "FABRIC", "SHAPER", "TUNER", "SAMPLE", "DEADLINE", "RESULTS", "REUSE"})
"""What `make sweep` runs where nothing is said of a scenario, and the words that say nothing of one."""


class Part(StrEnum):
    """Parts of the lab, each with needs of its own."""

    EVERYTHING = "everything"
    EXPERIMENT = "experiment"
    ENVIRONMENT = "environment"
    CAPTURE = "capture"
    CHROMIUM = "chromium"
    SERVERS = "servers"
    TEST = "test"
    LINT = "lint"
    NOTEBOOK = "notebook"
    DEMO = "demo"
    SWEEP = "sweep"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What somebody wants to do. fabrics: none where nothing was said, which is as much as `auto`.

    servers: named. others: of use, but nobody named them.
    """

    part: Part = Part.EVERYTHING
    servers: frozenset[str] = field(default_factory=frozenset)
    others: frozenset[str] = field(default_factory=frozenset)
    clients: frozenset[str] = field(default_factory=frozenset)
    fabrics: frozenset[str] = field(default_factory=frozenset)
    capture: bool = False

    @property
    def runs_here(self) -> bool:
        """Whether anything will be run with programs of this machine. Tests run in every fabric that there is."""
        if self.part in (Part.ENVIRONMENT, Part.LINT):
            return False
        return self.part is Part.TEST or not self.fabrics or not self.fabrics <= _WITHOUT_PACKAGES

    @property
    def in_guests(self) -> bool:
        """Whether the guest kernel is needed: for FABRIC=virtual, and for auto, which prefers it."""
        if self.part is Part.TEST or not self.fabrics:
            return self.runs_here
        return self.runs_here and bool(self.fabrics & {"virtual", "auto"})


def words_in(text: str) -> list[str]:
    """The variables of make's command line, as make exports them, blanks escaped. Raises ValueError."""
    return [word.replace("$$", "$") for word in shlex.split(text)]


def asked_by(part: Part, words: Iterable[str], root: Path) -> Asked:
    """What these words NAME=VALUE come to. Names and values that nobody knows are left to whoever runs them.

    root: the folder that the named scenarios' catalogues are in.
    """
    values: dict[str, list[str]] = {}
    for word in words:
        name, _, value = word.partition("=")
        values[name] = [each.strip() for each in value.split(",")]
    is_default_sweep = part is Part.SWEEP and values.keys() <= OF_A_RUN
    if is_default_sweep:
        values["SWEEP"] = [DEFAULT_SWEEP]
    for name in _CATALOGUES:
        for entry in values.get(name, []):
            for knob, of_entry in _knobs_of(name, entry, root).items():
                values.setdefault(knob, of_entry)
    servers = frozenset(values.get("SERVER", []))
    return Asked(
        part=part,
        servers=frozenset() if is_default_sweep else servers,
        others=servers if is_default_sweep else frozenset(),
        clients=frozenset(values.get("CLIENT", [])),
        fabrics=frozenset(values.get("FABRIC", [])),
        capture="yes" in values.get("CAPTURE", []),
    )


def _knobs_of(name: str, entry: str, root: Path) -> dict[str, list[str]]:
    """The knobs of a named scenario or sweep, or of a file; none if there is no such entry."""
    path = Path(entry) if entry.endswith(".toml") else root / _CATALOGUES[name] / f"{entry}.toml"
    try:
        document = parsed(tomllib.loads, content(path, MOST_TOML_BYTES))
    except (OSError, ValueError):
        return {}
    tables: list[Any] = [document.get("knobs"), document.get("grid")]
    return {
        knob: [str(each) for each in (value if isinstance(value, list) else [value])]
        for table in tables
        if isinstance(table, dict)
        for knob, value in table.items()
    }
