"""The script at other moments: which sweeps are asked for, and what is made of them."""

from dataclasses import replace
from typing import Any

from analysis.sweeps.networks import Network
from experiments.studies.moments import gather, grids, moments_ms
from tests.unit.sweeps import Curve, lost, network

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
    """Two of 64 KiB take 105 ms at 10 Mbit/s; the last moment is a twelfth before their end."""
    found = moments_ms(_KNOBS)
    assert (found[0], found[-1], len(found)) == (200, 296, 12)
    assert moments_ms({**_KNOBS, "RATE": "unlimited"}) == (200,)


def test_a_sweep_is_asked_for_each_rate() -> None:
    """With every value that auto is judged against, unset is not among them, and every other knob's words."""
    slow = {**_KNOBS, "RATE": "1mbit"}
    found = grids(_summary(_KNOBS, {**_KNOBS, "CC": "bbr"}, slow))
    assert [[word for word in words if not word.startswith("JS_DELAY")] for words in found] == [
        ["RATE=10mbit", "CC=cubic,bbr", "LOWAT=4096,131072,auto"],
        ["RATE=1mbit", "CC=cubic", "LOWAT=4096,131072,auto"],
    ]
    assert f"JS_DELAY={','.join(f'{each}ms' for each in moments_ms(slow))}" in found[1]


def test_means_are_compared() -> None:
    """4096 is soonest at one moment and late at all others: 131072 is the best, and auto is near that."""
    curve: Curve = {"4096": (500, 1), "131072": (400, 1), "auto": (420, 1)}
    lucky: Curve = {**curve, "4096": (300, 1)}
    found = [_at(moment, lucky if moment == 200 else curve) for moment in moments_ms(_KNOBS)]
    (trial,) = gather(_summary(_KNOBS), found).values()
    assert trial.best == "131072"
    assert round(trial.ratio, 3) == 1.05
    assert trial.is_near
    assert (trial.sooner("4096"), trial.sooner("131072")) == (1, 12)


def test_a_value_that_costs_goodput_is_not_the_best() -> None:
    """What is asked of auto is asked of what it is compared with."""
    found = [_at(moment, {"4096": (300, 1), "131072": (400, 1), "auto": (420, 1)}) for moment in moments_ms(_KNOBS)]
    (trial,) = gather(_summary(_KNOBS, left_out=("4096",)), found).values()
    assert trial.best == "131072"
    (trial,) = gather(_summary(_KNOBS), found).values()
    assert (trial.best, trial.is_near) == ("4096", False)


def test_one_record_later_is_near() -> None:
    """However much that is of a short wait."""
    found = [_at(moment, {"4096": (30, 1), "auto": (42, 1)}) for moment in moments_ms(_KNOBS)]
    (trial,) = gather(_summary(_KNOBS), found).values()
    assert (round(trial.ratio, 1), trial.is_near) == (1.4, True)


def test_what_is_not_known_at_every_moment_is_left_out() -> None:
    """A value, or the network if it is auto, or a moment."""
    curve: Curve = {"131072": (400, 1), "auto": (420, 1)}
    known = [_at(moment, {"4096": (300, 1), **curve}) for moment in moments_ms(_KNOBS)]
    partly = [*known[:-1], replace(known[-1], levels=(*_at(296, curve).levels, lost("4096")))]
    (trial,) = gather(_summary(_KNOBS), partly).values()
    assert set(trial.first_bytes_ms) == {"131072", "auto"}
    assert gather(_summary(_KNOBS), known[:-1]) == {}
    blind = [*known[:-1], replace(known[-1], levels=(lost("auto"),))]
    assert gather(_summary(_KNOBS), blind) == {}
