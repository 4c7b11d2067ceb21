"""The catalogue of fronts: what a server is, read from proxy/servers/NAME/server.toml."""

import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

_CATALOGUE = Path(__file__).parent / "servers"


class _Template(string.Template):
    """`@{name}`: the servers' own languages are full of dollars."""

    delimiter = "@"


@dataclass(frozen=True, kw_only=True)
class Server:
    """One kind of front.

    program: name of the executable; package: the distribution's package that brings it.
    version, command: argument lists with {program}, {config}, {state} and {log} to fill in.
    native: by "on" and "off", the template values that switch the server's own mechanism; a missing key is a level
    that the server does not have.
    buffering: likewise, those that switch whether it takes whole answers from the origin.
    privileges: by "root" and "ordinary", the template values for a server started by such a user.
    scheduling: how it orders streams, in words.
    record_bytes, batch_bytes, strict: how it writes (analysis/model.py, Writes).
    """

    name: str
    program: str
    package: str
    version: tuple[str, ...]
    command: tuple[str, ...]
    template: Path
    native: Mapping[str, Mapping[str, str]]
    buffering: Mapping[str, Mapping[str, str]]
    privileges: Mapping[str, Mapping[str, str]]
    scheduling: str
    record_bytes: int
    batch_bytes: int | None
    strict: bool

    @property
    def traits(self) -> Mapping[str, Any]:
        """What results record of it, for whoever reads them without this catalogue."""
        return {name: getattr(self, name) for name in ("scheduling", "record_bytes", "batch_bytes", "strict")}

    def render(self, values: Mapping[str, str]) -> str:
        """The configuration file. Raises KeyError if the template names a value that is not given."""
        return _Template(self.template.read_text()).substitute(values)

    def arguments(self, words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
        """`version` or `command` with its places filled in."""
        return tuple(word.format_map(values) for word in words)


@cache
def catalogue() -> Mapping[str, Server]:
    """Every server of the catalogue, by name."""
    return MappingProxyType({folder.name: _read(folder) for folder in sorted(_CATALOGUE.iterdir()) if folder.is_dir()})


def _read(folder: Path) -> Server:
    entry = tomllib.loads((folder / "server.toml").read_text())
    return Server(
        name=folder.name,
        program=entry["program"],
        package=entry["package"],
        version=tuple(entry["version"]),
        command=tuple(entry["command"]),
        template=folder / entry["template"],
        native=entry["native"],
        buffering=entry["buffering"],
        privileges=entry.get("privileges", {"root": {}, "ordinary": {}}),
        scheduling=entry["scheduling"],
        record_bytes=entry["writes"]["record_bytes"],
        batch_bytes=entry["writes"].get("batch_bytes"),
        strict=entry["writes"]["strict"],
    )
