"""What a sweep says, in words."""

from math import inf

import pytest

from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.knee import find
from analysis.sweeps.measures import Measure
from analysis.sweeps.words import amount, factor, interval, no_difference
from tests.unit.sweeps import level, network


@pytest.mark.parametrize(
    ("measure", "value", "words"),
    [
        (Measure.FIRST_BYTE, 1883.3, "1.88 s"),
        (Measure.FIRST_BYTE, 390.04, "390 ms"),
        (Measure.FIRST_BYTE, 2.74, "2.7 ms"),
        (Measure.GOODPUT, 982_109.0, "982.1 kbit/s"),
        (Measure.GOODPUT, 47_747_553.0, "47.7 Mbit/s"),
        (Measure.GOODPUT, 2.5e9, "2.5 Gbit/s"),
        (Measure.GOODPUT, 12.0, "12 bit/s"),
        (Measure.VOLUNTARY, 169.56, "170"),
        (Measure.CPU, 4.2, "4.2 ms"),
    ],
)
def test_amounts_have_units(measure: Measure, value: float, words: str) -> None:
    """And no more digits than are of use; counts have none."""
    assert amount(measure, value) == words


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
    """The unit once if it is the same; a single repetition is said to be one."""
    assert interval(Measure.FIRST_BYTE, Estimate.of(values)) == words


@pytest.mark.parametrize(("ratio", "words"), [(1.0, "factor 1"), (1.25649, "factor 1.256"), (inf, "any factor")])
def test_a_factor(ratio: float, words: str) -> None:
    """Four digits; there may be no end to it."""
    assert factor(ratio) == words


def test_a_distance_from_nothing_is_told() -> None:
    """Half of the pair at 0, half at 3 s: the distance is not lost, however small the median."""
    pair = level("none", (0.0, 0.0, 3000.0), 980), level("none", (0.0, 0.0, 0.0), 980)
    found = network({"none": (1000, 980)}, pair=pair)
    assert "up to 3.00 s (factor 300) and 0 bit/s (factor 1) apart" in no_difference(found, find(found))
