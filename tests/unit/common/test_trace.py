"""Tests of traces of packet opportunities."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common import trace
from priolab.common.trace import Trace
from tests.unit.common.traces import TIMES

MS = 10**6


def test_a_file(tmp_path: Path) -> None:
    """A file has a time in each line; equal lines are several opportunities at once."""
    file = tmp_path / "my own trace"
    file.write_text("0\n2\n2\n10\n")
    found = Trace.read(file)
    assert found == Trace(name="my_own_trace", times_ms=(0, 2, 2, 10))
    assert found.to_text() == file.read_text()
    assert (found.period_ns, found.mean_bit_s, found.longest_gap_ns) == (10 * MS, 4 * 1514 * 8 * 100, 8 * MS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("1\nx\n", "line 2 is 'x'"),
        ("1\n\n2\n", "line 2 is ''"),
        ("3\n2\n", "line 2 is 2, less than the line before"),
        ("1\n-2\n", "line 2 is '-2'"),
        ("1.5\n", "line 1 is '1.5'"),
        ("0\n", "the last time of a trace is from 1 ms to an hour"),
        ("3600001\n", "line 1 is '3600001'"),
        ("3600000\n", "the mean rate of a trace is from 1000 bit/s"),
        ("1\n" * 9000 + "1\u00e9\n", "line 9001 is '1"),
    ],
)
def test_what_is_no_trace(text: str, reason: str) -> None:
    """The error names the first bad line."""
    with pytest.raises(ValueError, match=re.escape(reason)):
        Trace.parse("a", text)


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large is not read whole."""
    file = tmp_path / "large"
    file.write_text("1\n" * 100)
    monkeypatch.setattr(trace, "MOST_BYTES", 199)
    with pytest.raises(ValueError, match="it has more than 199 bytes"):
        Trace.read(file)
    monkeypatch.setattr(trace, "MOST_BYTES", 200)
    monkeypatch.setattr(trace, "MOST_OPPORTUNITIES", 99)
    with pytest.raises(ValueError, match="it has 100 lines"):
        Trace.read(file)


@given(TIMES)
def test_packed(times: list[int]) -> None:
    """A packed trace is the same trace when it is unpacked."""
    own = Trace(name="t", times_ms=tuple(times))
    assert Trace.unpack(own.packed) == own


@pytest.mark.parametrize("text", ["", "a:!", "a:AAAA", "a:eJwAAA=="])
def test_no_packed_trace(text: str) -> None:
    """A damaged text is refused."""
    with pytest.raises(ValueError, match=r"trace"):
        Trace.unpack(text)


@given(TIMES, st.integers(0, 300))
def test_opportunities_are_counted(times: list[int], number: int) -> None:
    """As many opportunities as the number says come before an opportunity or at the same time, in every round."""
    own = Trace(name="t", times_ms=tuple(times))
    at_ns = own.opportunity_ns(number)
    assert own.opportunities_until(at_ns) > number
    assert own.opportunities_until(at_ns - 1) <= number
    assert own.opportunity_ns(number + len(times)) == at_ns + own.period_ns


@given(TIMES, st.integers(1, 300))
def test_the_longest_wait(times: list[int], count: int) -> None:
    """No opportunity waits longer for the next ones, and one waits as long; for one more it is the longest gap."""
    own = Trace(name="t", times_ms=tuple(times))
    waits_ns = [own.opportunity_ns(first + count) - own.opportunity_ns(first) for first in range(len(times))]
    assert own.longest_wait_ns(count) == max(waits_ns)
    assert own.longest_wait_ns(count) <= count * own.longest_gap_ns
