"""The request for a set-up: a part of the lab, and the knobs of the experiments to come."""

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from priolab.common.formats.files import MOST_TOML_BYTES, content, from_toml, parsed
from priolab.experiments.setup.matrix_servers import matrix_servers

_CATALOGUES = {"SCENARIO": Path("experiments/scenario/catalogue"), "SWEEP": Path("experiments/sweep/catalogue")}
_WITHOUT_PACKAGES = {"compose"}
"""Fabrics that need no packages on this machine, because their programs are in container images."""

CORE, SANDBOX = "core", "sandbox"
"""The values of TESTS for the core's tests, which need what an experiment needs and pytest, and for the sandbox's."""

_NO_SERVER = "none"  # a value of VIA

MAKE_VARIABLE = "PRIOLAB_KNOBS"
"""The environment variable with the NAME=VALUE arguments of make."""

DEFAULT_SWEEP = "networks"
"""The sweep that `make sweep` runs if no knob of the scenario is given."""

RUN_WORDS = ("REPEAT", "SEED", "FABRIC", "SHAPER", "TUNER", "SAMPLE", "DEADLINE", "RESULTS", "REUSE")
"""The execution options that apply to a sweep, too. They do not describe a scenario."""


class SetupPart(StrEnum):
    """The parts of the lab that can be set up."""

    EVERYTHING = "everything"
    EXPERIMENT = "experiment"
    ENVIRONMENT = "environment"
    KERNEL = "kernel"
    CAPTURE = "capture"
    COST = "cost"
    CHROMIUM = "chromium"
    FIREFOX = "firefox"
    WEBKIT = "webkit"
    SERVERS = "servers"
    MATRIX = "matrix"
    TEST = "test"
    LINT = "lint"
    NOTEBOOK = "notebook"
    DEMO = "demo"
    SITE = "site"
    SWEEP = "sweep"


@dataclass(frozen=True, kw_only=True)
class SetupRequest:
    """The request for a set-up.

    part: the part of the lab to set up. servers: the values of SERVER and VIA; without these servers the set-up fails.
    others: further servers, without which the set-up does not fail. clients: the values of CLIENT. fabrics: the values
    of FABRIC; an empty set means `auto`. capture: True if packets will be captured: with CAPTURE=yes, and with VIA.
    tests_need: what the tests to come need beside what an experiment needs, by the names of
    tests/support/capabilities.py; None for all tests.
    """

    part: SetupPart = SetupPart.EVERYTHING
    servers: frozenset[str] = field(default_factory=frozenset)
    others: frozenset[str] = field(default_factory=frozenset)
    clients: frozenset[str] = field(default_factory=frozenset)
    fabrics: frozenset[str] = field(default_factory=frozenset)
    capture: bool = False
    tests_need: frozenset[str] | None = None

    def tests(self, *names: str) -> bool:
        """Returns True if the request is for tests that need something with one of these names."""
        return self.part is SetupPart.TEST and (self.tests_need is None or not self.tests_need.isdisjoint(names))

    @property
    def runs_here(self) -> bool:
        """True if runs will use programs of this machine: in tests, and in every fabric except compose."""
        if self.part in (SetupPart.ENVIRONMENT, SetupPart.KERNEL, SetupPart.LINT, SetupPart.SITE):
            return False
        return self.part is SetupPart.TEST or not self.fabrics or not self.fabrics <= _WITHOUT_PACKAGES

    @property
    def in_guests(self) -> bool:
        """True if the guest kernel is needed: for FABRIC=virtual, and for FABRIC=auto, which prefers guests."""
        if self.part is SetupPart.KERNEL:
            return True
        if self.part is SetupPart.TEST or not self.fabrics:
            return self.runs_here
        return self.runs_here and bool(self.fabrics & {"virtual", "auto"})


def words_in(text: str) -> list[str]:
    """Splits NAME=VALUE arguments as make exports them: blanks have a backslash, $ is doubled. Raises ValueError."""
    return [word.replace("$$", "$") for word in shlex.split(text)]


def setup_request_from(part: SetupPart, words: Iterable[str], root: Path) -> SetupRequest:
    """Builds the request from NAME=VALUE arguments. Does not check names and values: a later command does.

    root: the folder that holds the catalogues of named scenarios and sweeps, and the servers of the matrix.
    """
    values: dict[str, list[str]] = {}
    for word in words:
        name, _, value = word.partition("=")
        values[name] = [each.strip() for each in value.split(",")]
    tested = values.pop("TESTS", None) if part is SetupPart.TEST else None
    tests_need = None if tested is None else frozenset(each for name in tested for each in needs_of_tests(name, root))
    is_default_sweep = part is SetupPart.SWEEP and values.keys() <= set(RUN_WORDS)
    if is_default_sweep:
        values["SWEEP"] = [DEFAULT_SWEEP]
    for name in _CATALOGUES:
        for entry in values.get(name, []):
            for knob, of_entry in _knobs_of(name, entry, root).items():
                values.setdefault(knob, of_entry)
    second = frozenset(values.get("VIA", [])) - {_NO_SERVER}
    servers = frozenset(values.get("SERVER", [])) | second
    is_whole_matrix = part is SetupPart.MATRIX and not servers
    if is_whole_matrix:
        servers = frozenset(matrix_servers(root))
    spares_them = is_default_sweep or is_whole_matrix
    return SetupRequest(
        part=part,
        servers=frozenset() if spares_them else servers,
        others=servers if spares_them else frozenset(),
        clients=frozenset(values.get("CLIENT", [])),
        fabrics=frozenset(values.get("FABRIC", [])),
        capture="yes" in values.get("CAPTURE", []) or bool(second),
        tests_need=tests_need,
    )


def needs_of_tests(name: str, root: Path) -> list[str]:
    """Returns what tests need beside what an experiment needs. Raises ValueError.

    name: of an extra or a folder of tests/lab that says it in a file; or "core", whose tests need nothing more.
    """
    if name == CORE:
        return []
    with suppress(OSError):
        needs: list[str] = parsed(from_toml, content(root / file_of_needs(name), MOST_TOML_BYTES)).get("tests_need", [])
        return needs
    raise ValueError(f"TESTS={name} is not allowed; allowed: {CORE}, {SANDBOX}, or the name of an extra")


def file_of_needs(name: str) -> str:
    """Returns the file that says what the tests of an extra, or those of the sandbox, need (`tests_need`)."""
    return f"tests/lab/{name}/needs.toml" if name == SANDBOX else f"extras/{name}/extra.toml"


def _knobs_of(name: str, entry: str, root: Path) -> dict[str, list[str]]:
    """Returns the knobs of a named scenario or sweep, or of a TOML file; an empty mapping if no file can be read.

    name: SCENARIO or SWEEP. entry: the value given for it, a name or a path.
    """
    path = Path(entry) if entry.endswith(".toml") else root / _CATALOGUES[name] / f"{entry}.toml"
    try:
        document = parsed(from_toml, content(path, MOST_TOML_BYTES))
    except (OSError, ValueError):
        return {}
    tables: list[Any] = [document.get("knobs"), document.get("grid")]
    return {
        knob: [str(each) for each in (value if isinstance(value, list) else [value])]
        for table in tables
        if isinstance(table, dict)
        for knob, value in table.items()
    }
