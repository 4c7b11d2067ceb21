"""The cells of a table, as people, tools and spreadsheets write it: separators, numbers, units, time stamps. Pure.

Rules:
1. Columns are separated by tabs, semicolons, commas or blanks: by the first of these that most lines have. Blanks go
   before commas if these stand inside numbers: `0,5 12,3`.
2. In a number the last of comma and point is the decimal mark. So a comma inside a cell is one, and a note says so.
3. Empty lines are passed over, and comments: lines that begin with #, // or %.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

_COMMENT = re.compile(r"\s*(?:#|//|%)")
_DECIMAL_COMMA = re.compile(r"[\dTt:.+-]*,\d+(?![\d.,:])")
_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:[.,]\d+)*[.,]?|[.,]\d+)(?:e[+-]?\d+)?)\s*(.*?)\s*", re.ASCII | re.IGNORECASE)
_MISSING = ("", "-", "--", "nan", "na", "n/a", "null", "none")
_RATE_UNIT = re.compile(
    r"(?<![a-z])([kmgt]?)(bit|byte|b)s?(?:ps|/s(?:ec(?:ond)?)?|[ _]?per[ _]?s(?:ec(?:ond)?)?)(?![a-z])"
    r"|(?<![a-z])([kmgt]?)(bit)(?![a-z])",
    re.IGNORECASE,
)
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

TIME_UNITS: Mapping[str, float] = MappingProxyType({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9})
"""The units of time, in seconds."""

_TIME_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "usec", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), "ns"),
}
_CLOCK = r"(\d\d?)[:.](\d\d)[:.](\d\d)(?:[.,](\d{1,9}))?\s*([ap]m)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-./](\d\d?)[-./](\d\d?)[t_ ]+{_CLOCK}", re.ASCII | re.IGNORECASE)
_YEAR_LAST = re.compile(rf"(\d\d?)([-./])(\d\d?)[-./](\d{{4}})[t_, ]+{_CLOCK}", re.ASCII | re.IGNORECASE)
_CLOCK_ALONE = re.compile(_CLOCK.replace("[:.]", ":"), re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"(?:19|20)\d{12}", re.ASCII)
_APART = re.compile(r"(\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./]\d{4})\s+(?=\d\d?[:.]\d\d[:.]\d\d)", re.ASCII)
_UNIT_APART = re.compile(r"(?<=\d)\s+(?=[kmgtKMGT]?(?:bit|[Bb]yte|[bB](?:ps|/s))|[mun]?s(?:\s|$))")
_NAME_APART = re.compile(r"\s+(?=[\[(])")
_UTC = re.compile(r"(?<=\d)\s*(?:utc|gmt|z)\Z", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a table. number: that of the line, from 1. is_comment: True if it may only be a heading."""

    number: int
    cells: tuple[str, ...]
    is_comment: bool = False


def rows_of(text: str) -> tuple[list[Row], str]:
    """Returns the lines of a table as cells, with comments, and the separator."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip(" \t,;\ufeff")]
    plain = [line for _, line in lines if not _COMMENT.match(line)]
    separator = _separator(plain)
    rows = []
    for number, line in lines:
        comment = _COMMENT.match(line)
        cells = _cells(line[comment.end() :] if comment else line, separator)
        rows.append(Row(number=number, cells=tuple(cell.strip() for cell in cells), is_comment=comment is not None))
    return rows, separator


def _separator(lines: Sequence[str]) -> str:
    for separator in ("\t", ";"):
        if sum(separator in line.strip() for line in lines) * 2 > len(lines):
            return separator
    with_comma = [line for line in lines if "," in line]
    if not with_comma or all(_has_decimal_commas(line) for line in with_comma[-20:]):
        return " "
    return ","


def _has_decimal_commas(line: str) -> bool:
    """True if blanks separate a line's cells, and its commas stand inside numbers."""
    cells = _cells(line, " ")
    return len(cells) > 1 and all(_DECIMAL_COMMA.match(cell) for cell in cells if "," in cell)


def _cells(line: str, separator: str) -> list[str]:
    if separator == " ":
        joined = _APART.sub(r"\1T", _UNIT_APART.sub("", _NAME_APART.sub("", line)))
        return joined.split()
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return line.split(separator)


def number_of(cell: str) -> tuple[float, str] | None:
    """Returns the number in a cell, and the text after it, such as a unit; None if it has no number."""
    found = _NUMBER.fullmatch(cell)
    if found is None:
        return None
    text = found[1]
    comma, point = text.rfind(","), text.rfind(".")
    mark = "," if comma > point and text.count(",") == 1 else "." if text.count(".") <= 1 else ""
    kept = "".join(letter for letter in text if letter not in ",." or letter == mark)
    return float(kept.replace(",", ".")), found[2]


def is_missing(cell: str) -> bool:
    """True if a cell says that there is no value."""
    return cell.strip().lower() in _MISSING


def rate_unit_of(text: str) -> float | None:
    """Returns the unit of a rate in a heading or after a number, in bits per second; None if it has none.

    As people write them: Mbps and Mb/s are megabits, MB/s and MByte/s megabytes.
    """
    found = _RATE_UNIT.search(text)
    if found is None:
        return None
    prefix, unit = (found[1] or found[3] or "").lower(), found[2] or found[4]
    return float(_PREFIXES[prefix] * (8 if unit == "B" or unit.lower() == "byte" else 1))


def time_unit_of(text: str) -> str | None:
    """Returns the unit of a time in a heading or after a number, a key of TIME_UNITS; None if it has none."""
    words = re.split(r"[^a-z\u00b5\u03bc]+", text.lower())
    return next((_TIME_WORDS[word] for word in reversed(words) if word in _TIME_WORDS), None)


def stamp_s(cell: str) -> float | None:
    """Returns the seconds of a time stamp in text since 1970, or of a time of day since midnight; None if it is none.

    A stamp without zone counts as UTC. Of a date with slashes that can be read both ways, the month comes first.
    """
    try:
        return _moment_s(_UTC.sub("", cell.strip()))
    except (ValueError, OverflowError):
        return None


def is_time_of_day(cell: str) -> bool:
    """True if a cell has a time of day without a date."""
    return _CLOCK_ALONE.fullmatch(cell.strip()) is not None


def _moment_s(text: str) -> float | None:
    if _DIGITS.fullmatch(text):
        return _seconds(datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC))
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day, *clock = found.groups()
        return _seconds(datetime(int(year), int(month), int(day), tzinfo=UTC)) + _clock_s(clock)
    if found := _YEAR_LAST.fullmatch(text):
        first, mark, second, year, *clock = found.groups()
        month_first = mark == "/" and int(first) <= 12
        month, day = (first, second) if month_first else (second, first)
        return _seconds(datetime(int(year), int(month), int(day), tzinfo=UTC)) + _clock_s(clock)
    if found := _CLOCK_ALONE.fullmatch(text):
        return _clock_s(found.groups())
    if not re.search(r"\d[t_ ]\d", text, re.IGNORECASE):
        return None
    read = datetime.fromisoformat(text.upper().replace("_", "T"))
    return _seconds(read if read.tzinfo else read.replace(tzinfo=UTC))


def _clock_s(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction, half = parts
    hour = int(hours or 0)
    if half:
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    return hour * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction or 0}")


def _seconds(read: datetime) -> float:
    return (read - _EPOCH) / timedelta(seconds=1)
