"""The request of a set-up: a part of the lab, and the knobs of what will be run."""

import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from common.formats.files import MOST_TOML_BYTES, content, parsed

_CATALOGUES = {"SCENARIO": Path("experiments/scenario/catalogue"), "SWEEP": Path("experiments/sweep/catalogue")}
_WITHOUT_PACKAGES = {"compose"}
"""Fabrics whose programs are in images."""

MAKE_VARIABLE = "PRIOLAB_KNOBS"
"""The environment variable with the words of make's command line."""

DEFAULT_SWEEP = "networks"
"""The sweep that `make sweep` runs without a word about the scenario."""

RUN_WORDS = ("REPEAT", "SEED", "FABRIC", "SHAPER", "TUNER", "SAMPLE", "DEADLINE", "RESULTS", "REUSE")
"""Execution options that apply to a sweep; they are no words about the scenario."""


class SetupPart(StrEnum):
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
class SetupRequest:
    """The request. fabrics: empty if none was named, which is as much as `auto`.

    servers: named. others: not named, but of use.
    """

    part: SetupPart = SetupPart.EVERYTHING
    servers: frozenset[str] = field(default_factory=frozenset)
    others: frozenset[str] = field(default_factory=frozenset)
    clients: frozenset[str] = field(default_factory=frozenset)
    fabrics: frozenset[str] = field(default_factory=frozenset)
    capture: bool = False

    @property
    def runs_here(self) -> bool:
        """True if anything will be run with programs of this machine. Tests run in every fabric that there is."""
        if self.part in (SetupPart.ENVIRONMENT, SetupPart.LINT):
            return False
        return self.part is SetupPart.TEST or not self.fabrics or not self.fabrics <= _WITHOUT_PACKAGES

    @property
    def in_guests(self) -> bool:
        """True if the guest kernel is needed: for FABRIC=virtual, and for auto, which prefers it."""
        if self.part is SetupPart.TEST or not self.fabrics:
            return self.runs_here
        return self.runs_here and bool(self.fabrics & {"virtual", "auto"})


def words_in(text: str) -> list[str]:
    """The variables of make's command line, as make exports them, blanks escaped. Raises ValueError."""
    return [word.replace("$$", "$") for word in shlex.split(text)]


def setup_request_from(part: SetupPart, words: Iterable[str], root: Path) -> SetupRequest:
    """Builds the request from words NAME=VALUE. Unknown names and values are left for the later command to refuse.

    root: the folder that holds the named scenarios' catalogues.
    """
    values: dict[str, list[str]] = {}
    for word in words:
        name, _, value = word.partition("=")
        values[name] = [each.strip() for each in value.split(",")]
    is_default_sweep = part is SetupPart.SWEEP and values.keys() <= set(RUN_WORDS)
    if is_default_sweep:
        values["SWEEP"] = [DEFAULT_SWEEP]
    for name in _CATALOGUES:
        for entry in values.get(name, []):
            for knob, of_entry in _knobs_of(name, entry, root).items():
                values.setdefault(knob, of_entry)
    servers = frozenset(values.get("SERVER", []))
    return SetupRequest(
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
