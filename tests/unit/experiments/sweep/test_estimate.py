"""Tests of the estimated time of a sweep."""

from dataclasses import replace

import pytest

from priolab.experiments.commands.durations import duration
from priolab.experiments.execution.cost import GUEST_S, cost_s, link_s
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.sweep.estimate import Machine, TimeEstimate, of_all

MACHINE = Machine(side_by_side=2, runs_per_command=40, virtual_clock=True, pace=1.0)
REAL = Machine(side_by_side=2, runs_per_command=1, virtual_clock=False, pace=1.0)
SCENARIO = scenario_from({})
RUN_S = cost_s(SCENARIO, virtual_clock=True, sample=10**8)


def estimate(runs: int, machine: Machine = MACHINE, *rates: str) -> TimeEstimate:
    scenarios = [scenario_from({"RATE": rate}) for rate in rates] or [SCENARIO]
    return of_all(scenarios, runs, machine, sample=10**8)


def test_the_jobs_divide_the_runs() -> None:
    """The wall time is that of the job that ends last, the start of its guests included."""
    assert estimate(1).wall_s == pytest.approx(GUEST_S + RUN_S)
    assert estimate(3).wall_s == pytest.approx(GUEST_S + 2 * RUN_S)
    assert estimate(12).wall_s == pytest.approx(GUEST_S + 6 * RUN_S)
    assert estimate(12).cost_s == pytest.approx(2 * GUEST_S + 12 * RUN_S)
    assert estimate(12).batches == 2
    assert estimate(10, replace(MACHINE, side_by_side=1)).wall_s == pytest.approx(GUEST_S + 10 * RUN_S)


def test_arms_differ() -> None:
    """Each scenario has an equal number of runs, with its own cost and link time."""
    slow = scenario_from({"RATE": "128kbit"})
    about = estimate(20, MACHINE, "128kbps", "128kbit")
    slow_s = cost_s(slow, virtual_clock=True, sample=10**8)
    assert about.cost_s == pytest.approx(2 * GUEST_S + 10 * (RUN_S + slow_s))
    assert about.link_s == pytest.approx(10 * (link_s(SCENARIO) + link_s(slow)))


def test_a_slow_or_busy_machine() -> None:
    """The wall time grows with the machine's pace, and with what other programs leave of the processors."""
    usual_s = estimate(40).wall_s
    assert estimate(40, replace(MACHINE, pace=1.7)).wall_s == pytest.approx(1.7 * usual_s)
    assert estimate(40, replace(MACHINE, free=0.4)).wall_s == pytest.approx(usual_s / 0.4)
    assert estimate(40, replace(MACHINE, pace=None)).wall_s == pytest.approx(usual_s)


def test_on_a_real_clock() -> None:
    """On a real clock a run takes its link time and more, and no guest starts."""
    about = estimate(10, REAL)
    assert about.wall_s == pytest.approx(5 * cost_s(SCENARIO, virtual_clock=False, sample=None))
    assert about.link_s == pytest.approx(10 * link_s(SCENARIO))


def test_small_batches_cost_more() -> None:
    """Each guest's start takes time, so more runs per command take less time in all."""

    def guests_s(runs_per_command: int) -> float:
        return estimate(100, replace(MACHINE, runs_per_command=runs_per_command)).wall_s - 50 * RUN_S

    assert guests_s(1) == pytest.approx(100 * GUEST_S / 2)
    assert 0 < guests_s(40) < guests_s(10) < guests_s(1) / 5


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (99, "99 s"), (110, "2 min"), (3599, "1 h 0 min"), (12_000, "3 h 20 min"), (187_000, "2 d 3 h")],
)
def test_durations(seconds: float, words: str) -> None:
    """A duration is given in two units at most."""
    assert duration(seconds) == words
