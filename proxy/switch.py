"""The switches of a server: the properties that a knob turns on or off, or sets to a size or a protocol."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

TLS, HTTP1, H2C = "tls", "http1", "h2c"
"""The protocols of a listener, and those with the second front: HTTP/1.1 and HTTP/2, both without TLS."""

LEVELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "native": ("off", "on"),
        "buffering": ("on", "off"),
        "record": ("stock", "bytes"),
        "listener": (TLS, HTTP1, H2C),
        "upstream": (HTTP1, H2C),
    }
)
"""The levels of each switch. Every server has the first one."""

_VERSION = re.compile(r"\d+(\.\d+)+")


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A property of a server that a knob turns on or off, or sets to a size or a protocol.

    name: the name of the server's option that sets the property; None if the server has no such option. levels:
    template values by level. LEVELS has the levels; levels that the server does not support are missing. {bytes} in a
    value is a placeholder for the size. since: by level, the server's first version that supports the level; missing if
    every version supports it. usual: the level of the server as it is installed, if one of several is; None if none is.
    """

    name: str | None
    levels: Mapping[str, Mapping[str, str]]
    since: Mapping[str, str]
    usual: str | None = None

    def lacked_until(self, level: str, said: str) -> str | None:
        """Returns the version that the level requires if the server is older, else None.

        said: the server's output that contains its version. If the output has no version, the server counts as new.
        """
        needed = self.since.get(level)
        if needed is None or (found := _VERSION.search(said)) is None:
            return None
        return needed if _numbers(found[0]) < _numbers(needed) else None


def read_switch(entry: Mapping[str, Any], name: str) -> Switch:
    """Reads a switch of LEVELS from a server's entry. A server whose entry lacks it has the first level alone."""
    levels = LEVELS[name]
    table = entry.get(name, {levels[0]: {}})
    supported = {level: table[level] for level in levels if level in table}
    return Switch(
        name=table.get("name"),
        levels=supported,
        usual=table.get("usual", next(iter(supported)) if len(supported) == 1 else None),
        since={level: table[f"{level}_since"] for level in levels if f"{level}_since" in table},
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
