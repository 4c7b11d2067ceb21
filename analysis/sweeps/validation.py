"""Checks if new runs confirm the value that a sweep recommends. Pure.

The *promise* of a sweep for a measure is a lower and an upper limit for the median of new runs of the same scenario.
The limits are the ends of the measure's interval in the sweep, widened by the noise band (noise_band.py). The interval
alone describes only the median of the sweep's own repetitions. New runs may differ from this median by the spread of an
A/A pair and by the grain as well.

New runs have the same fabric as the sweep, and seeds that the sweep did not use. With a used seed, a run in the guest
would repeat a run of the sweep exactly, and prove nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.records.runs import Run
from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.measures import Measure, measures
from priolab.analysis.sweeps.network_knobs import LOWAT, NONE
from priolab.analysis.sweeps.noise_band import Spread
from priolab.common.formats.reading import FolderError

PROMISED = (Measure.FIRST_BYTE, Measure.GOODPUT)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The comparison of new runs with the promise for a measure.

    found: the estimate from the new runs. low, high: the promised limits for the median of this estimate.
    """

    measure: Measure
    found: Estimate
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """True if the new runs' median is within the limits."""
        return self.low <= self.found.median <= self.high

    @property
    def words(self) -> str:
        """The result of the comparison in words."""
        found, low, high = (words.amount(self.measure, value) for value in (self.found.median, self.low, self.high))
        inside = "within" if self.holds else "outside of"
        return f"{self.measure}: {found}, {inside} the sweep's limits, {low} to {high}"


def promised(estimate: Estimate, spread: Spread) -> tuple[float, float]:
    """Returns the promise: a lower and an upper limit for the median of new runs.

    estimate: the sweep's estimate of the measure. spread: the measure's spread in the network.
    """
    return spread.reach(estimate.low, estimate.high)


def check(network: Mapping[str, Any], runs: Sequence[Run]) -> list[Kept]:
    """Compares new runs with the promise for a network in a sweep's summary (analysis/sweeps/summary.py).

    A run is checked if it is ok and has the recommended LOWAT and the network's knobs, written as in the summary.
    Raises FolderError if no value is recommended, if no run is checked, or if a checked run has another fabric than the
    sweep or a seed of the sweep.
    """
    knee = network["knee"]
    if knee["recommended"] is None:
        raise FolderError(f"{network['network']}: the sweep recommends no {network['knob']}")
    alike = [run for run in runs if run.status == "ok" and _is_recommended(run, network)]
    if not alike:
        raise FolderError(f"no run that is ok has {network['knob']}={knee['recommended']} and {network['network']}")
    for run in alike:
        _check_new(run, network["made"])
    found = [_means(runs_of_a_seed) for runs_of_a_seed in _together(alike, network)]
    return [
        Kept(
            measure=measure,
            found=Estimate.of([value for each in found if (value := each[measure]) is not None]),
            low=knee["promise"][measure]["low"],
            high=knee["promise"][measure]["high"],
        )
        for measure in PROMISED
    ]


def _together(runs: Sequence[Run], network: Mapping[str, Any]) -> Sequence[Sequence[Run]]:
    """Groups the runs as the sweep did: those of a seed at all instants together. Raises FolderError if there are none.

    If the sweep has a single instant, every run is by itself.
    """
    at = sorted({name for value in network["values"] for name in value["first_byte_ms_at"]})
    if len(at) < 2:
        return [[run] for run in runs]
    by_seed: dict[int, dict[str, Run]] = {}
    for run in runs:
        by_seed.setdefault(run.record.seed, {})[f"{(run.scenario.script_delay_ns or 0) // 10**6}ms"] = run
    whole = [[each[name] for name in at] for each in by_seed.values() if {*at} <= {*each}]
    if not whole:
        raise FolderError(f"{network['network']}: no seed has new runs with each of JS_DELAY={','.join(at)}")
    return whole


def _means(runs: Sequence[Run]) -> dict[Measure, float | None]:
    found = [measures(run) for run in runs]
    known = {measure: [each[measure] for each in found] for measure in PROMISED}
    return {measure: None if None in of else sum(filter(None, of)) / len(of) for measure, of in known.items()}


def _is_recommended(run: Run, network: Mapping[str, Any]) -> bool:
    via = run.scenario.via
    lowat = run.scenario.lowat if network["knob"] == LOWAT else via and via.lowat
    if (NONE if lowat is None else str(lowat)) != network["knee"]["recommended"]:
        return False
    return bool(network["knobs"].items() <= run.record.knobs.items())


def _check_new(run: Run, made: Mapping[str, Any]) -> None:
    """Raises FolderError unless the run is new: made in the sweep's fabric, with a seed that the sweep did not use.

    made: the fabric, and the first and last seed of the sweep.
    """
    fabric, seed = run.record.fabric, run.record.seed
    if fabric != made["fabric"]:
        raise FolderError(f"{run.path}: the run was made in FABRIC={fabric}, but the sweep in FABRIC={made['fabric']}")
    if made["first_seed"] <= seed <= made["last_seed"]:
        seeds = f"{made['first_seed']} to {made['last_seed']}"
        raise FolderError(f"{run.path}: the run's seed {seed} is one of the sweep's seeds {seeds}; use another seed")
