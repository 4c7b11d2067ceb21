"""Tests of the sentences about a sweep."""

import pytest

from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.knee import find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.words import interval, no_difference, price
from tests.support.sweeps import Curve, level, network


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1883.3], "1.88 s (one repetition)"),
        ([1883.3, 1883.3], "1.88 s"),
        ([589.0, 593.0, 687.0], "593 ms (589 to 687 ms)"),
        ([990.0, 1010.0, 1200.0], "1.01 s (990 ms to 1.20 s)"),
    ],
)
def test_an_interval(values: list[float], words: str) -> None:
    """The two ends of an interval share a unit if it is the same; a single repetition is marked."""
    assert interval(Measure.FIRST_BYTE, Estimate.of(values)) == words


def test_a_distance_from_nothing_is_told() -> None:
    """The distance between the intervals of the A/A pair, here 3 s, is named even if both medians are 0."""
    pair = level("none", (0.0, 0.0, 3000.0), 980), level("none", (0.0, 0.0, 0.0), 980)
    found = network({"none": (1000, 980)}, pair=pair)
    told = no_difference(found, find(found))
    assert "spread is 3.00 s (factor 300) in first byte, and 0 bit/s (factor 1) in goodput" in told


def test_a_price_is_told() -> None:
    """The price of the recommended value stands beside that of LOWAT unset; what was not counted is left out."""
    costs = {Measure.VOLUNTARY.value: 7.79, Measure.MEMORY.value: 283_648.0}
    chosen = level("131072", 390, 980, **costs, **{Measure.CPU.value: 4.2})
    unset = level("none", 3830, 980, **{name: 2 * number for name, number in costs.items()})
    found = network({}, chosen, unset)
    told = "7.79 wake-ups per MB (unset: 15.6), 277 KiB at most in the send buffer (unset: 554 KiB)."
    assert price(found, find(found)) == f"Its price for the front: {told}"


@pytest.mark.parametrize("curve", [{"none": (390, 980), "131072": (390, 980)}, {"131072": (390, 980)}])
def test_no_price(curve: Curve) -> None:
    """LOWAT unset has no price, and neither has a value that cannot be compared with it."""
    found = network(curve)
    assert price(found, find(found)) is None
