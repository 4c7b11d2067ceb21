"""Tests of sweeps over several delays of the script (JS_DELAY): the requested sweeps, and their evaluation."""

from dataclasses import replace
from typing import Any

from priolab.analysis.sweeps.networks import Network
from priolab.extras.studies.delay_sweep import gather, grids, moments_ms
from tests.support.sweeps import Curve, lost, network

_KNOBS = {"RATE": "10mbit", "CC": "cubic", "JS_DELAY": "200ms"}
_VALUES = ("4096", "131072", "none", "auto")


def _summary(*networks: dict[str, str], left_out: tuple[str, ...] = ()) -> dict[str, Any]:
    values = [{"value": value, "lowat": int(value) if value.isdecimal() else None} for value in _VALUES]
    judgement = {"value": "auto", "left_out": list(left_out)}
    return {
        "networks": [
            {"network": f"CC={knobs['CC']} RATE={knobs['RATE']}", "knobs": knobs, "values": values, "auto": [judgement]}
            for knobs in networks
        ]
    }


def _at(moment_ms: int, curve: Curve, *, knobs: dict[str, str] = _KNOBS) -> Network:
    return replace(network(curve), knobs=knobs | {"JS_DELAY": f"{moment_ms}ms"}, record_ms=13.0)


def test_moments_go_over_two_packet_buffers() -> None:
    """Twelve delays, from 200 ms on, are spread evenly over the time that two packet buffers of 64 KiB take.
    This time is 105 ms at 10 Mbit/s. Without a rate there is one delay.
    """
    found = moments_ms(_KNOBS)
    assert (found[0], found[-1], len(found)) == (200, 296, 12)
    assert moments_ms({**_KNOBS, "RATE": "unlimited"}) == (200,)


def test_a_sweep_is_asked_for_each_rate() -> None:
    """A sweep is requested for each rate. It has all knobs of the first sweep, and its values of LOWAT except unset."""
    slow = {**_KNOBS, "RATE": "1mbit"}
    found = grids(_summary(_KNOBS, {**_KNOBS, "CC": "bbr"}, slow))
    assert [[word for word in words if not word.startswith("JS_DELAY")] for words in found] == [
        ["RATE=10mbit", "CC=cubic,bbr", "LOWAT=4096,131072,auto"],
        ["RATE=1mbit", "CC=cubic", "LOWAT=4096,131072,auto"],
    ]
    assert f"JS_DELAY={','.join(f'{each}ms' for each in moments_ms(slow))}" in found[1]


def test_means_are_compared() -> None:
    """Values of LOWAT are compared by the mean time of the script's first byte over all delays.
    LOWAT=4096 is best with one delay, but 131072 is best on average.
    """
    curve: Curve = {"4096": (500, 1), "131072": (400, 1), "auto": (420, 1)}
    lucky: Curve = {**curve, "4096": (300, 1)}
    found = [_at(moment, lucky if moment == 200 else curve) for moment in moments_ms(_KNOBS)]
    (trial,) = gather(_summary(_KNOBS), found).values()
    assert trial.best == "131072"
    assert round(trial.ratio, 3) == 1.05
    assert trial.is_near
    assert (trial.sooner("4096"), trial.sooner("131072")) == (1, 12)


def test_a_value_that_costs_goodput_is_not_the_best() -> None:
    """A value of LOWAT that the first sweep left out because it costs goodput is not the best value."""
    found = [_at(moment, {"4096": (300, 1), "131072": (400, 1), "auto": (420, 1)}) for moment in moments_ms(_KNOBS)]
    (trial,) = gather(_summary(_KNOBS, left_out=("4096",)), found).values()
    assert trial.best == "131072"
    (trial,) = gather(_summary(_KNOBS), found).values()
    assert (trial.best, trial.is_near) == ("4096", False)


def test_one_record_later_is_near() -> None:
    """LOWAT=auto is near the best value if its mean is at most one TLS record's time later, whatever the ratio."""
    found = [_at(moment, {"4096": (30, 1), "auto": (42, 1)}) for moment in moments_ms(_KNOBS)]
    (trial,) = gather(_summary(_KNOBS), found).values()
    assert (round(trial.ratio, 1), trial.is_near) == (1.4, True)


def test_what_is_not_known_at_every_moment_is_left_out() -> None:
    """A value of LOWAT that has no result with one of the delays is left out.
    The whole network is left out if this value is auto, or if a delay is missing for every value.
    """
    curve: Curve = {"131072": (400, 1), "auto": (420, 1)}
    known = [_at(moment, {"4096": (300, 1), **curve}) for moment in moments_ms(_KNOBS)]
    partly = [*known[:-1], replace(known[-1], levels=(*_at(296, curve).levels, lost("4096")))]
    (trial,) = gather(_summary(_KNOBS), partly).values()
    assert set(trial.first_bytes_ms) == {"131072", "auto"}
    assert gather(_summary(_KNOBS), known[:-1]) == {}
    blind = [*known[:-1], replace(known[-1], levels=(lost("auto"),))]
    assert gather(_summary(_KNOBS), blind) == {}
