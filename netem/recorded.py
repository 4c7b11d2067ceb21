"""Traces of packet opportunities from a recorded rate, as measurements of mobile networks are published. Pure.

A recording is a table of lines: a time in seconds, and the rate from then on. Commas, semicolons or blanks stand
between them. Further columns, empty lines, lines that begin with `#`, and a first line of names are passed over. The
last rate lasts as long as the one before it.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from math import isfinite

from priolab.common.trace import LONGEST_MS, Trace

_BETWEEN = re.compile(r"[,;\s]+")


def recorded(name: str, text: str, *, unit_bit_s: int, duration_ms: int | None = None) -> Trace:
    """Returns the trace of a recording. Raises ValueError, which names the first bad line.

    unit_bit_s: the unit of the rates in bits per second. duration_ms: the length of the beginning that is used; None
    for all.
    """
    steps = list(_steps(text))
    if len(steps) < 2:
        raise ValueError("it has fewer than two lines of numbers")
    first_s = steps[0][0]
    steps.append((2 * steps[-1][0] - steps[-2][0], 0.0))
    ends_ms = [round((later - first_s) * 1000) for (_, _), (later, _) in pairwise(steps)]
    longest_ms = ends_ms[-1] if duration_ms is None else min(duration_ms, ends_ms[-1])
    if longest_ms > LONGEST_MS:
        raise ValueError(f"it lasts {longest_ms / 1000:.0f} s, more than an hour")
    return Trace.at_rates(name, _each_ms(steps, ends_ms, longest_ms, unit_bit_s))


def _each_ms(steps: list[tuple[float, float]], ends_ms: list[int], longest_ms: int, unit_bit_s: int) -> Iterator[float]:
    time_ms = 0
    for (_, rate), end_ms in zip(steps, ends_ms, strict=False):
        while time_ms < min(end_ms, longest_ms):
            time_ms += 1
            yield rate * unit_bit_s


def _steps(text: str) -> Iterator[tuple[float, float]]:
    last_s = float("-inf")
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell for cell in _BETWEEN.split(line) if cell]
        if not cells or line.startswith("#"):
            continue
        try:
            time_s, rate = float(cells[0]), float(cells[1])
        except (ValueError, IndexError):
            if number == 1:
                continue  # the columns' names
            raise ValueError(f"line {number} has no two numbers") from None
        if not (isfinite(time_s) and isfinite(rate) and rate >= 0 and time_s > last_s):
            raise ValueError(f"line {number}: times increase, and no rate is negative")
        last_s = time_s
        yield time_s, rate
