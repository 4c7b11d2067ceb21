"""Tests of the ferry's queue model while it replays a trace."""

from hypothesis import given
from hypothesis import strategies as st

from priolab.common.trace import Trace
from priolab.netem.ferry.direction import Direction
from priolab.netem.link import Link
from tests.unit.common.traces import TIMES

MS = 10**6
FULL, HALF = bytes(1514), bytes(757)


def replaying(*times_ms: int, delay_ns: int = 0) -> Direction:
    model = Direction(trace=Trace(name="t", times_ms=times_ms), rate_bit_s=1_000_000, delay_ns=delay_ns)
    model.replay(0)
    return model


def departures_ms(model: Direction, *arrivals: tuple[float, bytes]) -> list[float]:
    for ms, packet in arrivals:
        model.arrive(round(ms * MS), packet)
    return [departure_ns / MS for departure_ns, _ in model.due(10**18)]


def test_a_packet_leaves_at_the_next_opportunity() -> None:
    """Full packets leave one per opportunity, also when the trace begins again; unused opportunities are lost."""
    assert departures_ms(replaying(4, 10), *[(0, FULL)] * 5) == [4, 10, 14, 20, 24]
    assert departures_ms(replaying(4, 10), (11, FULL), (11, FULL)) == [14, 20]
    assert departures_ms(replaying(4, 4, 10), (4, FULL), (4, FULL), (4, FULL)) == [4, 4, 10]


def test_small_packets_share_an_opportunity() -> None:
    """An opportunity delivers 1514 bytes, be they several packets or the rest of one."""
    assert departures_ms(replaying(5), *[(0, HALF)] * 3) == [5, 5, 10]
    assert departures_ms(replaying(5), (0, HALF), (0, FULL), (0, HALF)) == [5, 10, 10]
    assert departures_ms(replaying(5), (0, HALF), (6, FULL)) == [5, 10]


def test_the_rate_holds_until_the_trace_begins() -> None:
    """The trace's times count from the load's start; before that, the mean rate applies."""
    model = Direction.down(Link(rate_bit_s=1_000_000, delay_ns=0, trace=Trace(name="t", times_ms=(10,))), 1)
    model.arrive(0, FULL)
    assert [departure_ns for departure_ns, _ in model.due(20 * MS)] == [12_112_000]
    model.replay(100 * MS)
    assert departures_ms(model, (103, FULL), (103, FULL)) == [110, 120]


def test_toward_the_front() -> None:
    """A trace toward the front delays requests and acknowledgements; without it they leave at once."""
    for trace, ms in ((None, 3), (Trace(name="t", times_ms=(10,)), 10)):
        model = Direction.up(Link(rate_bit_s=None, delay_ns=0, trace_up=trace), 1)
        model.replay(0)
        assert departures_ms(model, (3, HALF)) == [ms]


def test_a_rate_toward_the_front() -> None:
    """With RATE_UP a packet toward the front takes its transmission time, and waits for those before it."""
    link = Link(rate_bit_s=None, delay_ns=0, rate_up_bit_s=8 * 1000 * len(HALF) // 4)
    assert departures_ms(Direction.up(link, 1), (3, HALF), (3, HALF)) == [7, 11]


@given(TIMES, st.lists(st.integers(0, 200), max_size=40).map(sorted))
def test_no_more_than_the_opportunities(times: list[int], arrivals: list[int]) -> None:
    """Each packet leaves at an opportunity, and no opportunity delivers more than a full packet."""
    trace = Trace(name="t", times_ms=tuple(times))
    left = departures_ms(replaying(*times), *((ms, FULL) for ms in arrivals))
    assert len(left) == len(arrivals)
    for came, went in zip(arrivals, left, strict=True):
        assert went >= came
        at_once = trace.opportunities_until(went * MS) - trace.opportunities_until(went * MS - 1)
        assert left.count(went) <= at_once


def test_what_comes_next_is_known() -> None:
    """The time of the next departure is that of the opportunity that the packet will use."""
    model = replaying(5, 9, delay_ns=2 * MS)
    model.arrive(0, FULL)
    assert model.next_ns == 5 * MS
    assert [departure_ns for departure_ns, _ in model.due(5 * MS)] == [5 * MS]
    model.arrive(4 * MS, FULL)
    assert model.next_ns == 9 * MS
