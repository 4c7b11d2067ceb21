"""Tables of a link's values over time: events of a schedule in the rows of a file.

    time  RATE    DELAY  LOSS
    0s    10mbit  20ms   0%
    1s    2mbit   60ms   2%
    3s    10mbit  20ms   0%

The columns are separated by white space or commas. A `-` leaves a knob as it is. If the table is followed several
times, the time of its last row is the first of the next round.
"""

import shlex
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from priolab.common.errors import ScenarioError
from priolab.common.formats.files import content, decoded, printable
from priolab.netem import units
from priolab.testbed.option_values import parsed_time_ns
from priolab.testbed.sandbox.schedule import AT, CHANGING, FOLLOW, LEAST, MOST, assigned

_USAGE = "follow HOST FILE, or follow HOST FILE TIMES, with a table of time and knobs in the file"
_TIME, _SAME = "time", "-"
_MOST_BYTES, _MOST_ROUNDS, _MOST_EVENTS = 2**20, 10_000, 100_000


def with_tables(given: Iterable[tuple[str, str]], where: str = AT) -> tuple[tuple[str, str], ...]:
    """Returns times and events, with those of a table in place of one that follows it. Raises ScenarioError.

    where: what has the events, for errors.
    """
    found: list[tuple[str, str]] = []
    for pair in given:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
            raise ScenarioError(where, f"{pair}", "pairs of a time and an event, such as ('5s', 'LOSS=100%')")
        at, text = pair
        found += islice(_rows(at, text, where), _MOST_EVENTS + 1) if text.split()[:1] == [FOLLOW] else [(at, text)]
        if len(found) > _MOST_EVENTS:
            raise ScenarioError(where, text, f"at most {_MOST_EVENTS} events")
    return tuple(found)


def _rows(at: str, text: str, where: str) -> Iterator[tuple[str, str]]:
    """Yields the events of a table."""
    try:
        _, host, name, *more = shlex.split(text)
        rounds = int(*more or (1,))
    except (TypeError, ValueError):
        raise ScenarioError(where, f"{at} {text}", _USAGE) from None
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise ScenarioError(where, text, f"1 to {_MOST_ROUNDS} times")
    begins_ns, rows = parsed_time_ns(where, at, LEAST, MOST), _read(name, where)
    length_ns = rows[-1][0]
    for number in range(rounds):
        for time_ns, values in rows if number == rounds - 1 else rows[:-1]:
            for knob, value in values:
                yield f"{begins_ns + number * length_ns + time_ns}ns", assigned(host, knob, value)


def _read(name: str, where: str) -> list[tuple[int, list[tuple[str, str]]]]:
    """Returns the rows of a file: the time of each in ns, and its knobs and values. Raises ScenarioError."""
    try:
        text = decoded(content(Path(name), _MOST_BYTES))
    except (OSError, ValueError) as error:
        reason = printable(getattr(error, "strerror", None) or str(error))
        raise ScenarioError(where, f"{FOLLOW} {printable(name)}", f"a readable file ({reason})") from error
    lines = [(number, line.replace(",", " ").split()) for number, line in enumerate(text.splitlines(), start=1)]
    heading, *data = [(number, cells) for number, cells in lines if cells and not cells[0].startswith("#")] or [(1, [])]
    first, *knobs = heading[1] or [""]
    if first != _TIME or not knobs or not {*knobs} <= {*CHANGING}:
        shown = printable(" ".join(heading[1]))
        allowed = f"a first line of {_TIME} and knobs of {', '.join(CHANGING)}"
        raise ScenarioError(f"{printable(name)} line {heading[0]}", shown, allowed)
    rows: list[tuple[int, list[tuple[str, str]]]] = []
    for number, cells in data:
        try:
            time_ns = units.parse_time_ns(cells[0])
            values = [(knob, cell) for knob, cell in zip(knobs, cells[1:], strict=True) if cell != _SAME]
        except ValueError:
            time_ns, values = -1, []
        if time_ns <= (rows[-1][0] if rows else -1):
            allowed = f"a time with a unit, later than that of the row before, and {len(knobs)} values"
            raise ScenarioError(f"{printable(name)} line {number}", printable(" ".join(cells)), allowed)
        rows.append((time_ns, values))
    if not rows:
        raise ScenarioError(printable(name), "nothing", "a row with a time and values")
    return rows
