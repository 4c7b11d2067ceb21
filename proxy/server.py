"""The catalogue of fronts: what a server is, read from proxy/servers/NAME/server.toml."""

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
    """`@{name}`: the servers' own languages are full of dollars."""

    delimiter = "@"


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Something about a server that a knob turns on and off, or gives a size.

    name: what the server calls it, None if it has no such thing.
    levels: by "on" and "off", or "stock" and "bytes", the template values that make it so, {bytes} in them the size; a
    missing key is a level that the server has not.
    since: for a level that came later, by its name, the first version with it.
    """

    name: str | None
    levels: Mapping[str, Mapping[str, str]]
    since: Mapping[str, str]

    def lacked_until(self, level: str, said: str) -> str | None:
        """The version that a level takes, if the server whose version is in the text is older; None if it has it.

        A text without a version is taken for one that has everything.
        """
        needed = self.since.get(level)
        if needed is None or (found := _VERSION.search(said)) is None:
            return None
        return needed if _numbers(found[0]) < _numbers(needed) else None


@dataclass(frozen=True, kw_only=True)
class Server:
    """One kind of front.

    program: name of the executable; packages: the distribution's that bring it, the one with the program first.
    files: what it needs besides its program, as paths.
    image_version: of the packages, as apt-get takes it, in the images that containers are made of.
    base: whether every machine of the lab's has it; others have it where it is asked for.
    npm: the folder with the package.json of what it needs of npm, None if it needs nothing.
    protocol: what it speaks above TLS, by its ALPN name.
    version, command: argument lists with {program}, {config}, {state} and {log} to fill in; {servers} is the catalogue.
    native: the server's own mechanism against early writes.
    buffering: whether it takes whole answers from the origin.
    record: the largest TLS record it writes.
    privileges: by "root" and "ordinary", the template values for a server started by such a user.
    scheduling: how it orders streams, in words.
    record_bytes, batch_bytes, strict: how it writes (analysis/loads/model.py, Writes); None, all three, where that is
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
        """What results record of it, for whoever reads them without this catalogue."""
        return {name: getattr(self, name) for name in ("scheduling", "record_bytes", "batch_bytes", "strict")}

    @property
    def over_tcp(self) -> bool:
        """Whether there is a socket that TCP_NOTSENT_LOWAT is an option of."""
        return self.protocol != "h3"

    @property
    def in_images(self) -> bool:
        """Whether containers can have it: their images have no packages of npm, and the client's no QUIC."""
        return self.npm is None and self.over_tcp

    def record_values(self, record_bytes: int | None) -> Mapping[str, str]:
        """Template values for records of that size at most; None for the server's own. Raises KeyError."""
        if record_bytes is None:
            return self.record.levels["stock"]
        return {name: value.format(bytes=record_bytes) for name, value in self.record.levels["bytes"].items()}

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
