"""Estimates the wall time of a sweep. Pure.

The estimate assumes that all jobs are at work until the last run. It uses three figures: the cost of a run
(`execution/cost.py`), the machine's pace, and the share of its processors that is free (`execution/pace.py`). While the
sweep runs, finished runs correct the time left (`commands/progress.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from priolab.experiments.commands.durations import duration
from priolab.experiments.execution.cost import GUEST_S, cost_s, link_s
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.sampling import Sample


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that is to carry out runs.

    side_by_side: the number of jobs at once. runs_per_command: the most runs of a batch. virtual_clock: True if runs
    take place in guests. pace: the time of a run divided by its expected cost, from earlier sweeps; None if there were
    none. free: the share of a processor that a busy process gets, at most 1.
    """

    side_by_side: int
    runs_per_command: int
    virtual_clock: bool
    pace: float | None = None
    free: float = 1.0

    @property
    def slowness(self) -> float:
        """The wall time of a run divided by its cost."""
        return (self.pace or 1.0) / self.free

    @property
    def start_s(self) -> float:
        """The cost of a batch besides its runs: the start of its guest."""
        return GUEST_S if self.virtual_clock else 0.0


@dataclass(frozen=True, kw_only=True)
class TimeEstimate:
    """The estimated times of a sweep, in seconds.

    link_s: the link time of all runs. cost_s: the cost of all runs and guests. wall_s: the wall time of the sweep.
    batches: the number of batches into which the executor should divide the runs.
    """

    link_s: float
    cost_s: float
    wall_s: float
    batches: int
    machine: Machine

    @property
    def words(self) -> str:
        """The estimate in words, with the reason why it may be wrong."""
        words = f"{duration(self.link_s)} of link time, about {duration(self.wall_s)} of real time"
        if self.machine.free < _BUSY:
            words += f" because other programs use {1 - self.machine.free:.0%} of the processors"
        if self.machine.pace is None:
            words += " (a guess: no such sweep was measured on this machine yet)"
        return f"{words}; runs side by side: {self.machine.side_by_side}"


_BUSY = 0.85


def of_all(scenarios: Sequence[Scenario], runs: int, machine: Machine, *, sample: Sample) -> TimeEstimate:
    """Returns the estimate for `runs` runs, an equal number of each scenario. sample: the value of SAMPLE."""
    costs_s = [cost_s(each, virtual_clock=machine.virtual_clock, sample=sample) for each in scenarios]
    mean_s = sum(costs_s) / len(costs_s)
    jobs = machine.side_by_side
    rounds = ceil(runs / (jobs * machine.runs_per_command))
    batches = min(runs, jobs * rounds)
    return TimeEstimate(
        link_s=runs / len(scenarios) * sum(map(link_s, scenarios)),
        cost_s=runs * mean_s + batches * machine.start_s,
        wall_s=(rounds * machine.start_s + ceil(runs / jobs) * mean_s) * machine.slowness,
        batches=batches,
        machine=machine,
    )
