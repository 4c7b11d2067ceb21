"""The columns of a table: which is the time, and which is the rate, according to a heading or to the user. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from priolab.common.formats.files import printable
from priolab.netem.table_cells import Row, is_time_of_day, number_of, rate_unit_of, stamp_s, time_unit_of

_PREAMBLE_MOST = 50
_TIMES = ("time", "timestamp", "datetime", "t", "ts", "date", "epoch", "elapsed", "utc", "clock", "zeit", "zeitstempel")
_RATES = ("bitrate", "throughput", "bandwidth", "goodput", "datarate", "capacity", "rate")
_OTHER_RATES = ("loss", "error", "err", "frame", "sample", "sampling", "packet", "pkt", "symbol", "refresh", "heart")
_DOWN, _UP = ("dl", "down", "downlink", "download", "downstream"), ("ul", "up", "uplink", "upload", "upstream")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of time and rate, from 0.

    date: that of the date if the time is a time of day; None without one. names: those of time and rate. width: the
    number of columns.
    """

    time: int
    rate: int
    date: int | None = None
    names: tuple[str, str]
    width: int

    @classmethod
    def of(cls, heading: Row | None, data: Sequence[Row], asked: Sequence[str]) -> Self:
        """Returns the columns that are asked for, or those that the heading names. Raises ValueError."""
        names = [] if heading is None else list(heading.cells)
        width = max(len(row.cells) for row in data)
        if asked:
            time, rate = (_column(each, names, width) for each in asked)
        else:
            time, rate = _by_names(names) if names else (0, 1)
        if time == rate:
            raise ValueError("the columns of time and rate are two columns")
        date = None
        if is_time_of_day(cell_of(data[0], time)):
            date = next((at for at, name in enumerate(names) if at != time and "date" in _words(name)), None)
        called = [names[at] if at < len(names) else f"column {at + 1}" for at in (time, rate)]
        return cls(time=time, rate=rate, date=date, names=(called[0], called[1]), width=width)


def check_commas(heading: Row | None, data: Sequence[Row], asked: Sequence[str]) -> None:
    """Raises ValueError if the commas between cells may be decimal commas."""
    cure = "with decimal commas, separate the columns by semicolons"
    width = len((heading or data[0]).cells)
    for row in data:
        if len([cell for cell in row.cells if cell]) > width:
            first = "the heading" if heading else "the first row"
            raise ValueError(f"line {row.number} has {len(row.cells)} cells, {first} {width}: {cure}")
    if heading is None and not asked and width > 2 and all(cell.isdecimal() for row in data for cell in row.cells):
        raise ValueError(f"it has {width} columns of whole numbers and no heading: {cure}, or name two by --columns")


def parted(rows: Sequence[Row]) -> tuple[Row | None, list[Row]]:
    """Returns the heading, and the rows after it. Raises ValueError if there are none."""
    first = next((at for at, row in enumerate(rows) if not row.is_comment and _is_data(row)), None)
    plain = [row for row in rows if not row.is_comment]
    if first is None and len(plain) > 1:
        raise ValueError(f"line {plain[1].number} has no time and rate: {_shown(plain[1].cells)}")
    if first is None or first > _PREAMBLE_MOST:
        raise ValueError("it has fewer than two lines of numbers")
    heads = [row for row in rows[:first] if len(row.cells) > 1]
    named = next((row for row in heads if None not in _found(row.cells)), None)
    bare = next((row for row in reversed(heads) if not row.is_comment), None)
    return named or bare, [row for row in rows[first:] if not row.is_comment]


def _is_data(row: Row) -> bool:
    return sum(map(_is_value, row.cells)) > 1


def _is_value(cell: str) -> bool:
    """True if a cell is a number, with a unit or without one, or a time stamp."""
    number = number_of(cell)
    if number is not None and (not number[1] or rate_unit_of(number[1]) or time_unit_of(number[1])):
        return True
    return stamp_s(cell) is not None


def _found(names: Sequence[str]) -> tuple[int | None, int | None]:
    """Returns the columns whose names say that they are the time and the rate; None for what no name says."""
    ranked = sorted((rank, at) for at, name in enumerate(names) if (rank := _rank(name)) is not None)
    rate = ranked[0][1] if ranked else None
    timed = [(_TIMES.index(word), at) for at, name in enumerate(names) if at != rate for word in _time_words(name)]
    return (min(timed)[1] if timed else None), rate


def _by_names(names: Sequence[str]) -> tuple[int, int]:
    """Returns the columns of time and rate. Raises ValueError if their names do not tell."""
    time, rate = _found(names)
    if len(names) == 2 and rate is None:
        return (0, 1) if time in (0, None) else (1, 0)
    time = 0 if time is None and rate not in (0, None) else time
    if time is None or rate is None:
        which = "time" if time is None else "rate, throughput, bandwidth or bitrate"
        raise ValueError(f"no column is called {which}, of {_shown(names)}; --columns takes two of them")
    return time, rate


def _column(asked: str, names: Sequence[str], width: int) -> int:
    lowered = [name.lower() for name in names]
    if asked.lower() in lowered:
        return lowered.index(asked.lower())
    if asked.isascii() and asked.isdecimal() and len(asked) < 6 and 1 <= int(asked) <= width:
        return int(asked) - 1
    raise ValueError(f"it has no column {asked!r}; it has 1 to {width}{': ' + _shown(names) if names else ''}")


def _shown(cells: Sequence[str]) -> str:
    text = printable(", ".join(cells))
    return text if len(text) <= 80 else f"{text[:80]}..."


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def _time_words(name: str) -> list[str]:
    words = [{"seconds": "t", "sec": "t", "s": "t", "ms": "t"}.get(word, word) for word in _words(name)]
    return [word for word in words if word in _TIMES and "zone" not in words]


def _rank(name: str) -> tuple[bool, int, bool] | None:
    """Returns how well a name says that a column is the rate toward the client, less for better; None if not at all."""
    words = _words(name)
    if any(word in _OTHER_RATES for word in words):
        return None
    kinds = [at for at, kind in enumerate(_RATES) if any(word.endswith(kind) for word in words)]
    if not kinds and rate_unit_of(name) is None:
        return None
    return any(word in _UP for word in words), min(kinds, default=len(_RATES)), all(word not in _DOWN for word in words)


def cell_of(row: Row, at: int) -> str:
    """Returns a cell of a row; empty if the row is too short."""
    return row.cells[at] if at < len(row.cells) else ""
