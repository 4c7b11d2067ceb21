"""Tests of the flights in which a kernel sends a page load: window, drops, and what can be read when."""

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.loads.flights import Path, Sender, after_load, flights, progress, read_s

_SEGMENT_S = 0.01


def path(pipe: int = 10, queue: int = 100) -> Path:
    return Path(pipe=pipe, queue=queue, segment_s=_SEGMENT_S, round_trip_s=pipe * _SEGMENT_S)


def test_slow_start_doubles_and_the_link_is_idle_between() -> None:
    """As long as the window is smaller than the pipe, each flight takes a round trip."""
    wide = path(pipe=1000)
    first, second, third = islice(flights(Sender(window=10), wide), 3)
    assert [each.end for each in (first, second, third)] == [10, 30, 70]
    assert second.start_s == pytest.approx(wide.round_trip_s + _SEGMENT_S)
    assert read_s(Sender(window=10), wide, 11) == pytest.approx(second.start_s + _SEGMENT_S)


def test_a_window_that_fills_the_link_keeps_it_busy() -> None:
    """With a window of the pipe or more, everything crosses at the link's rate."""
    sender = Sender(window=20, slow_start_until=20)
    assert read_s(sender, path(), 500) == pytest.approx(500 * _SEGMENT_S, rel=0.01)


def test_a_burst_loses_its_end() -> None:
    """Segments that do not fit into the queue are sent again two flights later, and the next ones wait for them."""
    small = path(pipe=10, queue=9)
    sender = Sender(window=16, slow_start_until=16, after_loss=0.5)
    burst, hidden, shown = islice(flights(sender, small), 3)
    assert (burst.dropped, burst.arrive) == (6, ((0, 10), (16, 16)))
    assert hidden.end - hidden.first == 10
    assert (shown.arrive[0], shown.sender.window) == ((10, 16), (16 + 2) / 2)
    assert read_s(sender, small, 11) == pytest.approx(shown.crosses_s + _SEGMENT_S)
    assert read_s(sender, small, 10) == pytest.approx(10 * _SEGMENT_S)


def test_slow_start_ends_with_a_loss() -> None:
    """Two segments follow each acknowledgement, so half a flight must fit into the queue. Half of the window is left,
    which went on growing until the loss showed.
    """
    sender, largest, dropped = after_load(Sender(window=10, after_loss=0.5), path(pipe=1000, queue=20), 500)
    assert dropped
    assert largest == 120
    assert sender.slow_start_until == 60


def test_cubic_grows_by_the_clock() -> None:
    """Long after a loss, cubic's window has grown more than reno's, and never by more than half in a flight."""
    windows = {}
    for is_cubic in (False, True):
        sender = Sender(window=40, slow_start_until=40, after_loss=0.7, is_cubic=is_cubic, before=57)
        found = [each.sender.window for each in islice(flights(sender, path(queue=10_000)), 20)]
        assert all(before < after <= 1.5 * before for before, after in pairwise(found))
        windows[is_cubic] = found[-1]
    assert windows[True] > 2 * windows[False]


def test_pacing_sends_nothing_at_once() -> None:
    """A paced flight is sent over its time, and drops leave the window as it is."""
    sender = Sender(window=11, slow_start_until=11, is_paced=True)
    assert progress(sender, path(), 0.05).sent == pytest.approx(5)
    assert sender.reduced() == sender


@given(
    st.floats(2, 500),
    st.sampled_from([1.0, 0.7, 0.5]),
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(1, 2000),
    st.booleans(),
)
def test_whatever_the_window(
    window: float,
    after_loss: float,
    pipe: int,
    queue: int,
    segments: int,
    is_paced: bool,  # noqa: FBT001
) -> None:
    """Nothing is read sooner than the link can carry it; more takes no less time; no segment is acknowledged unsent."""
    link, sender = path(pipe, queue), Sender(window=window, after_loss=after_loss, is_paced=is_paced)
    needed_s = read_s(sender, link, segments)
    assert needed_s >= segments * _SEGMENT_S * (1 - 1e-9)
    assert read_s(sender, link, segments + 1) >= needed_s
    now, later = progress(sender, link, needed_s), progress(sender, link, 2 * needed_s)
    assert 0 <= now.acked <= now.sent <= later.sent
    assert now.largest <= later.largest
