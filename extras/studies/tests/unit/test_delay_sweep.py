"""Tests of sweeps over several delays of the script (JS_DELAY): the requested sweeps, and their evaluation."""

from dataclasses import replace
from typing import Any

from priolab.analysis.sweeps.networks import Network
from priolab.extras.studies.delay_sweep import gather, grids, moments_ms
from tests.support.sweeps import level, network

_KNOBS = {"RATE": "10mbit", "CC": "cubic"}
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


def _found(**first_bytes_ms: dict[int, float]) -> Network:
    """Return a network in which each value of LOWAT, given as v4096, has these first bytes at instants."""
    levels = tuple(replace(level(value.removeprefix("v"), 1, 1), instants=at) for value, at in first_bytes_ms.items())
    return replace(network({}), knobs=_KNOBS, levels=levels, record_ms=13.0)


def _always(first_ms: float, **at: float) -> dict[int, float]:
    """Return the same first byte at every moment, but for those that are given, such as at200=300."""
    return dict.fromkeys(moments_ms(_KNOBS), first_ms) | {int(name[2:]): other for name, other in at.items()}


def test_moments_go_over_two_packet_buffers() -> None:
    """Twelve delays, from 200 ms on, are spread evenly over the time that two packet buffers of 64 KiB take.
    This time is 105 ms at 10 Mbit/s. Without a rate they are a millisecond apart.
    """
    found = moments_ms(_KNOBS)
    assert (found[0], found[-1], len(found)) == (200, 296, 12)
    assert moments_ms({**_KNOBS, "RATE": "unlimited"}) == tuple(range(200, 212))


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
    found = _found(v4096=_always(500, at200=300), v131072=_always(400), auto=_always(420))
    (trial,) = gather(_summary(_KNOBS), [found]).values()
    assert trial.best == "131072"
    assert round(trial.ratio, 3) == 1.05
    assert trial.is_near
    assert (trial.sooner("4096"), trial.sooner("131072")) == (1, 12)


def test_a_value_that_costs_goodput_is_not_the_best() -> None:
    """A value of LOWAT that the first sweep left out because it costs goodput is not the best value."""
    found = _found(v4096=_always(300), v131072=_always(400), auto=_always(420))
    (trial,) = gather(_summary(_KNOBS, left_out=("4096",)), [found]).values()
    assert trial.best == "131072"
    (trial,) = gather(_summary(_KNOBS), [found]).values()
    assert (trial.best, trial.is_near) == ("4096", False)


def test_one_record_later_is_near() -> None:
    """LOWAT=auto is near the best value if its mean is at most one TLS record's time later, whatever the ratio."""
    (trial,) = gather(_summary(_KNOBS), [_found(v4096=_always(30), auto=_always(42))]).values()
    assert (round(trial.ratio, 1), trial.is_near) == (1.4, True)


def test_what_is_not_known_at_every_moment_is_left_out() -> None:
    """A value of LOWAT that has no result with one of the delays is left out; so is the network if it is auto."""
    partly = _always(300)
    del partly[296]
    (trial,) = gather(_summary(_KNOBS), [_found(v4096=partly, v131072=_always(400), auto=_always(420))]).values()
    assert set(trial.first_bytes_ms) == {"131072", "auto"}
    assert gather(_summary(_KNOBS), [_found(v4096=_always(300), auto=partly)]) == {}
    assert gather(_summary(_KNOBS), []) == {}
