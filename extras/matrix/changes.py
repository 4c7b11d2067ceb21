"""Compares each version of a server with the next one of the matrix: what changed, with the frames that show it. Pure.

Rules:
1. Only cells that were measured in both versions are compared.
2. The reading of a dialect changed if it is another, or if the server follows the dialect in both versions, and a
   share of the window is not equal. The order without priorities changed if it is another, or if a
   share differs as much.
3. If both versions follow a dialect, the loads over the slow link are compared, by their outcomes.
4. Dialects with the same change are one entry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from priolab.analysis.judgement.order import equal
from priolab.analysis.loads.probe import Probe
from priolab.common.amounts import percent, seconds
from priolab.extras.matrix.cells import STRONG, Cell, Pair
from priolab.extras.matrix.matrix import Front, Matrix
from priolab.extras.matrix.words import WAYS, own_order_words, probe_words, reading_words

HEAD = ("measurement", "dialects", "before", "after", "frames before", "frames after")
"""The headings of a table of changes."""


class What(StrEnum):
    """The measurement in which two versions differ."""

    READING = "nothing in the way"
    LINK = "slow link"
    OWN_ORDER = "without priorities"


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change from a version of a server to the next one of the matrix.

    dialects: the dialects in which the change was measured; empty for What.OWN_ORDER. was, now: the results in words.
    shown_was, shown_now: what the recorded frames show of these results.
    """

    old: Front
    new: Front
    what: What
    dialects: tuple[str, ...]
    was: str
    now: str
    shown_was: str
    shown_now: str

    @property
    def told(self) -> tuple[str, ...]:
        """A row of a table: measurement, dialects, result before and after, frames before and after."""
        return (self.what, ", ".join(self.dialects), self.was, self.now, self.shown_was, self.shown_now)


def changes(matrix: Matrix) -> list[Change]:
    """Returns all changes, in the order of the matrix."""
    return [change for old, new in matrix.successions() for change in _between(matrix, old, new)]


def by_versions(matrix: Matrix) -> Iterator[tuple[Front, Front, Sequence[Change]]]:
    """Yields two successive versions with their changes, if there are some."""
    for (old, new), found in groupby(changes(matrix), lambda change: (change.old, change.new)):
        yield old, new, list(found)


def unchanged(matrix: Matrix) -> list[tuple[Front, Front]]:
    """Returns the pairs of successive versions between which nothing changed."""
    return [(old, new) for old, new in matrix.successions() if not list(_between(matrix, old, new))]


_Told = tuple[What, str, str, str, str]


def _between(matrix: Matrix, old: Front, new: Front) -> Iterator[Change]:
    was, now = ({cell.dialect: cell for cell in matrix.row(front.name)} for front in (old, new))
    found: dict[_Told, list[str]] = {}
    for dialect in was:
        if dialect in now:
            for told in _compared(was[dialect], now[dialect]):
                found.setdefault(told, []).append(dialect)
    if told_alone := _compared_unasked(next(iter(was.values())), next(iter(now.values()))):
        found[told_alone] = []
    for (what, before, after, shown_was, shown_now), dialects in found.items():
        yield Change(
            old=old,
            new=new,
            what=what,
            dialects=tuple(dialects),
            was=before,
            now=after,
            shown_was=shown_was,
            shown_now=shown_now,
        )


def _compared(was: Cell, now: Cell) -> Iterator[_Told]:
    follow = was.honoured and now.honoured
    strong = was.strong_shares is not None and now.strong_shares is not None
    differ = _differ(was, now, "spdy", "swap") or (strong and _differ(was, now, *STRONG))
    if was.reading is not now.reading or (follow and differ):
        yield What.READING, reading_words(was), reading_words(now), probe_words(was, "spdy"), probe_words(now, "spdy")
    if not follow:
        return
    for way, words in WAYS.items():
        pairs: list[Pair | None] = [getattr(cell, way) for cell in (was, now)]
        outcomes = [cell.outcome(pair) for cell, pair in zip((was, now), pairs, strict=True)]
        if outcomes[0] is not outcomes[1]:
            told = [str(outcome) if outcome else "not available" for outcome in outcomes]
            shown = [_crossed(pair) for pair in pairs]
            yield What.LINK, f"{words}: {told[0]}", f"{words}: {told[1]}", shown[0], shown[1]


def _compared_unasked(was: Cell, now: Cell) -> _Told | None:
    if was.own_order is now.own_order and not _differ(was, now, "none", "reversed"):
        return None
    return (
        What.OWN_ORDER,
        own_order_words(was),
        own_order_words(now),
        probe_words(was, "none"),
        probe_words(now, "none"),
    )


def _differ(was: Cell, now: Cell, *roles: str) -> bool:
    shares: list[Mapping[str, Probe]] = [was.probes, now.probes]
    return not all(equal(*(each[role].important_share for each in shares)) for role in roles)


def _crossed(pair: Pair | None) -> str:
    if pair is None:
        return ""
    asked, swapped = pair.asked, pair.swapped
    return (
        f"{percent(asked.before)} of the image before the script, which ends at {seconds(asked.script_last_ms)};"
        f" {seconds(swapped.script_last_ms)} if the image is asked for first"
    )
