"""Tests of LOWAT following the link's rate, on connections made by hand.

The rate is 100 Mbit/s, but 10 Mbit/s from 1 s to 3 s.
"""

from collections.abc import Sequence

import pytest

from priolab.analysis.reports.following import Seen, Step, round_trips, steps
from tests.support.followed import (
    FAST_BIT_S,
    RATE,
    SLOW_BIT_S,
    TARGET_MS,
    looks,
    right_bytes,
    seen,
)

MS = 10**6


def after_ms(found: Sequence[Step]) -> list[float | None]:
    return [None if step.lowat_ns is None else step.lowat_ns / MS for step in found]


def test_a_round_trip_ends_with_the_acknowledgment() -> None:
    """A round trip ends when all bytes sent at its start are acknowledged, whatever the smoothed round trip time.

    The result has at most as many round trips as asked for.
    """
    assert [t_ns / MS for t_ns in round_trips(looks(), 1000 * MS, 2)] == [1200, 1400]
    assert [t_ns / MS for t_ns in round_trips(looks(), 3000 * MS, 3)] == [3020, 3040, 3060]
    assert list(round_trips(looks()[:110], 1000 * MS, 2)) == []


@pytest.mark.parametrize(
    ("drop_ms", "rise_ms", "followed"), [(1390, 3030, True), (1410, 3030, False), (1390, 3050, False)]
)
def test_in_time_is_within_two_round_trips(drop_ms: int, rise_ms: int, followed: bool) -> None:  # noqa: FBT001
    """LOWAT follows a step within two round trips: 400 ms after the drop, 40 ms after the rise."""
    fast, slow = right_bytes(FAST_BIT_S), right_bytes(SLOW_BIT_S)
    found = steps(seen([(0, fast), (drop_ms, slow), (rise_ms, fast)]))
    assert after_ms(found) == [drop_ms - 1000, rise_ms - 3000]
    assert [step.round_trips_ns[-1] / MS for step in found] == [400, 40]
    assert all(step.is_followed for step in found) is followed


@pytest.mark.parametrize("part", [0.76, 1.24])
def test_a_quarter_off_is_right(part: float) -> None:
    """A LOWAT is right if its unsent bytes differ from the target by a quarter of the target or less."""
    off = [(0, right_bytes(FAST_BIT_S)), (1100, right_bytes(SLOW_BIT_S, part))]
    assert after_ms(steps(seen(off)))[0] == 100
    too_far = [(0, right_bytes(FAST_BIT_S)), (1100, right_bytes(SLOW_BIT_S, part + (0.03 if part > 1 else -0.03)))]
    assert after_ms(steps(seen(too_far)))[0] is None


def test_what_is_right_in_between_does_not_count() -> None:
    """LOWAT has followed a step at the time from which on it stays right."""
    fast, slow = right_bytes(FAST_BIT_S), right_bytes(SLOW_BIT_S)
    settings = [(0, fast), (1100, slow), (1200, 4096), (1350, slow), (3020, fast)]
    assert after_ms(steps(seen(settings))) == [350, 20]


@pytest.mark.parametrize(
    ("lowat_bytes", "after"),
    [
        (right_bytes(FAST_BIT_S), [None, 0]),
        (right_bytes(SLOW_BIT_S), [0, None]),
        (131_072, [None, None]),
        (None, [None, None]),
    ],
)
def test_a_fixed_value_does_not_follow(lowat_bytes: int | None, after: list[float | None]) -> None:
    """A fixed LOWAT is right for one rate or for neither; an unset LOWAT is never right."""
    found = steps(seen([(0, lowat_bytes)]))
    assert after_ms(found) == after
    assert not all(step.is_followed for step in found)


def test_a_step_after_all_was_handed_over_is_none() -> None:
    """A step after the front has handed over all bytes does not count, because nothing is left to bound."""
    early = Seen(looks=looks(), settings=[], rate=RATE, until_ns=2900 * MS, target_ns=TARGET_MS * MS)
    assert [step.rate_bit_s for step in steps(early)] == [SLOW_BIT_S]


def test_what_is_unsent_follows() -> None:
    """The unsent bytes follow from the sample on after which they are never above 1.25 times the target.

    They may be below half of the target for a short time only.
    """
    slow_most = 120_000  # takes 100 ms

    def unsent(t_ms: int) -> int:
        if 1000 <= t_ms < 3000:
            return max(slow_most, 1_000_000 - (t_ms - 1000) * 1_196)
        return 1_000_000 if t_ms < 1000 or t_ms > 3100 else slow_most

    drop, rise = steps(seen([(0, None)], unsent))
    assert drop.unsent_ns == pytest.approx(720 * MS, abs=20 * MS)
    assert rise.unsent_ns == 0, "too little for 100 ms is too short to count"
    too_little = steps(seen([(0, None)], lambda _: 20_000))
    assert [step.unsent_ns for step in too_little] == [None, None]
    too_much = steps(seen([(0, None)], lambda _: 3_000_000))
    assert [step.unsent_ns for step in too_much] == [None, None]
