"""Tests of the sentences about a sweep."""

from dataclasses import replace

import pytest

from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.knee import find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.words import configuration, instants, interval, no_difference, price, reason
from tests.support.sweeps import level, network


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
    assert "spread is 3.00 s (factor 300) in first byte, and none in goodput" in told


def test_a_price_is_told() -> None:
    """The price of the recommended value stands beside that of LOWAT unset; what was not counted is left out."""
    costs = {Measure.VOLUNTARY.value: 7.79, Measure.MEMORY.value: 283_648.0}
    chosen = level("131072", 390, 980, **costs, **{Measure.CPU.value: 4.2})
    unset = level("none", 3830, 980, **{name: 2 * number for name, number in costs.items()})
    found = network({}, chosen, unset)
    told = (
        "7.79 wake-ups per MB (LOWAT unset: 15.6), 277 KiB at most in the send buffer (LOWAT unset: 554 KiB), "
        "980 kbit/s of goodput (LOWAT unset: 980 kbit/s)."
    )
    assert price(found, find(found)) == f"Its price for the front: {told}"


def test_a_price_is_told_if_no_value_is_needed() -> None:
    """If LOWAT unset is recommended, the costs of the largest value stand beside its own; so do the second front's."""
    second = {Measure.SECOND_VOLUNTARY.value: 3.0}
    limited, unset = (
        level(value, 390, 980, **{Measure.VOLUNTARY.value: wakeups}, **second)
        for value, wakeups in (("131072", 7.79), ("none", 2.5))
    )
    found = network({"4096": (400, 970)}, limited, unset)
    assert find(found).recommended is found.unset
    assert price(found, find(found)) == (
        "Its price for the front: 2.5 wake-ups per MB (LOWAT=131072: 7.79), 980 kbit/s of goodput (LOWAT=131072: "
        "980 kbit/s). Its price for the second front: 3 wake-ups per MB (LOWAT=131072: 3)."
    )


@pytest.mark.parametrize("value", ["none", "131072"])
def test_no_price(value: str) -> None:
    """A single value has no other to be compared with."""
    found = network({value: (390, 980)})
    assert price(found, find(found)) is None


def test_a_run_repeated_has_no_spread() -> None:
    """Of an A/A pair that is the same run twice, the sentence says so, and names no band of 0.0 ms."""
    same = level("none", (390.0, 390.01, 390.0), 980)
    found = network({"none": (1000, 980)}, pair=(same, same))
    told = no_difference(found, find(found))
    assert "The A/A pair, LOWAT unset twice, with 3 repetitions each, is the same run repeated" in told
    assert " 0.0 ms" not in told
    assert "0 bit/s" not in told


@pytest.mark.parametrize(
    ("knobs", "usual", "told"),
    [
        (
            {"BUFFERING": "off"},
            {"haproxy": "off"},
            "holds for haproxy as it is installed: BUFFERING=off is its default",
        ),
        (
            {"BUFFERING": "on"},
            {"haproxy": "off"},
            "does not hold for haproxy as it is installed: BUFFERING=on enlarges",
        ),
        ({"BUFFERING": "on"}, {"haproxy": None}, "It is installed with other buffers. CONFIG=FILE measures"),
        ({"BUFFERING": "on", "CONFIG": "my.cfg"}, {"haproxy": "off"}, "holds for haproxy with CONFIG=my.cfg."),
    ],
)
def test_the_configuration_is_told(knobs: dict[str, str], usual: dict[str, str | None], told: str) -> None:
    """The sentence says whether the value is for the server as it is installed."""
    made = {"SERVER": "haproxy", "PROGRAM": "stock", "CONFIG": "stock", **knobs}
    found = replace(network({"none": (390, 980)}), knobs=made)
    assert told in str(configuration(found, usual))


def test_an_older_sweep_does_not_tell_the_configuration() -> None:
    """A sweep.json of an earlier version does not say how servers are installed."""
    assert configuration(network({"none": (390, 980)}), {}) is None


def test_a_page_without_anything_important() -> None:
    """Where nothing is important the reason is that there is nothing to prioritize, and no first byte or instant."""
    found = replace(network({"none": (40, 980), "16384": (40, 980)}), has_important=False)
    told = reason(found, find(found))
    assert told.startswith(
        "No LOWAT is needed here: nothing on this page is important, so there is nothing to prioritize"
    )
    assert "first byte" not in told
    assert instants(found, find(found)) == "No resource is important, so there is no instant to vary."
