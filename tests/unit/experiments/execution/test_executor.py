"""How runs are divided among commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.execution.executor import fair_share

WHOLE = st.integers(min_value=1, max_value=10_000)


def shares(waiting: int, side_by_side: int, most: int) -> list[int]:
    """Of all commands, one after another."""
    found: list[int] = []
    while waiting:
        found.append(fair_share(waiting, side_by_side, most, len(found)))
        waiting -= found[-1]
    return found


@given(waiting=WHOLE, side_by_side=st.integers(min_value=1, max_value=64), most=st.integers(min_value=1, max_value=40))
def test_somebody_gets_something_and_nobody_more_than_there_is(waiting: int, side_by_side: int, most: int) -> None:
    """And never more than one command should carry out."""
    found = shares(waiting, side_by_side, most)
    assert (min(found) >= 1, max(found) <= most, sum(found)) == (True, True, waiting)


@pytest.mark.parametrize(
    ("waiting", "side_by_side", "expected"),
    [(1, 2, [1]), (3, 2, [2, 1]), (12, 2, [6, 6]), (60, 2, [30, 30]), (10, 4, [3, 3, 2, 2]), (5, 8, [1] * 5)],
)
def test_a_little_is_divided_evenly(waiting: int, side_by_side: int, expected: list[int]) -> None:
    """A command for everybody, and no more."""
    assert shares(waiting, side_by_side, 40) == expected


def test_of_more_some_is_kept_for_whoever_is_quicker() -> None:
    """Commands get smaller toward the end, but not very small."""
    assert shares(80, 2, 40) == [32, 39, 5, 4]
    assert shares(200, 2, 40) == [40, 40, 40, 27, 18, 12, 8, 6, 5, 4]
