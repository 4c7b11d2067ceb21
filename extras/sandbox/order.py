"""The order of a sandbox: the programs, the link between them, and what else the process in the places must know."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec

from priolab.experiments.results.run_folder import RunFolder, read_json, write_json
from priolab.experiments.run.errand import MODULE
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import Scenario

CLIENT, SERVER = "client", "server"
"""The names of the places, and of the machines for the programs in them."""

AT_ONCE, LISTENS = "none", "any"
"""Values of `wait`: the client starts at once; the client starts when the server listens at any port."""

HOME = "/run/home"
"""The programs' HOME, an empty folder."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
"""The programs' environment. It is the same for every user: a program's memory depends on it."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to carry out.

    knobs: the scenario as knobs, of which those of the link and of the server's TCP have an effect. client, server: the
    argument lists of the programs; None for no server. environment: that of the programs. folder: their current folder.
    limit_ns: the longest time of the client, by the clock of the places. sysctls: place, name and value of each.
    wait: when the client starts: AT_ONCE, LISTENS, or the number of the port at which the server must listen.
    scratch: True if what the programs write into their folder is thrown away. fair: True for the kernel's default
    scheduler. capture: True to record packets. interval_ns: between samples of the sockets and the queue; None for
    none. programs: the paths of programs that are kept open for the next order. tcpdump: the path of this program; None
    if it is not needed. isolated: True in a guest.
    """

    knobs: Mapping[str, str]
    seed: int
    client: tuple[str, ...]
    server: tuple[str, ...] | None
    environment: Mapping[str, str]
    folder: str
    limit_ns: int
    sysctls: tuple[tuple[str, str, str], ...] = ()
    wait: str = LISTENS
    scratch: bool = False
    fair: bool = False
    capture: bool = False
    interval_ns: int | None = None
    programs: tuple[str, ...] = ()
    tcpdump: str | None = None
    isolated: bool = True

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that the knobs describe."""
        return scenario_from(self.knobs)

    def write(self, folder: RunFolder) -> None:
        """Writes the order into a folder, as an errand of this extra."""
        folder.asked.mkdir(parents=True)
        write_json(folder.errand, asdict(self) | {MODULE: "priolab.extras.sandbox.errand"})

    @classmethod
    def read(cls, folder: RunFolder) -> Self:
        """Reads the order from a folder."""
        return cls.from_document(read_json(folder.errand))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Returns the order that the document of errand.json describes."""
        return msgspec.convert(document, cls)


class Files:
    """The files of a sandbox's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def said(self) -> Path:
        """What the programs have written: frames (said.py)."""
        return self.path / "said"

    @property
    def stdin(self) -> Path:
        """The client's standard input."""
        return self.path / "stdin"

    @property
    def outcome(self) -> Path:
        """How it ended, and what was counted (outcome.py). It is written last."""
        return self.path / "outcome.json"

    @property
    def samples(self) -> Path:
        """The samples of the sockets, a JSON object in each line."""
        return self.path / "samples.jsonl"
