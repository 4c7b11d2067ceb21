"""Tables of a rate over time, as measurements of mobile networks are published, and the traces that follow. Pure.

Rules:
1. A row has a time, and the rate from then on. A heading names the columns; without one they are the first two.
   table_cells.py reads the cells.
2. Rows are put in the order of their times. Of several rows with one time the mean counts. In a row without a rate the
   rate of the row before goes on. Notes say all this, and which columns and units were taken.
3. If most steps are about equal, a step of more than HOLE times the usual one is a hole in the recording: the rate
   before it lasts for one usual step, and then nothing is sent.
4. A rate or time that no link or recording has is an error or a note, which names the unit that would fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import isfinite
from statistics import fmean, median_high, median_low
from typing import Self

from priolab.common.trace import LONGEST_MS, Trace
from priolab.netem.table_cells import (
    TIME_UNITS,
    Row,
    is_missing,
    is_time_of_day,
    number_of,
    rate_unit_of,
    rows_of,
    stamp_s,
    time_unit_of,
)
from priolab.netem.table_columns import Columns, cell_of, check_commas, parted
from priolab.netem.units import UNITS_OF_RATES

HOLE = 5
DOUBT = "rates around"
"""The begin of the note that the unit may be wrong."""

_USUAL_UNIT = "mbit"
_LIKELY_BIT_S = (20_000, 2 * 10**9)
"""The limits of the typical rate of a recorded network."""
_LONGEST_STEP_S = 100
_DAY_S = 86_400
_KBIT_NAMES = ("dl_bitrate", "ul_bitrate")  # G-NetTrack, which names no unit
_UNIT_WORDS = {1: "bit/s", 1e3: "kbit/s", 1e6: "Mbit/s", 1e9: "Gbit/s", 8: "byte/s", 8e3: "kB/s", 8e6: "MB/s"}
_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""From how many on a number that counts from 1970 is in a unit: 1e11 s are 3000 years."""


@dataclass(frozen=True, kw_only=True)
class RateTable:
    """A recorded rate. steps: (seconds from the first row, bits per second), by time; the last one is the end.

    notes: sentences on how the table was read.
    """

    steps: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls, text: str, *, unit: str | None = None, time_unit: str | None = None, columns: Sequence[str] = ()
    ) -> Self:
        """Reads a table. Raises ValueError, which names the first bad line.

        unit: that of rates in tc's notation; None for what the table says, or mbit. time_unit: a key of TIME_UNITS;
        None for what the table says, or s. columns: the names or numbers of the columns of time and rate; empty for
        what their names say.
        """
        rows, separator = rows_of(text)
        heading, data = parted(rows)
        chosen = Columns.of(heading, data, columns)
        if separator == ",":
            check_commas(heading, data, columns)
        notes: list[str] = []
        times, time_words = _times(data, chosen, time_unit)
        rates, rate_words = _rates(data, chosen, unit, notes)
        taken = f"taken: {chosen.names[0]} as {time_words}, {chosen.names[1]} as the rate {rate_words}"
        notes.insert(0, taken + (f", of {chosen.width} columns" if chosen.width > 2 else ""))
        found = _by_time(times, rates, notes)
        if any("," in cell_of(row, at) for row in data for at in (chosen.time, chosen.rate)):
            notes.append("the last comma or point of a number is its decimal mark")
        merged = _merged(found, notes)
        if len(merged) < 2:
            raise ValueError("it has fewer than two times with a rate")
        _check_step(merged, time_unit)
        return cls(steps=tuple(_with_holes(merged, notes)), notes=tuple(notes))

    def trace(self, name: str, duration_ms: int | None = None) -> Trace:
        """Returns the trace. duration_ms: the length of the beginning that is used; None for all. Raises ValueError."""
        ends_ms = [round(later * 1000) for _, (later, _) in pairwise(self.steps)]
        longest_ms = ends_ms[-1] if duration_ms is None else min(duration_ms, ends_ms[-1])
        if longest_ms > LONGEST_MS:
            raise ValueError(f"it lasts {longest_ms / 1000:.0f} s, more than an hour")
        return Trace.at_rates(name, self._each_ms(ends_ms, longest_ms))

    def _each_ms(self, ends_ms: Sequence[int], longest_ms: int) -> Iterator[float]:
        time_ms = 0
        for (_, rate), end_ms in zip(self.steps, ends_ms, strict=False):
            while time_ms < min(end_ms, longest_ms):
                time_ms += 1
                yield rate


