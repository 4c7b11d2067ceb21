"""Tests of the knee: the recommended LOWAT."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from priolab.analysis.sweeps.folder import Trouble
from priolab.analysis.sweeps.knee import find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Level
from priolab.analysis.sweeps.words import documentation, falls, left_out, reason
from tests.support.sweeps import Curve, level, lost, network

MONOTONE: Curve = {
    "4096": (1000, 980),
    "16384": (1005, 980),
    "65536": (1500, 980),
    "131072": (2500, 980),
    "none": (6700, 980),
}


def recommended(curve: Curve) -> str:
    chosen = find(network(curve)).recommended
    assert chosen is not None
    return chosen.value


@pytest.mark.parametrize(
    ("curve", "value"),
    [
        (MONOTONE, "16384"),
        ({"4096": (1000, 980), "16384": (1004, 980), "none": (1009, 980)}, "none"),
        ({"4096": (1600, 980), "16384": (1000, 980), "65536": (1700, 980), "none": (6700, 980)}, "16384"),
        ({"4096": (1000, 700), "16384": (1500, 980), "65536": (2000, 980), "none": (6700, 980)}, "16384"),
        ({"16384": (1000, 980)}, "16384"),
        ({"none": (6700, 980)}, "none"),
        ({"16384": (9000, 980), "none": (6700, 980)}, "none"),
        ({"16384": ((900, 1000, 1600), 980), "65536": ((1100, 1500, 1700), 980), "none": (6700, 980)}, "65536"),
    ],
    ids=["monotone", "flat", "u-shaped", "goodput-falls", "one-value", "unset-only", "worse", "intervals-meet"],
)
def test_the_largest_that_is_as_good_as_the_best(curve: Curve, value: str) -> None:
    """The recommended LOWAT is the largest that is as good as the best, whatever the shape of the curve."""
    assert recommended(curve) == value


def test_goodput_falls_at_the_first_value_coming_from_unset() -> None:
    """`falls_at` is the largest LOWAT that loses goodput.

    Values that lose goodput are never recommended, however early their script comes.
    """
    found = network({"4096": (500, 700), "16384": (1000, 900), "65536": (2000, 980), "none": (6700, 980)})
    knee = find(found)
    assert knee.falls_at is found.level("16384")
    assert knee.recommended is found.level("65536")
    assert "the soonest of the values that keep goodput" in reason(found, knee)
    assert falls(found, knee) == (
        "Goodput falls measurably at LOWAT=16384. It is 900 kbit/s there, 8.2% less than with LOWAT unset."
    )


def test_a_fall_that_hardly_costs_anything_is_let_pass() -> None:
    """A measurable loss of goodput of 0.3 % is reported, but does not exclude a LOWAT that saves 400 ms."""
    found = network({"131072": (270, 47_600), "none": (667, 47_750)})
    knee = find(found)
    assert knee.recommended is knee.falls_at is found.level("131072")
    assert falls(found, knee).endswith(
        "47.6 Mbit/s there, 0.3% less than with LOWAT unset. A loss of up to 1% is accepted."
    )
    assert reason(found, knee).endswith("Goodput is 47.6 Mbit/s, 0.3% less than with LOWAT unset.")


def test_a_fall_within_the_spread_is_none() -> None:
    """Goodput does not fall if the difference is within the spread of the A/A pair."""
    curve: Curve = {"16384": (1000, 900), "none": (6700, 980)}
    pair = level("none", 6700, 980), level("none", 6700, 880)
    assert find(network(curve, pair=pair)).falls_at is None
    assert find(network(curve)).falls_at is not None


def test_without_the_control() -> None:
    """Without LOWAT unset, the largest LOWAT is the reference for goodput, and the sentences say so."""
    found = network({"4096": (1000, 700), "16384": (1500, 980), "65536": (3000, 981)}, lost("none"))
    knee = find(found)
    assert knee.reference is found.level("65536")
    assert knee.recommended is found.level("16384")
    assert "There is no result for LOWAT unset" in reason(found, knee)
    assert "LOWAT unset was not measured here." in documentation(found, knee)


def test_a_value_without_a_good_run_takes_no_part() -> None:
    """A LOWAT without an ok run is neither the best nor recommended."""
    found = network({"4096": (1000, 980), "none": (6700, 980)}, lost("16384"))
    knee = find(found)
    assert [each.value for each in knee.front] == ["4096"]
    assert knee.recommended is found.level("4096")


def test_nothing_is_known() -> None:
    """Without ok runs no LOWAT is recommended, and the sentences say so."""
    found = network({}, lost("none"), lost("4096"))
    knee = find(found)
    assert (knee.recommended, knee.best, knee.falls_at, knee.front) == (None, None, None, ())
    assert reason(found, knee).startswith("No value can be recommended")
    assert (
        falls(found, knee) == "It is not known if goodput falls, because there are no two values of LOWAT to compare."
    )


def thin(value: str, first_ms: float, goodput: float, asked: int) -> Level:
    """Returns a level with one ok run of `asked` runs."""
    troubles = tuple(Trouble(run=f"{value}.{number}", status="failed", reason="x") for number in range(2, asked + 1))
    return replace(level(value, first_ms, goodput), asked=asked, troubles=troubles)


def test_a_value_with_hardly_a_good_run_takes_no_part() -> None:
    """A LOWAT with one ok run is left out if other values have four, and a sentence says so.

    It is not the best, not recommended and not on the front of trade-offs.
    """
    four = {"65536": ((2000,) * 4, (980,) * 4), "none": ((6700,) * 4, (980,) * 4)}
    found = network(four, thin("16384", 100, 2000, 4))
    knee = find(found)
    assert knee.best is knee.recommended is found.level("65536")
    assert [each.value for each in knee.front] == ["65536"]
    assert left_out(found) == ("Values with fewer than 2 ok runs are left out: LOWAT=16384 (1 of 4 runs ok).")
    assert left_out(network(four)) is None


def test_unset_with_hardly_a_good_run_is_no_reference() -> None:
    """If LOWAT unset has one ok run of three, the largest fixed LOWAT is the reference for goodput."""
    found = network({"4096": ((1000,) * 3, (980,) * 3), "131072": ((2000,) * 3, (980,) * 3)}, thin("none", 1, 1, 3))
    knee = find(found)
    assert knee.reference is found.level("131072")
    assert knee.recommended is found.level("4096")
    assert "Goodput is 980 kbit/s. It was compared with that of LOWAT=131072" in reason(found, knee)
    assert "LOWAT unset has too few ok runs to compare it: 1 of 3." in documentation(found, knee)


def test_steered_values_take_no_part() -> None:
    """LOWAT=auto is never recommended, however good it is, because it is no fixed value that a user can set."""
    found = network(MONOTONE, level("auto", 100, 2000))
    assert find(found).recommended is found.level("16384")


@pytest.mark.parametrize(
    ("cpu", "front"),
    [
        ({}, ["4096", "16384"]),
        ({"4096": 9.0, "16384": 5.0, "65536": 2.0, "131072": 1.0, "none": 0.5}, ["16384", "65536", "131072", "none"]),
    ],
    ids=["two-things", "three-things"],
)
def test_the_front_of_trade_offs(cpu: Mapping[str, float], front: list[str]) -> None:
    """A LOWAT is on the front of trade-offs if no other LOWAT is better in one measure and worse in none.

    The measures are first byte, goodput and, if measured, processor time.
    """
    found = network(MONOTONE, cpu=cpu)
    assert [each.value for each in find(found).front] == front


def test_the_front_is_never_empty() -> None:
    """Three values that beat each other in a circle are all on the front of trade-offs.

    A value that these three beat is not.
    """
    curve: Curve = {"1": (100, 108), "2": (108, 100), "3": (116, 116)}
    cpu = {"1": 116.0, "2": 100.0, "3": 108.0}
    pair = (
        level("none", 100, 100, **{Measure.CPU.value: 100}),
        level("none", 110, 110, **{Measure.CPU.value: 110}),
    )
    found = replace(network(curve, pair=pair, cpu=cpu), grains={})
    assert [each.value for each in find(found).front] == ["1", "2", "3"]
    beaten = level("4", 500, 50, **{Measure.CPU.value: 500})
    found = replace(found, levels=(*found.levels, beaten))
    assert [each.value for each in find(found).front] == ["1", "2", "3"], "who is outside of the circle is off"


@pytest.mark.parametrize("curve", [{"16384": (1000, 980)}, {"none": (6700, 980)}], ids=["one-value", "unset-only"])
def test_of_a_single_value_nothing_is_known_of_goodput(curve: Curve) -> None:
    """With a single LOWAT there is no reference for goodput."""
    found = network(curve)
    knee = find(found)
    assert knee.reference is None
    assert (
        falls(found, knee) == "It is not known if goodput falls, because there are no two values of LOWAT to compare."
    )
    assert knee.recommended is found.levels[0]


def test_how_much_later_other_values_are() -> None:
    """With LOWAT unset and with the article's value the script comes later than with the recommended value.

    Where LOWAT unset is as good, none is needed.
    """
    found = network(MONOTONE)
    told = documentation(found, find(found))
    for later in ("6.70 s, 5.70 s later than with the recommended value", "2.50 s, 1.50 s later than with the"):
        assert later in told
    unset = network({"16384": (6695, 980), "none": (6700, 980)})
    assert reason(unset, find(unset)).startswith("No LOWAT is needed here")
