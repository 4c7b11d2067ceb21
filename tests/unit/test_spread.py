"""What "no difference" means."""

import pytest

from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.measures import Measure
from analysis.sweeps.spread import Spread, difference, spreads
from tests.unit.sweeps import GRAIN_MS, level, network


def estimate(*values: float) -> Estimate:
    return Estimate.of(values)


def test_the_largest_distance_of_two_medians() -> None:
    """Within the intervals of the pair; it is a part of the larger median."""
    spread = Spread.of((estimate(990, 1000, 1010), estimate(980, 1000, 1005)), grain=1)
    assert spread.amount == 30
    assert spread.part == 0.03
    assert spread.band(1000) == 30
    assert spread.band(100) == 3
    assert spread.band(10) == 1


def test_equal_runs_still_have_a_grain() -> None:
    """Nothing finer than a TLS record means anything."""
    spread = Spread.of((estimate(1000, 1000), estimate(1000, 1000)), grain=5)
    assert spread.amount == 0
    assert not difference(estimate(1004, 1004), estimate(1000, 1000), spread).is_measurable
    assert difference(estimate(1006, 1006), estimate(1000, 1000), spread).is_more


def test_below_the_spread_is_no_difference() -> None:
    """However short the intervals are; beyond it one is more, and the other less."""
    spread = Spread.of((estimate(1000), estimate(1100)), grain=1)
    assert not difference(estimate(1050), estimate(1000), spread).is_measurable
    found = difference(estimate(700), estimate(1000), spread)
    assert (found.amount, found.is_less, found.is_more) == (-300, True, False)


def test_intervals_that_meet_are_no_difference() -> None:
    """However small the spread is."""
    spread = Spread.of((estimate(1000), estimate(1000)), grain=1)
    found = difference(estimate(900, 1000, 1200), estimate(1100, 1300, 1400), spread)
    assert found.amount == -300
    assert not found.is_measurable


def test_a_wait_of_seconds_does_not_measure_one_of_half_a_second() -> None:
    """A lossy control's spread is its own size; small values can be told apart below it."""
    spread = Spread.of((estimate(7000), estimate(4000)), grain=10)
    assert difference(estimate(2100), estimate(500), spread).is_more
    assert not difference(estimate(7000), estimate(4500), spread).is_measurable


def test_without_a_pair() -> None:
    """The grain alone, and that is known."""
    found = spreads(network({"none": (1000, 900)}))[Measure.FIRST_BYTE]
    assert (found.amount, found.part, found.repetitions, found.band(10**6)) == (None, None, None, GRAIN_MS)


def test_half_a_pair_is_none() -> None:
    """If no run of the twin is ok."""
    whole, broken = level("none", 1000, 900), level("none", 1, 1)
    broken = type(broken)(value="none", asked=1, estimates={})
    assert spreads(network({"none": (1000, 900)}, pair=(whole, broken)))[Measure.GOODPUT].amount is None


@pytest.mark.parametrize("value", [0.0, 0])
def test_a_pair_of_nothing(value: float) -> None:
    """No part of nothing."""
    assert Spread.of((estimate(value), estimate(value)), grain=2).band(100) == 2
