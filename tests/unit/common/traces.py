"""Traces, drawn."""

from hypothesis import strategies as st

TIMES = st.lists(st.integers(0, 50), min_size=1, max_size=60).map(sorted).filter(lambda times: times[-1] > 0)
