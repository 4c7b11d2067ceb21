"""Examines a clock: its smallest step, the cost of a read, and whether it moves while a program computes.

    python -m priolab.common.clock_quality     prints these properties of Python's monotonic clock as JSON

No loop waits for the clock to move. In a guest, whose clock stands still while a program computes, such a loop would
never end. Every loop is bounded by a count instead.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from priolab.common.clock_route import route_of_python

_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_READS = 200
_BATCHES = 4
_COUNTABLE = 10  # the least number of steps in a batch of reads; a batch with fewer is not averaged
_CHUNK = 10_000  # additions in a chunk of work
_CHUNK_NS = 50_000  # the least time that a chunk of work takes; usually it takes 0.1 to 0.2 ms
_LEAST_CHUNKS, _MOST_CHUNKS = 8, 200  # all chunks together outlast a step of 10 ms
_FIRST_NAP_S = 1e-6
_LONGEST_NAP_S = 0.05
_NAPS = 3

Clock = Callable[[], int]


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The properties of a clock, measured with this clock alone. A property that could not be measured is None.

    resolution_ns: the smallest step seen between two reads. A measured step is at least the time that a read takes.
    read_cost_ns: the time that a read takes, the call from Python included.
    advances_while_working: True if the clock moves while a program computes.
    reasons: why a property is None, by the name of the property.
    """

    resolution_ns: int | None
    read_cost_ns: float | None
    advances_while_working: bool
    reasons: Mapping[str, str]


def examine(clock: Clock, work: Callable[[], object], sleep: Callable[[float], None]) -> Quality:
    """Examines a clock that counts nanoseconds. work: computes for a short time. sleep: like time.sleep."""
    batches = [[clock() for _ in range(_READS)] for _ in range(_BATCHES)]
    batch_steps = [[later - earlier for earlier, later in pairwise(batch)] for batch in batches]
    seen = [step for steps in batch_steps for step in steps if step]
    resolution_ns = min(seen) if seen else _step_asleep(clock, sleep)
    countable = [sum(steps) / len(steps) for steps in batch_steps if sum(map(bool, steps)) >= _COUNTABLE]
    alone_ns = median(step for steps in batch_steps for step in steps)
    reasons = {}
    if resolution_ns is None:
        reasons["resolution_ns"] = "the clock was never seen to move"
    if not countable:
        reasons["read_cost_ns"] = "the clock is too coarse to measure the time of a read"
    return Quality(
        resolution_ns=resolution_ns,
        read_cost_ns=round(min(countable), 1) if countable else None,
        advances_while_working=_advances(clock, work, alone_ns, _chunks(resolution_ns)),
        reasons=reasons,
    )


def _step_asleep(clock: Clock, sleep: Callable[[float], None]) -> int | None:
    """Returns the smallest step seen during longer and longer sleeps; None if the clock never moved."""
    steps = []
    for _ in range(_NAPS):
        before_ns, nap_s = clock(), _FIRST_NAP_S
        while nap_s <= _LONGEST_NAP_S:
            sleep(nap_s)
            if step := clock() - before_ns:
                steps.append(step)
                break
            nap_s *= 2
    return min(steps, default=None)


def _chunks(resolution_ns: int | None) -> int:
    """Returns the number of chunks of work that outlast a step of the clock. resolution_ns: None if it is unknown."""
    return _MOST_CHUNKS if resolution_ns is None else min(_MOST_CHUNKS, _LEAST_CHUNKS + resolution_ns // _CHUNK_NS)


def _advances(clock: Clock, work: Callable[[], object], alone_ns: float, chunks: int) -> bool:
    """Returns True if the clock moves during work, by more than the two reads around the work take.

    alone_ns: the time that a read takes. chunks: how often to work. The result is False only after all of them.
    """
    for _ in range(chunks):
        before_ns = clock()
        work()
        if clock() - before_ns > 2 * alone_ns:
            return True
    return False


@cache
def describe() -> Mapping[str, Any]:
    """Describes Python's monotonic clock for env.json; docs/reference/results.md lists the keys.

    Only the first call measures.
    """
    says = time.get_clock_info("monotonic")
    quality = examine(time.monotonic_ns, lambda: sum(range(_CHUNK)), time.sleep)
    finding = route_of_python()
    reasons = dict(quality.reasons)
    try:
        source = _SOURCE.read_text().strip()
    except OSError as error:
        source, reasons["source"] = None, f"{_SOURCE}: {error.strerror}"
    if finding.reason:
        reasons["reads"] = finding.reason
    return {
        "implementation": says.implementation,
        "resolution_s": says.resolution,
        "python": {
            "source": source,
            "resolution_ns": quality.resolution_ns,
            "read_cost_ns": quality.read_cost_ns,
            "advances_while_working": quality.advances_while_working,
            "reads": finding.route,
            "reasons": reasons,
        },
    }


if __name__ == "__main__":
    print(json.dumps(describe()))
