"""Tests of medians with bootstrap intervals."""

import random
from collections import Counter
from itertools import product
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.sweeps.bootstrap import Estimate

TIMES = st.lists(st.integers(0, 10**6), min_size=1, max_size=12)


def drawn(values: list[int]) -> tuple[float, float]:
    """Returns the interval, computed by drawing every possible sample."""
    counted = Counter(median(draw) for draw in product(values, repeat=len(values)))
    beyond = 0.025 * len(values) ** len(values)
    below = above = 0
    for low in sorted(counted):
        below += counted[low]
        if below > beyond:
            break
    for high in sorted(counted, reverse=True):
        above += counted[high]
        if above > beyond:
            break
    return low, high


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5))
def test_counting_is_drawing(values: list[int]) -> None:
    """The counted interval is the interval from all draws, for an odd and an even number and for equal values."""
    estimate = Estimate.of(values)
    assert (estimate.low, estimate.high) == drawn(values)


@given(TIMES)
def test_the_interval_holds_the_median(values: list[int]) -> None:
    """The interval holds the median, and lies between the smallest and the largest value."""
    estimate = Estimate.of(values)
    assert min(values) <= estimate.low <= estimate.median <= estimate.high <= max(values)
    assert estimate.median == median(values)
    assert estimate.repetitions == len(values)


@given(TIMES, st.integers(-1000, 1000))
def test_it_moves_with_the_values(values: list[int], by: int) -> None:
    """The order of the values does not matter, and a constant added to the values moves the interval."""
    one = Estimate.of(values)
    other = Estimate.of([value + by for value in reversed(values)])
    assert (other.low - by, other.median - by, other.high - by) == (one.low, one.median, one.high)


@pytest.mark.parametrize(("repetitions", "coverage"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375)])
def test_few_repetitions_do_not_pretend(repetitions: int, coverage: float) -> None:
    """Few repetitions have a low coverage, also with equal values, whose interval has no length."""
    assert Estimate.of([1883.3] * repetitions).coverage == coverage
    assert Estimate.of([1000.0 + number for number in range(repetitions)]).coverage == coverage


@pytest.mark.parametrize("repetitions", [3, 5, 9, 10])
def test_as_often_as_it_says(repetitions: int) -> None:
    """The interval holds the true median at least as often as `coverage` says, and in 99 % of samples at most."""
    chance = random.Random(7)
    samples = [[chance.gauss(100, 10) for _ in range(repetitions)] for _ in range(400)]
    found = [Estimate.of(sample) for sample in samples]
    held = sum(estimate.low <= 100 <= estimate.high for estimate in found) / len(found)
    assert held >= found[0].coverage - 0.05
    assert held <= 0.99


def test_no_values() -> None:
    """Without values, `Estimate.of` raises ValueError."""
    with pytest.raises(ValueError, match="at least one value"):
        Estimate.of([])