def _times(data: Sequence[Row], columns: Columns, unit: str | None) -> tuple[list[float], str]:
    """Returns the time of each row in seconds, and what the times are. Raises ValueError."""
    texts = [cell_of(row, columns.time) for row in data]
    if columns.date is not None:
        texts = [f"{cell_of(row, columns.date)} {text}" for row, text in zip(data, texts, strict=True)]
    stamps = [stamp for text in texts if (stamp := stamp_s(text)) is not None]
    if len(stamps) == len(texts):
        return (_days_apart(stamps), "times of day") if is_time_of_day(texts[0]) else (stamps, "time stamps")
    numbers = []
    for row, text in zip(data, texts, strict=True):
        number = number_of(text)
        own = None if number is None or not number[1] else time_unit_of(number[1])
        if number is None or not isfinite(number[0]) or (number[1] and own is None):
            raise ValueError(f"line {row.number} has no time, such as 0.5 or 2026-11-27T10:15:30: {text[:40]!r}")
        numbers.append((number[0], own))
    told = unit or time_unit_of(columns.names[0])
    if told is None:
        typical = median_high(abs(number) for number, _ in numbers)
        told = next((name for least, name in _EPOCHS if typical >= least), "s")
    own_units = {own or told for _, own in numbers}
    words = f"the time in {own_units.pop()}" if len(own_units) == 1 else "the time in its cells' units"
    return [number * TIME_UNITS[own or told] for number, own in numbers], words


def _days_apart(found: Sequence[float]) -> list[float]:
    """Returns times of day, with a day added whenever they begin anew."""
    days, made = 0, [found[0]]
    for before, after in pairwise(found):
        days += before - after > _DAY_S / 2
        made.append(after + days * _DAY_S)
    return made


def _rates(data: Sequence[Row], columns: Columns, unit: str | None, notes: list[str]) -> tuple[list[float | None], str]:
    """Returns the rate of each row in bits per second, None where it is missing, and the unit. Raises ValueError."""
    name = columns.names[1]
    headed = 1e3 if name.lower() in _KBIT_NAMES else rate_unit_of(name)
    told = float(UNITS_OF_RATES[unit]) if unit else headed
    if told and headed and told != headed:
        notes.append(f"--unit {unit} counts, although the rates of {name} are in {_unit_words(headed)}")
    made: list[float | None] = []
    guessed: list[float] = []
    units = set()
    for row in data:
        cell = cell_of(row, columns.rate)
        if is_missing(cell):
            made.append(None)
            continue
        number = number_of(cell)
        own = None if number is None or not number[1] else rate_unit_of(number[1])
        if number is None or (number[1] and own is None):
            raise ValueError(f"line {row.number} has no rate: {cell[:40]!r}")
        if not isfinite(number[0]) or number[0] < 0:
            raise ValueError(f"line {row.number}: no rate is negative or infinite: {cell[:40]!r}")
        scale = own or told
        if scale is None:
            guessed.append(number[0])
        units.add(scale or UNITS_OF_RATES[_USUAL_UNIT])
        made.append(number[0] * (scale or UNITS_OF_RATES[_USUAL_UNIT]))
    _check_unit(guessed, [each for each in made if each], notes)
    return made, f"in {_unit_words(units.pop())}" if len(units) == 1 else "in its cells' units"


def _unit_words(unit_bit_s: float) -> str:
    """Returns a unit of rates in words."""
    return _UNIT_WORDS.get(unit_bit_s, f"{unit_bit_s:g} bit/s")


