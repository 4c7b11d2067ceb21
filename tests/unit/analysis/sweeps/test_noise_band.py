"""Tests of the noise band: which differences of medians are measurable."""

import pytest

from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.noise_band import Spread, difference, spreads
from tests.support.sweeps import GRAIN_MS, level, network


def estimate(*values: float) -> Estimate:
    return Estimate.of(values)


def test_the_largest_distance_of_two_medians() -> None:
    """The spread is the largest distance and the largest ratio between medians in the intervals of the two halves.

    The noise band of a median is as wide as this ratio, and at least as wide as the grain.
    """
    spread = Spread.of((estimate(990, 1000, 1010), estimate(800, 1000, 1005)), grain=1)
    assert spread.amount == 210
    assert spread.ratio == 1010 / 800
    assert spread.part == pytest.approx(1 - 800 / 1010)
    assert spread.reach(1000, 1000) == pytest.approx((1000 * 800 / 1010, 1000 * 1010 / 800))
    assert spread.reach(100, 200) == pytest.approx((100 * 800 / 1010, 200 * 1010 / 800))
    assert spread.reach(3, 3) == (2, 4), "the grain, where it is more"
    assert spread.reach(1, 1) == (0, 2)


def test_equal_runs_still_have_a_grain() -> None:
    """If all runs of the pair are equal, a difference up to the grain is not measurable."""
    spread = Spread.of((estimate(1000, 1000), estimate(1000, 1000)), grain=5)
    assert spread.amount == 0
    assert not difference(estimate(1004, 1004), estimate(1000, 1000), spread).is_measurable
    assert difference(estimate(1006, 1006), estimate(1000, 1000), spread).is_more


def test_below_the_spread_is_no_difference() -> None:
    """A difference below the spread is not measurable, however short the intervals. A larger difference is."""
    spread = Spread.of((estimate(1000), estimate(1100)), grain=1)
    assert not difference(estimate(1050), estimate(1000), spread).is_measurable
    found = difference(estimate(700), estimate(1000), spread)
    assert (found.amount, found.is_less, found.is_more) == (-300, True, False)


def test_intervals_that_meet_are_no_difference() -> None:
    """If the intervals meet, a difference is not measurable, even with a spread of 0."""
    spread = Spread.of((estimate(1000), estimate(1000)), grain=1)
    found = difference(estimate(900, 1000, 1200), estimate(1100, 1300, 1400), spread)
    assert found.amount == -300
    assert not found.is_measurable


def test_a_wait_of_seconds_does_not_measure_one_of_half_a_second() -> None:
    """If the pair differs by 3 s, a difference of 1.6 s may be measurable: the ratio counts, not the distance."""
    spread = Spread.of((estimate(7000), estimate(4000)), grain=10)
    assert difference(estimate(2100), estimate(500), spread).is_more
    assert not difference(estimate(7000), estimate(4500), spread).is_measurable


def test_however_far_a_pair_is_apart_something_is_more() -> None:
    """With medians of 1 s to 7 s in both halves, values that differ by a factor of 10 differ measurably."""
    spread = Spread.of((estimate(1000, 1100, 7000), estimate(1000, 6900, 7000)), grain=10)
    assert spread.ratio == 7
    assert difference(estimate(100), estimate(1000), spread).is_less
    assert difference(estimate(10_000), estimate(1000), spread).is_more
    assert not difference(estimate(1000), estimate(6900), spread).is_measurable


def test_what_is_reached_is_what_is_not_apart() -> None:
    """`reach` returns the limits of the medians for which `are_apart` is False, for any pair, grain and median."""
    for pair in (None, (estimate(100), estimate(100)), (estimate(3), estimate(100)), (estimate(0), estimate(100))):
        for grain in (0.0, 10.0):
            spread = Spread.of(pair, grain)
            for median in (0.0, 5.0, 10.0, 25.0, 1000.0):
                low, high = spread.reach(median, median)
                for other in (0.0, 1.0, 9.0, 11.0, 15.0, 40.0, 249.0, 900.0, 1009.0, 1011.0, 10**5, 10**9):
                    assert spread.are_apart(median, other) == (not low <= other <= high), (pair, grain, median, other)


def test_without_a_pair() -> None:
    """Without a pair the noise band is the grain alone."""
    found = spreads(network({"none": (1000, 900)}))[Measure.FIRST_BYTE]
    assert (found.amount, found.ratio, found.part, found.repetitions) == (None, None, None, None)
    assert found.reach(1000, 1000) == (1000 - GRAIN_MS, 1000 + GRAIN_MS)


def test_half_a_pair_is_none() -> None:
    """If no run of the twin is ok, there is no pair."""
    whole, broken = level("none", 1000, 900), level("none", 1, 1)
    broken = type(broken)(value="none", asked=1, estimates={})
    assert spreads(network({"none": (1000, 900)}, pair=(whole, broken)))[Measure.GOODPUT].amount is None


@pytest.mark.parametrize("value", [0.0, 0])
def test_a_pair_of_nothing(value: float) -> None:
    """If both halves of the pair are 0, the ratio is 1 and the grain alone counts."""
    spread = Spread.of((estimate(value), estimate(value)), grain=2)
    assert (spread.amount, spread.ratio, spread.part) == (0, 1, 0)
    assert spread.reach(100, 100) == (98, 102)


def test_a_pair_of_nothing_and_something() -> None:
    """If one half of the pair is 0, the grain (the smallest meaningful difference) replaces it in the ratio.

    With the grain 0 the pair's ratio is infinite. No difference exceeds that, so none is measurable.
    """
    spread = Spread.of((estimate(0), estimate(100)), grain=10)
    assert (spread.amount, spread.ratio) == (100, 10)
    assert not difference(estimate(0), estimate(100), spread).is_measurable
    assert difference(estimate(101), estimate(0), spread).is_more
    boundless = Spread.of((estimate(0), estimate(100)), grain=0)
    assert (boundless.amount, boundless.part) == (100, 1)
    assert not difference(estimate(10**9), estimate(1), boundless).is_measurable
