"""Checks if new runs keep a sweep's promise for its recommended value. Pure.

The promise of a measure is a lower and an upper limit for the median of new runs of the same scenario. It is the
measure's interval in the sweep, widened at both ends by the noise band (`spread.reach`). The interval alone is
only for the median of the sweep's own repetitions. New runs may be further off by the spread of an A/A pair and by the
grain.

New runs have the same fabric as the sweep, and seeds that the sweep did not use. With a used seed, a run in the guest
would repeat itself exactly and keep every promise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.records.runs import Run
from analysis.sweeps import words
from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.measures import Measure, measures
from analysis.sweeps.networks import NONE
from analysis.sweeps.spread import Spread
from common.formats.reading import FolderError

PROMISED = (Measure.FIRST_BYTE, Measure.GOODPUT)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The check of a measure. found: the estimate from new runs. low, high: the promised limits for its median."""

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
        """The result in words."""
        found, low, high = (words.amount(self.measure, value) for value in (self.found.median, self.low, self.high))
        inside = "within" if self.holds else "outside of"
        return f"{self.measure}: {found}, {inside} what was promised, {low} to {high}"


def promised(estimate: Estimate, spread: Spread) -> tuple[float, float]:
    """Returns the lower and the upper limit for the median of new runs."""
    return spread.reach(estimate.low, estimate.high)


def check(network: Mapping[str, Any], runs: Sequence[Run]) -> list[Kept]:
    """Checks new runs against a network of a sweep's summary (`summary.summarize`).

    Only runs count that are ok, with the recommended LOWAT and the network's knobs, written as in the summary. Raises
    FolderError if no run counts, if one that counts has another fabric than the sweep or one of its seeds, or if no
    value is recommended.
    """
    knee = network["knee"]
    if knee["recommended"] is None:
        raise FolderError(f"{network['network']}: no value is recommended")
    alike = [run for run in runs if run.status == "ok" and _is_recommended(run, network)]
    if not alike:
        raise FolderError(f"no run that is ok has LOWAT={knee['recommended']} and {network['network']}")
    for run in alike:
        _check_new(run, network["made"])
    found = [measures(run) for run in alike]
    return [
        Kept(
            measure=measure,
            found=Estimate.of([value for each in found if (value := each[measure]) is not None]),
            low=knee["promise"][measure]["low"],
            high=knee["promise"][measure]["high"],
        )
        for measure in PROMISED
    ]


def _is_recommended(run: Run, network: Mapping[str, Any]) -> bool:
    lowat = run.scenario.lowat
    if (NONE if lowat is None else str(lowat)) != network["knee"]["recommended"]:
        return False
    return bool(network["knobs"].items() <= run.record.knobs.items())


def _check_new(run: Run, made: Mapping[str, Any]) -> None:
    """Raises FolderError if the run has another fabric, or a seed of the sweep."""
    fabric, seed = run.record.fabric, run.record.seed
    if fabric != made["fabric"]:
        raise FolderError(f"{run.path}: made in {fabric}, but the sweep's promise is for {made['fabric']}")
    if made["first_seed"] <= seed <= made["last_seed"]:
        seeds = f"{made['first_seed']} to {made['last_seed']}"
        raise FolderError(f"{run.path}: its seed, {seed}, is one of the sweep's, {seeds}; a new run needs another seed")
