"""Tests of the comparison of LOWAT=auto with the best fixed value."""

from priolab.analysis.sweeps.auto_vs_fixed import Judgement, judge
from priolab.analysis.sweeps.networks import Level
from priolab.analysis.sweeps.words import judgement
from tests.support.sweeps import Curve, level, lost, network

FIXED: Curve = {"4096": (900, 950), "16384": (1000, 995), "65536": (1500, 1000), "none": (6700, 1000)}


def judged(auto: Level, curve: Curve = FIXED) -> Judgement:
    (found,) = judge(network(curve, auto))
    return found


def test_the_best_keeps_goodput() -> None:
    """A fixed LOWAT that loses goodput cannot be the best: 4096 has the earliest first byte, but loses 5 %."""
    found = judged(level("auto", 1149, 991))
    assert (found.best_fixed, found.left_out) == ("16384", ("4096",))
    assert found.ratio == 1.149
    assert found.near
    assert found.keeps_goodput


def test_too_late_and_too_slow() -> None:
    """Auto is not near if its first byte is more than 15 % later than with the best fixed value.

    Goodput is not kept if it is more than 1 % lower than with LOWAT unset.
    """
    found = judged(level("auto", 1151, 989))
    assert found.near is False
    assert found.keeps_goodput is False
    assert judgement(found) == (
        "With LOWAT=auto the script's first byte comes at 1.15 s. This is not near the 1.00 s with the best fixed "
        "value, LOWAT=16384 (ratio 1.15). Goodput is 98.9% of that with LOWAT unset, so it is not kept."
    )


def test_a_record_later_is_near() -> None:
    """Auto is near if its first byte is at most a TLS record's time later than with the best fixed value.

    The time may be more than 15 %.
    """
    curve: Curve = {"16384": (20, 1000), "none": (100, 1000)}
    assert judged(level("auto", 30, 1000), curve).near
    assert judged(level("auto", 31, 1000), curve).near is False


def test_what_is_not_known_is_not_judged() -> None:
    """A judgement is None if the runs of auto, of fixed values or of LOWAT unset are missing."""
    assert judged(lost("auto")).near is None
    assert judgement(judged(lost("auto"))) == "No run with LOWAT=auto is ok."
    alone = judged(level("auto", 1000, 1000), {"none": (6700, 1000)})
    assert (alone.near, alone.keeps_goodput) == (None, True)
    without = judged(level("auto", 1000, 1000), {"4096": (900, 950), "16384": (1000, 995)})
    assert (without.best_fixed, without.near, without.keeps_goodput) == ("4096", True, None)


def test_every_way_of_steering_is_judged() -> None:
    """LOWAT=auto is judged for each TARGET_DELAY; without LOWAT=auto there is no judgement."""
    found = judge(
        network(FIXED, level("auto TARGET_DELAY=50ms", 1000, 1000), level("auto TARGET_DELAY=9ms", 900, 1000))
    )
    assert [each.value for each in found] == ["auto TARGET_DELAY=50ms", "auto TARGET_DELAY=9ms"]
    assert judge(network(FIXED)) == []
