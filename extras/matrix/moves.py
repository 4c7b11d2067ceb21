"""Compares an edition of the matrix with a newer one: what moved. Pure.

Rules:
1. A row that only one of the editions has came or went. A dialect that only one of them has, of a row that both have,
   came or went, too.
2. The version of a row changed if the server or the library that has its HTTP/2 says something else than before.
3. A cell moved if its reading, its layer or an outcome over the slow link is another, or if the server follows the
   dialect and a share of the window differs by at least DIFFERENCE. Dialects of a row that moved alike are one entry.
   Shares with weights that differ much are compared if both editions have them.
4. The order without priorities moved if it is another, or if a share differs as much.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from priolab.analysis.loads.readings import DIFFERENCE
from priolab.extras.matrix.cells import Layer
from priolab.extras.matrix.edition import Edition, Row, Verdict
from priolab.extras.matrix.words import MARKS, WAYS, share_words, told_reading

UNASKED = "without priorities"


@dataclass(frozen=True, kw_only=True)
class Move:
    """A result that moved. name: the row. dialects: the dialects with this move; UNASKED alone for that order."""

    name: str
    dialects: tuple[str, ...]
    was: str
    now: str


@dataclass(frozen=True, kw_only=True)
class Moves:
    """The results that moved since an edition. since: its date. came, went: rows in words, and dialects of rows.

    versions: rows whose version is another, in words. cells: the results that moved, in the order of the newer edition.
    """

    since: str
    came: tuple[str, ...]
    went: tuple[str, ...]
    versions: tuple[str, ...]
    cells: tuple[Move, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The rows and versions in words; that nothing moved if that is so."""
        told = [
            f"{head}: {'; '.join(names)}."
            for head, names in (("New", self.came), ("Gone", self.went), ("Other versions", self.versions))
            if names
        ]
        if not told and not self.cells:
            told.append("Nothing moved: the same rows, versions, verdicts and shares.")
        elif not self.cells:
            told.append("No verdict and no share moved.")
        return tuple(told)


def moves(was: Edition, now: Edition) -> Moves:
    """Returns what moved from an edition to a newer one."""
    both = [(name, was.servers[name], row) for name, row in now.servers.items() if name in was.servers]
    return Moves(
        since=was.date,
        came=tuple(_only(now, was)),
        went=tuple(_only(was, now)),
        versions=tuple(f"{name}: {_version(old)} to {_version(new)}" for name, old, new in both if _differs(old, new)),
        cells=tuple(move for name, old, new in both for move in _moved(name, old, new)),
    )


def _only(one: Edition, other: Edition) -> Iterator[str]:
    """Yields the rows, and the dialects of rows, that only the first of two editions has."""
    for name, row in one.servers.items():
        if name not in other.servers:
            yield f"{name} ({_version(row)})"
        elif only := [dialect for dialect in row.dialects if dialect not in other.servers[name].dialects]:
            yield f"{name} in {', '.join(only)}"


def _differs(old: Row, new: Row) -> bool:
    return (old.said, old.built_with) != (new.said, new.built_with)


def _version(row: Row) -> str:
    return f"{row.version}, {row.built_with}" if row.built_with else row.version


def _moved(name: str, old: Row, new: Row) -> Iterator[Move]:
    alike: dict[tuple[str, str], list[str]] = {}
    for dialect, now in new.dialects.items():
        was = old.dialects.get(dialect)
        if was and _cell_differs(was, now):
            alike.setdefault((_words(was, now), _words(now, was)), []).append(dialect)
    if old.own_order != new.own_order or _far(old.own_shares, new.own_shares):
        told = [f"{row.own_order} {share_words(row.own_shares)}" for row in (old, new)]
        alike[told[0], told[1]] = [UNASKED]
    for (before, after), dialects in alike.items():
        yield Move(name=name, dialects=tuple(dialects), was=before, now=after)


def _cell_differs(was: Verdict, now: Verdict) -> bool:
    verdicts = [(each.reading, each.layer, dict(each.outcomes)) for each in (was, now)]
    if verdicts[0] != verdicts[1] or (_followed(now) and _far(was.shares, now.shares)):
        return True
    return was.strong is not None and now.strong is not None and _far(was.strong, now.strong)


def _followed(cell: Verdict) -> bool:
    """True if the server follows the dialect with the usual weights."""
    return cell.layer is not Layer.SERVER


def _far(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return any(abs(a - b) >= DIFFERENCE - 1e-9 for a, b in zip(one, other, strict=True))  # shares have two decimals


def _words(cell: Verdict, other: Verdict) -> str:
    """Returns a cell in words: reading, shares, layer, and the outcomes that differ from those of the other cell."""
    told = [told_reading(cell.reading, cell.shares, cell.strong)]
    if _followed(cell):
        told.append(MARKS[cell.layer])
        for way, words in WAYS.items():
            outcome = cell.outcomes.get(way)
            if _followed(other) and outcome != other.outcomes.get(way):
                told.append(f"{words}: {outcome or 'not measured'}")
    return "; ".join(told)
