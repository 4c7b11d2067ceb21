"""Explains verdicts that surprise, with frames of the matrix. notes.toml, beside this file, has the explanations.

A note is shown only if the matrix has the verdict. Each cell that fits is named, and the frames are those of the first
such cell.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec import Struct

from priolab.analysis.judgement.layers import Layer, Outcome
from priolab.analysis.judgement.order import OwnOrder, Reading, equal
from priolab.common.formats.conversion import convert
from priolab.extras.matrix.cells import STRONG, Cell
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.words import crossing_words, probe_words


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """An explanation of verdicts. names, dialects: the cells that it explains. frames: what the frames show."""

    names: str
    dialects: str
    text: str
    frames: str


class _Note(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A note. servers, dialects: the cells that it may explain. text: the explanation. shown: a key of _SHOWN.

    reading, layer, own_order, outcome: the results of a cell that the note explains, as far as they matter. outcome: of
    the loads with LOWAT. strong: probes with weights that differ much are needed. uneven: without priorities the
    streams do not get equal shares.
    """

    servers: tuple[str, ...]
    dialects: tuple[str, ...]
    text: str
    shown: str
    reading: Reading | None = None
    layer: Layer | None = None
    own_order: OwnOrder | None = None
    outcome: Outcome | None = None
    strong: bool = False
    uneven: bool = False

    def fits(self, cell: Cell) -> bool:
        """True if the note explains the cell."""
        return (
            self.reading in (None, cell.reading)
            and self.layer in (None, cell.layer)
            and self.own_order in (None, cell.own_order)
            and self.outcome in (None, cell.outcome(cell.lowat))
            and (not self.strong or cell.strong_shares is not None)
            and (not self.uneven or not equal(share := cell.probes["none"].important_share, 1 - share))
        )


def _both_probes(cell: Cell) -> str:
    return f"script asked for first: {probe_words(cell, 'spdy')}; image asked for first: {probe_words(cell, 'swap')}"


def _strong_probes(cell: Cell) -> str:
    asked, swapped = (probe_words(cell, role) for role in STRONG)
    return f"weights 256 and 32, script asked for first: {asked}; image asked for first: {swapped}"


def _unasked(cell: Cell) -> str:
    return f"image requested first: {probe_words(cell, 'none')}; script first: {probe_words(cell, 'reversed')}"


def _link(cell: Cell) -> str:
    assert cell.lowat is not None
    asked, swapped = (crossing_words(each) for each in (cell.lowat.asked, cell.lowat.swapped))
    return f"LOWAT=16384, script asked for first: {asked}; image asked for first: {swapped}"


_SHOWN: Mapping[str, Callable[[Cell], str]] = {
    "probes": _both_probes,
    "strong": _strong_probes,
    "unasked": _unasked,
    "link": _link,
}


@cache
def _notes() -> tuple[_Note, ...]:
    return convert(tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["notes"], tuple[_Note, ...])


def notes(matrix: Matrix) -> Iterator[Explanation]:
    """Yields an explanation for each kind of verdict that needs one."""
    for note in _notes():
        found = [
            cell
            for name, front in matrix.fronts.items()
            for cell in matrix.row(name)
            if front.server in note.servers and cell.dialect in note.dialects and note.fits(cell)
        ]
        if found:
            first = found[0]
            yield Explanation(
                names=", ".join(dict.fromkeys(cell.server for cell in found)),
                dialects=", ".join(dict.fromkeys(cell.dialect for cell in found)),
                text=note.text.replace("\n", " "),
                frames=f"Frames of {first.server} in {first.dialect}: {_SHOWN[note.shown](first)}.",
            )
