"""Tests of the division of runs among commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.experiments.execution.cost import GUEST_S
from priolab.experiments.execution.executor import Waiting, share
from tests.support.sweeping import sweep_of

RANDOM = Random(1)
EQUAL, LONG, FEW = [0.8] * 200, [1.5] * 100, [0.8] * 40
MIXED = [RANDOM.choice([0.6, 0.8, 2.2]) for _ in range(60)]


@dataclass
class Division:
    """The division of runs into batches. sizes: runs by batch. ends_s: when each job ended."""

    sizes: list[int]
    ends_s: list[float]

    @property
    def apart_s(self) -> float:
        return max(self.ends_s) - min(self.ends_s)


def division(
    costs_s: Sequence[float],
    speeds: Sequence[float] = (1, 1),
    most: int = 40,
    noise: float = 0,
) -> Division:
    """Simulate jobs side by side, each with a speed of its own. A run takes its cost, more or less by `noise`.
    The start of a batch is simulated as a run.
    """
    random, waiting = Random(2), list(costs_s)
    sizes, free_s = [], [0.0] * len(speeds)
    runs: list[list[tuple[float, float]]] = [[] for _ in speeds]  # by job, the end and the cost of each run
    while waiting:
        job = min(range(len(speeds)), key=free_s.__getitem__)
        now_s = free_s[job]
        others_s = [sum(cost for end_s, cost in runs[other] if end_s > now_s) for other in range(len(speeds))]
        del others_s[job]
        count = share(waiting[:most], sum(waiting), others_s, GUEST_S)
        batch, waiting = waiting[:count], waiting[count:]
        took_s = [cost * random.uniform(1 - noise, 1 + noise) / speeds[job] for cost in (GUEST_S, *batch)]
        ends_s = [now_s + each_s for each_s in accumulate(took_s)]
        runs[job] = list(zip(ends_s, [GUEST_S, *batch], strict=True))
        free_s[job] = ends_s[-1]
        sizes.append(count)
    return Division(sizes=sizes, ends_s=free_s)


@given(
    costs_s=st.lists(st.floats(min_value=0.01, max_value=100), min_size=1, max_size=300),
    side_by_side=st.integers(min_value=1, max_value=64),
    most=st.integers(min_value=1, max_value=40),
)
def test_somebody_gets_something_and_nobody_more_than_there_is(
    costs_s: list[float], side_by_side: int, most: int
) -> None:
    """Each share has at least one run and at most `most`, and all runs are shared out."""
    sizes = division(costs_s, [1] * side_by_side, most).sizes
    assert (min(sizes) >= 1, max(sizes) <= most, sum(sizes)) == (True, True, len(costs_s))


@pytest.mark.parametrize(
    ("waiting", "side_by_side", "expected"),
    [(1, 2, [1]), (3, 2, [2, 1]), (12, 2, [6, 6]), (10, 4, [3, 2, 3, 2]), (5, 8, [1] * 5), (90, 1, [40, 40, 10])],
)
def test_a_little_is_divided_evenly(waiting: int, side_by_side: int, expected: list[int]) -> None:
    """A few runs are divided evenly among the commands that may run side by side. A single command gets all."""
    assert division([1.0] * waiting, [1] * side_by_side).sizes == expected


def test_batches_become_smaller_toward_the_end() -> None:
    """The first of many batches are as large as allowed; the last ones divide the other runs."""
    assert division([1.0] * 80).sizes == [27, 27, 13, 13]
    assert division([1.0] * 200).sizes == [40, 40, 40, 40, 13, 14, 7, 6]


def test_costly_runs_make_small_batches() -> None:
    """Batches are equal in cost and not in the number of runs."""
    assert division([3.0] * 3 + [1.0] * 9).sizes == [3, 9]


@pytest.mark.parametrize(
    ("costs_s", "speeds", "noise", "runs"),
    [
        (EQUAL, (1, 1), 0.1, 1.0),
        (EQUAL, (1, 0.5), 0.1, 1.0),
        (LONG, (1, 1), 0.2, 1.5),
        (LONG, (1, 0.5), 0.1, 1.5),
        (FEW, (1, 1), 0.2, 1.0),
        (MIXED, (1, 1), 0.2, 1.5),
        (MIXED, (1, 0.75), 0.2, 1.0),
        (MIXED, (1, 0.5), 0.2, 1.0),
        (EQUAL, (1, 1, 1, 1), 0.2, 1.0),
    ],
)
def test_all_end_at_about_the_same_time(
    costs_s: Sequence[float], speeds: Sequence[float], noise: float, runs: float
) -> None:
    """The jobs end within about a run of each other, also if runs take longer than expected or a processor is slow."""
    assert division(costs_s, speeds, noise=noise).apart_s <= runs * max(costs_s) / min(speeds)


def test_what_is_put_back_is_next() -> None:
    """Runs are handed out in their order; runs that are put back come first, with their cost."""
    sweep = sweep_of({"LOWAT": ("none", "4096", "16384", "65536")})
    runs = list(sweep.runs().values())
    waiting = Waiting(runs, sweep.run_settings, most=3)
    first = waiting.batch([], 1)
    assert (first, len(waiting)) == (runs[:3], 2)
    waiting.put_back(first[1:])
    assert [waiting.batch([], 1), waiting.batch([], 1)] == [runs[1:4], runs[4:]]


def test_only_the_fullest_of_the_other_batches_count() -> None:
    """A command has a single other one beside it, so only the largest remainder of earlier batches counts."""
    sweep = sweep_of({"LOWAT": ("none", "4096", "16384", "65536")})
    waiting = Waiting(list(sweep.runs().values()), sweep.run_settings, most=40)
    assert len(waiting.batch([0.0, 0.0], 2)) == 3
    assert len(waiting.batch([0.0, 100.0, 0.0], 2)) == 2
