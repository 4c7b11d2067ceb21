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
    npm: the folder with the package.json of what it needs of npm, None if it needs nothing.
    protocol: what it speaks above TLS, by its ALPN name.
    version, command: argument lists with {program}, {config}, {state} and {log} to fill in; {servers} is the catalogue.
    native: by "on" and "off", the template values that switch the server's own mechanism; a missing key is a level
    that the server does not have.
    buffering: likewise, those that switch whether it takes whole answers from the origin.
    privileges: by "root" and "ordinary", the template values for a server started by such a user.
    scheduling: how it orders streams, in words.
    record_bytes, batch_bytes, strict: how it writes (analysis/model.py, Writes); None, all three, where that is not
    known well enough for a prediction.
    """

    name: str
    program: str
    package: str
    npm: Path | None
    protocol: str
    version: tuple[str, ...]
    command: tuple[str, ...]
    template: Path
    native: Mapping[str, Mapping[str, str]]
    buffering: Mapping[str, Mapping[str, str]]
    privileges: Mapping[str, Mapping[str, str]]
    scheduling: str
    record_bytes: int | None
    batch_bytes: int | None
    strict: bool | None

    @property
    def traits(self) -> Mapping[str, Any]:
        """What results record of it, for whoever reads them without this catalogue."""
        return {name: getattr(self, name) for name in ("scheduling", "record_bytes", "batch_bytes", "strict")}

    def render(self, values: Mapping[str, str]) -> str:
        """The configuration file. Raises KeyError if the template names a value that is not given."""
        return _Template(self.template.read_text()).substitute(values)

    def arguments(self, words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
        """`version` or `command` with its places filled in."""
        return tuple(word.format_map({"servers": str(_CATALOGUE), **values}) for word in words)


@cache
def catalogue() -> Mapping[str, Server]:
    """Every server of the catalogue, by name."""
    return MappingProxyType({folder.name: _read(folder) for folder in sorted(_CATALOGUE.iterdir()) if folder.is_dir()})


def _read(folder: Path) -> Server:
    entry = tomllib.loads((folder / "server.toml").read_text())
    writes = entry.get("writes", {})
    return Server(
        name=folder.name,
        program=entry["program"],
        package=entry["package"],
        npm=_CATALOGUE / entry["npm"] if "npm" in entry else None,
        protocol=entry.get("protocol", "h2"),
        version=tuple(entry["version"]),
        command=tuple(entry["command"]),
        template=folder / entry["template"],
        native=entry["native"],
        buffering=entry["buffering"],
        privileges=entry.get("privileges", {"root": {}, "ordinary": {}}),
        scheduling=entry["scheduling"],
        record_bytes=writes.get("record_bytes"),
        batch_bytes=writes.get("batch_bytes"),
        strict=writes.get("strict"),
    )
