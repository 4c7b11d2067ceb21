"""Words for results of the matrix, which tables, page and changes share. Pure."""

from collections.abc import Sequence
from itertools import groupby
from urllib.parse import quote

from priolab.analysis.judgement.layers import Layer
from priolab.analysis.judgement.order import Reading
from priolab.common.amounts import kibibytes
from priolab.extras.matrix.cells import Cell
from priolab.extras.matrix.crossing import Crossing
from priolab.extras.matrix.matrix import Matrix

_PIECES = 6
"""The number of pieces that a sentence shows of a probe or a load."""

MARKS = {
    Layer.NOWHERE: "arrives",
    Layer.SOCKET: "arrives with LOWAT",
    Layer.FRONT: "lost in the front",
    Layer.SERVER: "not followed",
}

WAYS = {"control": "LOWAT unset", "lowat": "LOWAT=16384", "native": "NATIVE=on"}
"""The loads of a cell over the slow link, by the field of Cell that has them."""


def anchor(cell: Cell) -> str:
    """Returns the name of a cell's place in the page, such as `nginx@sid-chrome`, fit for a URL."""
    return quote(f"{cell.server}-{cell.dialect}", safe="@+/")


def measured_words(matrix: Matrix) -> str:
    """Returns a sentence with the day of the measurement, and with the days of rows that were measured earlier."""
    days: dict[str, list[str]] = {}
    for name, front in matrix.fronts.items():
        days.setdefault(front.date or matrix.date, []).append(name)
    older = [f"{', '.join(names)} on {day}" for day, names in sorted(days.items()) if day != matrix.date]
    return f"Measured on {matrix.date}{'; '.join(['', *older])}."


def reading_words(cell: Cell) -> str:
    """Returns a server's interpretation of a dialect, with the script's shares unless the server is strict.

    The shares with weights that differ much follow, if there are some.
    """
    if cell.reading is Reading.STRICT:
        return str(cell.reading)
    asked, swapped = (cell.probes[name].important_share for name in ("spdy", "swap"))
    strong = cell.strong_shares
    return f"{cell.reading} {_shares(asked, swapped)}{f' and {_shares(*strong)}' if strong else ''}"


def own_order_words(cell: Cell) -> str:
    """Returns a server's order without priorities, with the script's shares."""
    first, second = (round(100 * cell.probes[name].important_share) for name in ("none", "reversed"))
    return f"{cell.own_order} {first}:{second} %"


def probe_words(cell: Cell, role: str) -> str:
    """Returns the first bytes that the server sent in a probe, in order. role: the probe's name in Cell.probes."""
    return _pieces(cell.probes[role].served)


def crossing_words(crossing: Crossing) -> str:
    """Returns the first bytes that arrived over the slow link, in order."""
    together = groupby(crossing.spans, lambda span: span.resource)
    return _pieces([(resource, sum(span.size_bytes for span in each)) for resource, each in together])


def _pieces(pieces: Sequence[tuple[str, int]]) -> str:
    told = [f"{name} {_size(size)}" for name, size in pieces[:_PIECES]]
    return ", ".join([*told, "…"] if len(pieces) > _PIECES else told)


def _size(size_bytes: int) -> str:
    return kibibytes(size_bytes) if size_bytes >= 1024 else f"{size_bytes} B"


def _shares(one: float, other: float) -> str:
    """Returns two shares of the window, each from 0 to 1, as a text such as `56:46 %`."""
    return f"{one * 100:.0f}:{other * 100:.0f} %"
