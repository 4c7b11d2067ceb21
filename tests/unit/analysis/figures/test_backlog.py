"""Tests of the data for the timeline's lane of the front's socket, and of the ticks of axes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.figures.backlog import backlog, bends, columns, ticks
from priolab.analysis.records.runs import Layers
from priolab.common.formats.events import Arrival
from priolab.common.formats.samples import QueueSample, SocketSample
from tests.support.builders import MS, page_load, socket_sample

LOAD = page_load([(100, 1000), (400, 1000)], [(500, 1000), (900, 1000)])


def sample(t_ms: int, *, unsent: int = 0, sent: int = 0, again: int = 0, acked: int = 0) -> SocketSample:
    return socket_sample(
        t_ns=t_ms * MS,
        notsent_bytes=unsent,
        cwnd_segments=10,
        bytes_sent=sent + again,
        bytes_retrans=again,
        bytes_acked=acked,
    )


def layers(*sockets: SocketSample, queue: int | None = None, arrived: int | None = None) -> Layers:
    """Returns layers with these samples of the socket, and a queue sample and an arrival at 0 if they are given."""
    held = QueueSample(t_ns=0, direction="down", packets=0, bytes=queue or 0, delay_line_packets=0, dropped=0)
    return Layers(
        sockets=sockets,
        queue=() if queue is None else (held,),
        arrivals=() if arrived is None else (Arrival(t_ns=0, tcp_bytes=arrived),),
    )


def test_the_three_sizes() -> None:
    """Bytes in flight count once, even if retransmitted. Bytes in the bottleneck queue count without packet headers."""
    looks = [sample(t_ms, unsent=7000, sent=50_000, again=1448) for t_ms in range(0, 100, 10)]
    look = backlog(LOAD, layers(*looks, queue=15_140, arrived=20_000), until_s=1)[-1]
    assert look.at_s == 0.09
    assert (look.unsent_bytes, look.in_flight_bytes, look.queue_bytes) == (7000, 30_000, 14_480)


def test_without_arrivals_what_was_acknowledged_counts() -> None:
    """Without arrivals the acknowledged bytes count as arrived; the queue holds at most the bytes in flight."""
    looks = [sample(t_ms, sent=50_000, acked=49_000) for t_ms in range(0, 100, 10)]
    look = backlog(LOAD, layers(*looks, queue=15_140), until_s=1)[-1]
    assert (look.in_flight_bytes, look.queue_bytes) == (1000, 1000)


def test_columns_keep_peaks() -> None:
    """`columns` divides items by position into columns, and returns the largest item of each column, left to right."""
    items = [(0.0, 1), (0.5, 9), (0.9, 2), (2.1, 3), (2.2, 3)]
    assert columns(items, 1.0, lambda item: item[0], lambda item: item[1]) == [(0.5, 9), (2.1, 3)]


@given(st.lists(st.integers(0, 3), max_size=20))
def test_bends_leave_the_line_as_it_is(heights: list[int]) -> None:
    """`bends` omits only points that have the height of the nearest kept points on both sides; it keeps both ends."""
    points = [(float(at), float(height)) for at, height in enumerate(heights)]
    kept = bends(points)
    assert kept[:1] == points[:1]
    assert kept[-1:] == points[-1:]
    for at, height in set(points) - set(kept):
        before = max(point for point in kept if point[0] < at)
        after = min(point for point in kept if point[0] > at)
        assert before[1] == height == after[1]


@pytest.mark.parametrize(
    ("most", "least_step", "expected"),
    [(1348, 300, [500, 1000]), (74, 25, [50]), (1, 0.3, [0.5, 1]), (7, 1.2, [2, 4, 6]), (1.5, 1.2, [1])],
)
def test_ticks_are_round(most: float, least_step: float, expected: list[float]) -> None:
    """Ticks are multiples of a round number: the smallest from `least_step` on, else the largest up to `most`."""
    assert ticks(most, least_step) == expected


@given(st.floats(0.001, 1e9), st.floats(0.01, 1))
def test_ticks_are_within(most: float, part: float) -> None:
    """There is at least one tick. All ticks are above 0 and up to `most`, and `least_step` limits their number."""
    found = ticks(most, most * part)
    assert 0 < found[0] <= found[-1] <= most * (1 + 1e-9)
    assert len(found) <= max(2, 1 / part * (1 + 1e-9))