def _check_unit(guessed: Sequence[float], rates: Sequence[float], notes: list[str]) -> None:
    """Adds a note if rates are unlikely. Raises ValueError if their unit was not told, either.

    guessed: the numbers whose unit nobody told.
    """
    if not rates:
        return
    typical, likely = median_high(rates), " to ".join(map(_rate_words, _LIKELY_BIT_S))
    if _LIKELY_BIT_S[0] <= typical <= _LIKELY_BIT_S[1]:
        return
    values = [each for each in guessed if each]
    if not values:
        notes.append(f"{DOUBT} {_rate_words(typical)} are unlikely (usual: {likely}): is the unit right?")
        return
    value = median_high(values)
    fits = next((name for name in ("bit", "kbit", "mbit", "gbit") if _likely(value * UNITS_OF_RATES[name])), "bit")
    raise ValueError(
        f"{DOUBT} {value:g} would be {_rate_words(typical)} in Mbit/s; --unit {fits} reads them as"
        f" {_rate_words(value * UNITS_OF_RATES[fits])}, --unit mbit as they are"
    )


def _likely(rate_bit_s: float) -> bool:
    return _LIKELY_BIT_S[0] <= rate_bit_s <= _LIKELY_BIT_S[1]


def _rate_words(rate_bit_s: float) -> str:
    """Returns a rate in words: `5.5 Mbit/s`."""
    least, unit = next(
        (each for each in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")) if rate_bit_s >= each[0]),
        (1, "bit/s"),
    )
    return f"{rate_bit_s / least:.4g} {unit}"


def _by_time(times: Sequence[float], rates: Sequence[float | None], notes: list[str]) -> list[tuple[float, float]]:
    """Returns the rows by time, from the first with a rate on."""
    if missing := rates.count(None):
        notes.append(f"{missing} rows have no rate: the rate before them goes on")
    if any(later < earlier for earlier, later in pairwise(times)):
        notes.append("the rows were not in the order of their times, and are sorted")
    found: list[tuple[float, float]] = []
    for time_s, rate in sorted(zip(times, rates, strict=True), key=lambda row: row[0]):
        if rate is not None:
            found.append((time_s, rate))
        elif found:
            found.append((time_s, found[-1][1]))
    return found


def _merged(found: Sequence[tuple[float, float]], notes: list[str]) -> list[tuple[float, float]]:
    """Returns the rows with one rate for each time."""
    merged = [(time_s, fmean(rate for _, rate in group)) for time_s, group in groupby(found, key=lambda step: step[0])]
    if same := len(found) - len(merged):
        notes.append(f"{same} rows have the time of another: the mean of such rates counts")
    return merged


def _check_step(merged: Sequence[tuple[float, float]], unit: str | None) -> None:
    """Raises ValueError for steps that are too long for seconds, unless somebody said that they are."""
    step_s = median_low(later - earlier for (earlier, _), (later, _) in pairwise(merged))
    if unit is None and step_s >= _LONGEST_STEP_S:
        raise ValueError(
            f"its times would be {step_s:g} s apart; --time-unit ms takes them for milliseconds, and s for seconds"
        )


def _with_holes(merged: Sequence[tuple[float, float]], notes: list[str]) -> Iterator[tuple[float, float]]:
    """Yields the steps from the first row's time on, with those in which nothing is sent, and the end."""
    first_s = merged[0][0]
    lengths = [later - earlier for (earlier, _), (later, _) in pairwise(merged)]
    usual_s = median_low(lengths)
    regular = sum(usual_s / 2 <= each <= usual_s * 2 for each in lengths) * 2 > len(lengths) > 1
    longest_s = HOLE * usual_s if regular else float("inf")
    holes = [each - usual_s for each in lengths if each > longest_s]
    if holes:
        told = "1 hole" if len(holes) == 1 else f"{len(holes)} holes"
        notes.append(f"{told} of {sum(holes):g} s in all, where the table has no rows: nothing is sent there")
    for (time_s, rate), length_s in zip(merged, [*lengths, 0.0], strict=True):
        yield time_s - first_s, rate
        if length_s > longest_s:
            yield time_s - first_s + usual_s, 0.0
    last_s = usual_s if lengths[-1] > longest_s else lengths[-1]
    yield merged[-1][0] - first_s + last_s, 0.0
