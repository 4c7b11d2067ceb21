"""One LOWAT for visitors of several networks."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from priolab.analysis.sweeps.visitors import MixResult, Part, Value, result, table
from tests.support.sweeps import Curve, level, network

_FAST: Curve = {"4096": (100, 900), "16384": (150, 1000), "131072": (190, 1000), "none": (200, 1000)}
_SLOW: Curve = {"4096": (1000, 1000), "16384": (1005, 1000), "131072": (2000, 1000), "none": (5000, 1000)}


def found(curves: Mapping[str, Curve], most_loss: float = 0.01, auto_ms: float | None = None) -> MixResult:
    """Return the result for networks with equal shares."""
    autos = [] if auto_ms is None else [level("auto", auto_ms, 1000)]
    parts = [Part(name=name, share=1 / len(curves), network=network(curve, *autos)) for name, curve in curves.items()]
    return result(parts, most_loss, "SERVER=nginx")


def value(of: MixResult, name: str) -> Value:
    """Return a value of the result."""
    return next(each for each in of.values if each.value == name)


def test_gain_and_loss_in_each_network_and_over_all() -> None:
    """Means are weighted by the shares, and the loss over all is the largest one."""
    mix = found({"fast": _FAST, "slow": _SLOW})
    smallest = value(mix, "4096")
    assert (smallest.networks["fast"].gain_ms, smallest.networks["slow"].gain_ms) == (100, 4000)
    assert (smallest.over_all.first_byte_ms, smallest.over_all.gain_ms) == (550, 2050)
    assert smallest.networks["fast"].loss == pytest.approx(0.1)
    assert smallest.networks["slow"].loss == 0
    assert smallest.over_all.loss == pytest.approx(0.1)
    assert not smallest.is_allowed


def test_the_value_that_is_never_worse() -> None:
    """4096 is soonest, but costs a tenth of goodput in one network; with such a loss allowed it is recommended."""
    curves = {"fast": _FAST, "slow": _SLOW}
    assert found(curves).recommended == "16384"
    assert found(curves, 0.11).recommended == "4096"
    told = found(curves).words[0]
    assert "is LOWAT=16384. With it the script's first byte comes after 578 ms" in told
    assert "It loses nothing measurable in any network (allowed: 1.0%)" in told


def test_a_later_first_byte_is_a_loss() -> None:
    """A value that is later than LOWAT unset in one network is not allowed, however soon it is in the others."""
    late: Curve = {"16384": (300, 1000), "none": (200, 1000)}
    soon: Curve = {"16384": (1000, 1000), "none": (9000, 1000)}
    mix = found({"late": late, "soon": soon})
    assert value(mix, "16384").over_all.loss == pytest.approx(0.5)
    assert mix.recommended == "none"
    assert mix.words[0].startswith("No LOWAT is needed for these visitors")


def test_the_largest_of_equals_is_recommended() -> None:
    """A difference of the means within a TLS record's time does not count."""
    close: Curve = {"4096": (995, 1000), "16384": (1000, 1000), "none": (5000, 1000)}
    assert found({"one": close}).recommended == "16384"


def test_what_a_tuner_would_add() -> None:
    """The sentences compare the recommended value with LOWAT=auto, and with the best value of each network."""
    mix = found({"fast": _FAST, "slow": _SLOW}, auto_ms=500)
    assert mix.recommended == "16384"
    assert any("(LOWAT=auto) would bring it 78 ms sooner on average than LOWAT=16384" in told for told in mix.words)
    assert mix.words[-1].startswith("The best value for each network would bring it 0.0 ms sooner")


def test_a_value_that_one_network_lacks_is_left_out() -> None:
    """A value must have ok runs in every network; without LOWAT unset there is nothing to compare with."""
    mix = found({"fast": _FAST, "slow": {name: each for name, each in _SLOW.items() if name != "16384"}})
    assert (mix.left_out, "16384" in [each.value for each in mix.values]) == (["16384"], False)
    with pytest.raises(ValueError, match="slow: too few runs with LOWAT unset"):
        found({"slow": {"4096": (1000, 1000)}})


def test_the_table() -> None:
    """A line has a value, its mean, its price and its figures in each network with the share of visitors."""
    parts = [Part(name="home", share=1.0, network=replace(network(_FAST), record_ms=1.0))]
    shown = table(result(parts, 0.01, "SERVER=nginx"))
    assert shown.head[-1] == "home (100%)"
    assert shown.rows[0][:2] == ("4096 (not allowed)", "100 ms (100 ms sooner)")
    assert shown.rows[1][0] == "16384 (recommended)"
    assert shown.rows[-1][-1] == "200 ms, 1 Mbit/s"
