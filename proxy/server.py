"""The catalogue of fronts, read from proxy/servers/NAME/server.toml."""

import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

_CATALOGUE = Path(__file__).parent / "servers"
_LEVELS = ("on", "off")
_SIZES = ("stock", "bytes")
_VERSION = re.compile(r"\d+(\.\d+)+")


class _Template(string.Template):
    """A template with `@{name}`, because the servers' own languages are full of dollar signs."""

    delimiter = "@"


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A property of a server that a knob turns on and off, or gives a size.

    name: the server's name for it, None if it has no such option.
    levels: template values by level, "on" and "off", or "stock" and "bytes"; {bytes} in a value stands for the size.
    A server without a level lacks its key.
    since: by level, the first version that has it, if not every version does.
    """

    name: str | None
    levels: Mapping[str, Mapping[str, str]]
    since: Mapping[str, str]

    def lacked_until(self, level: str, said: str) -> str | None:
        """The version that the level requires, if the server is older; None if the server has the level.

        said: the server's output with its version. Without a version in it the server is assumed to have every level.
        """
        needed = self.since.get(level)
        if needed is None or (found := _VERSION.search(said)) is None:
            return None
        return needed if _numbers(found[0]) < _numbers(needed) else None


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of the catalogue.

    program: name of the executable; packages: the distribution's packages, the one with the program first.
    files: paths of further files that it needs.
    image_version: version of the packages in container images, as apt-get takes it.
    base: true if every machine of the lab has it; other servers are installed on request.
    npm: the folder with the package.json of the npm packages it needs, None if it needs none.
    protocol: the protocol above TLS, by its ALPN name.
    version, command: argument lists with {program}, {config}, {state} and {log} to fill in; {servers} is the catalogue.
    native: the server's own mechanism against early writes.
    buffering: on takes whole responses from the origin.
    record: the largest TLS record it writes.
    privileges: template values by the user who starts the server, "root" or "ordinary".
    scheduling: the order of streams, in words.
    record_bytes, batch_bytes, strict: its way to write (analysis/loads/model.py, Writes); None, all three, if that is
    not known well enough for a prediction.
    """

    name: str
    program: str
    packages: tuple[str, ...]
    files: tuple[str, ...]
    image_version: str
    base: bool
    npm: Path | None
    protocol: str
    version: tuple[str, ...]
    command: tuple[str, ...]
    template: Path
    native: Switch
    buffering: Switch
    record: Switch
    privileges: Mapping[str, Mapping[str, str]]
    scheduling: str
    record_bytes: int | None
    batch_bytes: int | None
    strict: bool | None

    @property
    def traits(self) -> Mapping[str, Any]:
        """The properties that are recorded in results, for readers without this catalogue."""
        return {name: getattr(self, name) for name in ("scheduling", "record_bytes", "batch_bytes", "strict")}

    @property
    def over_tcp(self) -> bool:
        """True if it serves over TCP, so that TCP_NOTSENT_LOWAT applies."""
        return self.protocol != "h3"

    @property
    def in_images(self) -> bool:
        """True if it can run in containers: their images have no npm packages, and the client's has no QUIC."""
        return self.npm is None and self.over_tcp

    def record_values(self, record_bytes: int | None) -> Mapping[str, str]:
        """Template values for TLS records of that size at most; None for the server's default. Raises KeyError."""
        if record_bytes is None:
            return self.record.levels["stock"]
        return {name: value.format(bytes=record_bytes) for name, value in self.record.levels["bytes"].items()}

    def render(self, values: Mapping[str, str]) -> str:
        """Renders the configuration file. Raises KeyError if the template names a value that is not given."""
        return _Template(self.template.read_text()).substitute(values)

    def arguments(self, words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
        """Fills in the placeholders of `version` or `command`."""
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
        packages=tuple(entry["packages"]),
        files=tuple(entry.get("files", [])),
        image_version=entry["image_version"],
        base=entry.get("base", False),
        npm=_CATALOGUE / entry["npm"] if "npm" in entry else None,
        protocol=entry.get("protocol", "h2"),
        version=tuple(entry["version"]),
        command=tuple(entry["command"]),
        template=folder / entry["template"],
        native=_switch(entry["native"]),
        buffering=_switch(entry["buffering"]),
        record=_switch(entry.get("record", {"stock": {}}), _SIZES),
        privileges=entry.get("privileges", {"root": {}, "ordinary": {}}),
        scheduling=entry["scheduling"],
        record_bytes=writes.get("record_bytes"),
        batch_bytes=writes.get("batch_bytes"),
        strict=writes.get("strict"),
    )


def _switch(entry: Mapping[str, Any], levels: tuple[str, ...] = _LEVELS) -> Switch:
    return Switch(
        name=entry.get("name"),
        levels={level: entry[level] for level in levels if level in entry},
        since={level: entry[f"{level}_since"] for level in levels if f"{level}_since" in entry},
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
