"""How runs are divided among commands."""

from hypothesis import given
from hypothesis import strategies as st

from experiments.execution.executor import fair_share

WHOLE = st.integers(min_value=1, max_value=10_000)


@given(waiting=WHOLE, side_by_side=st.integers(min_value=1, max_value=64), most=st.integers(min_value=1, max_value=40))
def test_somebody_gets_something_and_nobody_more_than_there_is(waiting: int, side_by_side: int, most: int) -> None:
    """And never more than one command should carry out."""
    assert 1 <= fair_share(waiting, side_by_side, most) <= min(waiting, most)
