"""Tests of a rate that changes over time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.records.rate import Rate, TraceRate, may_drop_up, steps_of
from priolab.common.packets import PACKET_BYTES
from priolab.common.trace import Trace
from tests.support.builders import scenario
from tests.unit.common.traces import TIMES

S = 10**9
RATE = Rate.of(scenario(rate_bit_s=8000, rate_steps=f"80000bit@{2 * S}ns+8000bit@{6 * S}ns"), began_ns=S)

RATES = st.builds(
    lambda rates, gaps_ns: Rate(
        pieces=((-(2**63), rates[0]), *((sum(gaps_ns[: i + 1]), rate) for i, rate in enumerate(rates[1:])))
    ),
    st.lists(st.integers(1000, 10**9), min_size=4, max_size=4),
    st.lists(st.integers(1, 10 * S), min_size=3, max_size=3),
)


def test_it_is_read_from_a_scenario() -> None:
    """A rate and its steps are read from a scenario; a malformed text of steps raises ValueError."""
    stepped = scenario({"RATE_STEPS": "1280kbps@2s+128kbps@6s"})
    assert steps_of(stepped) == [(2 * S, 10_240_000), (6 * S, 1_024_000)]
    assert steps_of(scenario()) == []
    assert Rate.of(scenario(rate_bit_s=None)) is None
    with pytest.raises(ValueError, match="rate_steps is 'fast'"):
        scenario(rate_steps="fast")


def test_the_longest_wait_in_a_queue() -> None:
    """Packets leave a queue at the lowest rate, or through the trace's slowest run of opportunities, not its gap."""
    assert RATE is not None
    assert RATE.longest_wait_s(10) == 10 * PACKET_BYTES * 8 / 8000
    trace = Trace(name="t", times_ms=(100, 101, 102, 103))
    assert TraceRate.of_trace(trace, 10**9, began_ns=0).longest_wait_s(4) == pytest.approx(0.103)
    assert TraceRate.of_trace(trace, 8000, began_ns=0).longest_wait_s(4) == 4 * PACKET_BYTES * 8 / 8000


def test_by_hand() -> None:
    """The link carries 1 kB/s, and 10 kB/s from second 3 to second 7 of the clock."""
    assert RATE is not None
    assert [RATE.at_bit_s(at_s * S) for at_s in (0, 2.9, 3, 6.9, 7, 99)] == [8000, 8000, 80_000, 80_000, 8000, 8000]
    assert RATE.slowest_bit_s == 8000
    assert RATE.carried_bytes(2 * S, 8 * S) == 1000 + 40_000 + 1000
    assert RATE.carried_bytes(8 * S, 8 * S) == 0
    assert RATE.through_ns(2 * S, 21_000) == 5 * S
    assert RATE.begun_ns(5 * S, 21_000) == 2 * S


@given(rate=RATES, begins_ns=st.integers(0, 40 * S), size_bytes=st.integers(1, 10**8))
def test_what_is_through_was_carried(rate: Rate, begins_ns: int, size_bytes: int) -> None:
    """`carried_bytes` returns the given size between the start and the end of a transmission.

    `through_ns` computes the end from the start, and `begun_ns` the start from the end.
    """
    through_ns = rate.through_ns(begins_ns, size_bytes)
    assert rate.carried_bytes(begins_ns, through_ns) == pytest.approx(size_bytes, rel=1e-6, abs=1)
    begun_ns = rate.begun_ns(through_ns, size_bytes)
    assert rate.carried_bytes(begun_ns, through_ns) == pytest.approx(size_bytes, rel=1e-6, abs=1)


def test_what_other_traffic_leaves() -> None:
    """Between two counts of the other traffic the rate is what it left; before and after them the link is free."""
    free = Rate.of(scenario(rate_bit_s=8000))
    assert free is not None
    left = free.without([(2 * S, 0), (4 * S, 500), (5 * S, 2500), (6 * S, 2500)])
    assert [left.at_bit_s(at_s * S) for at_s in (0, 1.9, 2, 3.9, 4, 5, 99)] == [8000, 8000, 6000, 6000, 1, 8000, 8000]
    assert left.carried_bytes(0, 6 * S) == pytest.approx(6000 - 500 - 1000, abs=1)


def test_what_other_traffic_leaves_of_a_rate_that_changes() -> None:
    """A step between two counts, and a step after the last, change what is left."""
    assert RATE is not None
    left = RATE.without([(2 * S, 0), (4 * S, 1000)])
    assert [left.at_bit_s(at_s * S) for at_s in (2.5, 4, 6.9, 7)] == [40_000, 80_000, 80_000, 8000]


@given(TIMES, st.floats(-1e8, 1e9), st.floats(0, 1e9))
def test_a_trace_carries_what_it_takes_time_for(times: list[int], from_ns: float, for_ns: float) -> None:
    """The bytes that a trace carries between two instants take just that time, backward and forward."""
    rate = TraceRate.of_trace(Trace(name="t", times_ms=tuple(times)), 8_000_000, 7)
    until_ns = from_ns + for_ns
    carried = rate.carried_bytes(from_ns, until_ns)
    assert carried >= 0
    assert rate.carried_bytes(from_ns, rate.through_ns(from_ns, carried)) == pytest.approx(carried, abs=1e-3)
    assert rate.carried_bytes(rate.begun_ns(until_ns, carried), until_ns) == pytest.approx(carried, abs=1e-3)


def test_a_trace() -> None:
    """A trace's rate is right at every opportunity, repeats, and follows the mean rate before the replay."""
    trace = Trace(name="t", times_ms=(2, 2, 10))
    rate = Rate.of(scenario(rate_bit_s=trace.mean_bit_s, trace=trace.packed), began_ns=S)
    assert isinstance(rate, TraceRate)
    assert rate.carried_bytes(S, S + 2_000_000) == 2 * 1514
    assert rate.carried_bytes(S, S + 10_000_000) == 3 * 1514
    assert rate.carried_bytes(S, S + 22_000_000) == 8 * 1514
    assert rate.through_ns(S, 3 * 1514) == S + 10_000_000
    assert rate.begun_ns(S + 10_000_000, 1514) == S + 2_000_000
    assert (rate.at_bit_s(S - 1), rate.at_bit_s(S + 1)) == (trace.mean_bit_s, 2 * 1514 * 8 * 500)
    assert rate.slowest_bit_s == 1514 * 8 * 125
    assert (rate.changes(S - 1, S), rate.changes(S, 2 * S)) == (True, False)


@pytest.mark.parametrize(
    ("rate_bit_s", "rate_up_bit_s", "expected"),
    [(1_024_000, None, False), (1_024_000, 64_000, False), (1_024_000, 32_000, True), (None, 10**6, True)],
)
def test_acknowledgments_that_fill_the_queue(
    rate_bit_s: int | None, rate_up_bit_s: int | None, *, expected: bool
) -> None:
    """An acknowledgment of each packet is a sixteenth of the rate."""
    assert may_drop_up(scenario(rate_bit_s=rate_bit_s, rate_up_bit_s=rate_up_bit_s)) is expected
