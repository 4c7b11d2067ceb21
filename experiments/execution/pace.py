"""The speed of this machine: its pace in earlier sweeps, and the share of its processors that is free now.

The pace is the time that runs took, divided by their expected cost (`execution/cost.py`). The time is processor time
with the virtual clock, otherwise wall time. The user's cache keeps the pace by fabric and client.
"""

import os
import resource
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from priolab.common.cache import recall, remember
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.scenario.scenario import Scenario

_FILE = "pace.json"
_LEAST_S = 5.0
"""The shortest time from which a pace is computed, in seconds."""

_SLOWEST = 100.0
_LOAD = Path("/proc/loadavg")
_READINGS, _APART_S = 20, 0.005
"""The number of readings of the kernel's count of runnable threads, and the time before each."""


def spent_s(fabric: Fabric, side_by_side: int) -> float:
    """Reads a clock, in seconds. The difference between two readings is the time that runs took in between.

    With the virtual clock this time is the processor time of this process and of its children that have ended.
    Otherwise it is the wall time times the number of jobs side by side.
    """
    if not fabric.virtual_clock:
        return time.monotonic() * side_by_side
    return used_s(resource.RUSAGE_SELF) + used_s(resource.RUSAGE_CHILDREN)


def used_s(who: int) -> float:
    """Returns the processor time used so far, in user and kernel mode. who: RUSAGE_SELF or RUSAGE_CHILDREN."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def kind(scenarios: Sequence[Scenario], fabric: Fabric) -> str:
    """Returns the name under which the pace is kept: the fabric and, if a scenario uses a browser, the browser."""
    browser = next((scenario.client for scenario in scenarios if scenario.client.is_browser), None)
    return f"{fabric.name} {browser}" if browser else fabric.name


def learned(name: str) -> float | None:
    """Returns the pace in earlier sweeps; None if none is known. name: the fabric, and the browser if one is used."""
    with suppress(KeyError, ValueError, TypeError):
        pace = float(recall(_FILE)[name])
        return pace if 1 / _SLOWEST <= pace <= _SLOWEST else None
    return None


def learn(name: str, *, took_s: float, cost_s: float) -> None:
    """Stores the mean of a finished sweep's pace and of the pace stored before. Ignores a short sweep.

    name: the fabric, and the browser if one is used. took_s: the time that the sweep's runs took (processor time with
    the virtual clock, otherwise wall time). cost_s: their expected cost.
    """
    if took_s < _LEAST_S:
        return
    before, pace = learned(name), took_s / cost_s
    remember(_FILE, {name: round(pace if before is None else (before + pace) / 2, 3)})


def free(jobs: int) -> float:
    """Estimates which share of a processor each of several busy jobs will get: 1 if nothing else runs.

    The kernel counts the threads that run or want to run (proc_loadavg(5)), this one among them.
    """
    counts = []
    for _ in range(_READINGS):
        time.sleep(_APART_S)
        running, _, _ = _LOAD.read_text().split()[3].partition("/")
        counts.append(int(running) - 1)
    return min(1.0, (os.cpu_count() or 1) / (jobs + fmean(counts)))
