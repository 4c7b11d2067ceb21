"""Tests of traces of packet opportunities."""

import pickle
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
        ("\n# none\n", "it is empty"),
        ("0.5, 12.3\n", "line 1 is '0.5, 12.3'; `priolab trace convert` makes a trace of a table"),
        ("time,rate\n0,5\n", "line 1 is 'time,rate'; `priolab trace convert` makes a trace of a table"),
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
    assert len(Trace.read(file).times_ms) == 100


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf2\n2\n9\n",
        "2\n2\n9\n".encode("utf-16"),
        "2\n2\n9\n".encode("utf-16-le"),
        b"2\r\n2\r\n9\r\n",
        b"# measured by hand\n\n 2\n\n2\n 9 \n\n",
        b"\xef\xbb\xbf# a mark\n2\n#\n2\n9",
    ],
    ids=["mark", "utf-16", "utf-16-le", "crlf", "comments", "all"],
)
def test_as_people_write_it(tmp_path: Path, content: bytes) -> None:
    """A mark, another encoding, comments and empty lines change nothing."""
    file = tmp_path / "t"
    file.write_bytes(content)
    assert Trace.read(file).times_ms == (2, 2, 9)


@given(st.binary(max_size=40), st.sampled_from(("", "utf-8-sig", "utf-16")))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, junk: bytes, encoding: str) -> None:
    """Whatever bytes stand in a file, it is a trace or an error of one line."""
    file = tmp_path_factory.mktemp("any") / "t"
    file.write_bytes(("1\n2\n".encode(encoding) if encoding else b"") + junk)
    try:
        words = str(Trace.read(file).times_ms)
    except ValueError as error:
        words = str(error)
    assert "\n" not in words


def test_many_opportunities() -> None:
    """A trace may have more than a million opportunities; those at one time take no further memory."""
    found = Trace.parse("t", "".join(f"{time_ms}\n" * 300 for time_ms in range(1, 4_000)))
    assert len(found.times_ms) == 1_199_700
    assert Trace.unpack(found.packed) == found
    assert Trace.at_rates("t", [300 * trace.PER_MS] * 3_999) == found
    assert len(pickle.dumps(found)) < 150_000


@given(TIMES, st.integers(-70, 70))
def test_times_are_a_sequence(times: list[int], at: int) -> None:
    """The times of a trace behave as the tuple of them."""
    own, plain = Trace(name="t", times_ms=times).times_ms, tuple(times)
    assert (len(own), tuple(own), own[1:], own[-1]) == (len(plain), plain, plain[1:], plain[-1])
    assert own == plain
    assert own == Trace(name="u", times_ms=plain).times_ms
    assert hash(own) == hash(Trace(name="u", times_ms=plain).times_ms)
    assert own != (*plain, plain[-1])
    if -len(plain) <= at < len(plain):
        assert own[at] == plain[at]
    else:
        with pytest.raises(IndexError):
            own[at]


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
