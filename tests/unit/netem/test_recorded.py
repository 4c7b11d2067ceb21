"""Tests of traces from a recorded rate."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.packets import PACKET_BYTES
from priolab.netem.recorded import recorded

MBIT = 10**6


def bits(times_ms: tuple[int, ...], begin_ms: int, end_ms: int) -> int:
    """Return the bits of the opportunities after one time and until another."""
    return sum(begin_ms < time_ms <= end_ms for time_ms in times_ms) * PACKET_BYTES * 8


@pytest.mark.parametrize(
    "text",
    [
        "0 10\n0.5 2.5\n1 0\n1.5 20\n",
        "time,rate\n0,10\n0.5,2.5\n\n1,0\n# a gap\n1.5,20\n",
        "1700000000;10;x\n1700000000.5;2.5;y\n1700000001;0;z\n1700000001.5;20;z\n",
        "0\t10\r\n0.5\t2.5\r\n1\t0\r\n1.5\t20\r\n",
    ],
)
def test_a_table(text: str) -> None:
    """Each rate lasts until the next time, the last one as long as the one before it."""
    trace = recorded("walk", text, unit_bit_s=MBIT)
    assert (trace.name, trace.times_ms[-1]) == ("walk", 2000)
    for begin_ms, rate in ((0, 10 * MBIT), (500, 2.5 * MBIT), (1000, 0), (1500, 20 * MBIT)):
        assert bits(trace.times_ms, begin_ms, begin_ms + 500) == pytest.approx(rate / 2, abs=2 * PACKET_BYTES * 8)


def test_the_beginning() -> None:
    """A duration takes the beginning only."""
    assert recorded("walk", "0 10\n10 10\n", unit_bit_s=MBIT, duration_ms=1500).times_ms[-1] == 1500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "fewer than two lines"),
        ("0 1\n", "fewer than two lines"),
        ("0 1\n1 x\n", "line 2 has no two numbers"),
        ("0 1\n1\n", "line 2 has no two numbers"),
        ("0 1\n0 1\n", "line 2: times increase"),
        ("0 1\n1 -1\n", "line 2: times increase, and no rate is negative"),
        ("0 1\n1 inf\n", "line 2"),
        ("0 nan\n1 1\n", "line 1"),
        ("0 0\n1 0\n", "no opportunities"),
        ("0 1\n4000 1\n", "more than an hour"),
        ("0 90000\n1000 1\n", "more than 1000000 opportunities"),
    ],
)
def test_no_table(text: str, words: str) -> None:
    """An error says what is wrong, and where."""
    with pytest.raises(ValueError, match=words):
        recorded("walk", text, unit_bit_s=MBIT)


@given(st.lists(st.tuples(st.integers(1, 900), st.floats(0.5, 50)), min_size=2, max_size=20))
def test_no_bit_is_lost(steps: list[tuple[int, float]]) -> None:
    """The opportunities of a trace carry the recorded bits, to within one packet."""
    ends = [0]
    for length_ms, _ in steps:
        ends.append(ends[-1] + length_ms)
    text = "\n".join(f"{end / 1000} {rate}" for end, (_, rate) in zip(ends, steps, strict=False))
    lengths = [later - earlier for earlier, later in pairwise(ends)][:-1]
    lengths.append(lengths[-1])
    wanted = sum(length_ms * 1000 * rate for length_ms, (_, rate) in zip(lengths, steps, strict=True))
    if wanted < 2 * PACKET_BYTES * 8:
        return
    times_ms = recorded("walk", text, unit_bit_s=MBIT).times_ms
    assert bits(times_ms, 0, times_ms[-1]) == pytest.approx(wanted, abs=1.01 * PACKET_BYTES * 8)
