"""An edition of the matrix: its verdicts and versions, without the frames. Pure.

`make matrix` keeps an edition of a document that it replaces, docs/measured/matrix/DATE.json. It has a tenth of the
size of docs/measured/matrix.json.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from priolab.analysis.judgement.layers import Layer, Outcome
from priolab.analysis.judgement.order import OwnOrder, Reading
from priolab.extras.matrix.cells import STRONG, Cell
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.words import WAYS

EDITION_FORMAT: Literal[1] = 1


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell. shares: the script's share of the window, 0 to 1, in the probe that asks for the script first, and in the
    one that asks for the image first. strong: the same with weights that differ much, if it was measured. outcomes: by
    the kind of loads over the slow link (WAYS), if they were made.
    """

    reading: Reading
    shares: tuple[float, float]
    strong: tuple[float, float] | None = None
    layer: Layer
    outcomes: Mapping[str, Outcome]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A server in one version. said, built_with: as for Front. own_order: its order without priorities.

    own_shares: the script's share without priorities, if the image, and if the script, is requested first. dialects:
    the cells, by dialect.
    """

    version: str
    said: str
    built_with: str
    own_order: OwnOrder
    own_shares: tuple[float, float]
    dialects: Mapping[str, Verdict]


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of a matrix. date: the day of its newest measurement, as YYYY-MM-DD. servers: the rows, by name."""

    format: Literal[1] = EDITION_FORMAT
    date: str
    servers: Mapping[str, Row]


def edition(matrix: Matrix) -> Edition:
    """Returns the verdicts and versions of a matrix."""
    return Edition(
        date=matrix.date,
        servers={
            front.name: Row(
                version=front.version,
                said=front.said,
                built_with=front.built_with,
                own_order=matrix.row(front.name)[0].own_order,
                own_shares=_shares(matrix.row(front.name)[0], "none", "reversed"),
                dialects={cell.dialect: _verdict(cell) for cell in matrix.row(front.name)},
            )
            for front in matrix.fronts.values()
        },
    )


def same_but_for_the_date(one: Edition, other: Edition) -> bool:
    """True if two editions have the same rows with the same verdicts, shares and versions."""
    return one.servers == other.servers


def dumped_edition(kept: Edition) -> str:
    """Returns the text of an edition's file, JSON with a line for each server's versions and for each cell."""
    plain: dict[str, Any] = msgspec.to_builtins(kept)
    rows = ",\n".join(f"  {json.dumps(name)}: {_row(row)}" for name, row in plain["servers"].items())
    return f'{{\n "format": {kept.format},\n "date": {json.dumps(kept.date)},\n "servers": {{\n{rows}\n }}\n}}\n'


def _row(row: Mapping[str, Any]) -> str:
    head = json.dumps({key: value for key, value in row.items() if key != "dialects"})[1:-1]
    cells = ",\n".join(f"    {json.dumps(name)}: {json.dumps(cell)}" for name, cell in row["dialects"].items())
    return f'{{{head},\n   "dialects": {{\n{cells}\n   }}}}'


def _verdict(cell: Cell) -> Verdict:
    outcomes = {way: cell.outcome(getattr(cell, way)) for way in WAYS}
    return Verdict(
        reading=cell.reading,
        shares=_shares(cell, "spdy", "swap"),
        strong=_shares(cell, *STRONG) if cell.strong_shares else None,
        layer=cell.layer,
        outcomes={way: outcome for way, outcome in outcomes.items() if outcome},
    )


def _shares(cell: Cell, first: str, second: str) -> tuple[float, float]:
    one, other = (round(cell.probes[role].important_share, 2) for role in (first, second))
    return one, other
