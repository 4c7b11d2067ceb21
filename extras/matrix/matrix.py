"""The whole matrix: its servers in each version, their cells, and their loads without priorities. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from priolab.extras.matrix.cells import Cell, Unasked

_VERSION = re.compile(r"\d+(\.\d+)+")


@dataclass(frozen=True, kw_only=True)
class Front:
    """A server in one version: a row of the matrix.

    name: the server as SERVER names it, such as `nginx@sid`. said: the version as the server prints it. built_with:
    the library or the compiler that has the server's HTTP/2, with its version, such as `libnghttp2 1.70.0-1`; empty if
    it is the server's own or unknown. digest: the first digits of the digest of the server's packages or of its wheel;
    empty for a program that the machine had installed. date: the day of its measurement, as YYYY-MM-DD.
    """

    name: str
    said: str
    built_with: str = ""
    digest: str = ""
    date: str = ""

    @property
    def server(self) -> str:
        """The server's name in the catalogue, or the path of the user's folder."""
        return self.name.partition("@")[0] if "/" not in self.name else self.name

    @property
    def edition(self) -> str | None:
        """The Debian suite or the version after the at sign; None for the program that the machine had installed."""
        return self.name.partition("@")[2] or None if "/" not in self.name else None

    @property
    def version(self) -> str:
        """The number of the version, without the words around it; all of the text if it has no number."""
        found = _VERSION.search(self.said)
        return found[0] if found else self.said

    @property
    def words(self) -> str:
        """Name, version and library, for tables."""
        name = self.name if self.version == self.edition else f"{self.name} {self.version}"
        return f"{name} ({self.built_with})" if self.built_with else name


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The whole matrix.

    date: the day of the newest measurement, as YYYY-MM-DD. fronts: by name; those of one server stand together, in the
    order of the request. cells: by the names of front and dialect; each front has at least one. unasked: loads without
    priorities, by front. absent: the servers that are not installed, with the reason.
    """

    date: str
    fronts: Mapping[str, Front]
    cells: Mapping[tuple[str, str], Cell]
    unasked: Mapping[str, Unasked]
    absent: Mapping[str, str]

    @cached_property
    def dialects(self) -> list[str]:
        """The dialects, in the order of the cells."""
        return list(dict.fromkeys(dialect for _, dialect in self.cells))

    def row(self, front: str) -> list[Cell]:
        """Returns the cells of a front, in the order of the dialects."""
        return [self.cells[front, dialect] for dialect in self.dialects if (front, dialect) in self.cells]

    def successions(self) -> list[tuple[Front, Front]]:
        """Returns each front with the next front of the same server."""
        return [(old, new) for old, new in pairwise(self.fronts.values()) if old.server == new.server]


def in_order(fronts: Iterable[Front]) -> dict[str, Front]:
    """Returns the fronts by name in the order of a matrix: those of one server together, in the order given."""
    by_server: dict[str, list[Front]] = {}
    for front in fronts:
        by_server.setdefault(front.server, []).append(front)
    return {front.name: front for together in by_server.values() for front in together}
