"""Tests of the waits for the client's windows, on a connection where all times and positions are known."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from h2.windows import WindowManager

from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.loads.flow_control import Http2Rule, Waiting, Windows, receive_window, windows_of
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger_builder import ledger
from priolab.analysis.loads.metrics import page_loads
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Protocol
from priolab.common.formats.samples import SocketSample
from priolab.common.formats.scenario import ClientKind
from tests.support.builders import MS, socket_sample
from tests.unit.analysis.loads.known_load import AVAILABLE_MS, HANDED_MS, SCENARIO, evidence, layers

_WINDOW = 65_535
_UP_MS, _CAME_MS = 10, 100


def _frame(t_ms: int, stream_id: int, size_bytes: int, tcp_bytes: int) -> list[Event]:
    both = [
        Event(t_ns=t_ms * MS, kind=kind, load=1, stream_id=stream_id, size_bytes=size_bytes, tcp_bytes=tcp_bytes)
        for kind in (Kind.DATA_HEADER, Kind.DATA)
    ]
    return [replace(both[0], size_bytes=size_bytes), both[1]]


def _sample(t_ms: int, handed: int, unsent: int = 0) -> SocketSample:
    return socket_sample(t_ns=t_ms * MS, bytes_sent=handed - unsent, notsent_bytes=unsent, sndbuf_bytes=10**6)


def test_the_connection_may_have_another_window() -> None:
    """A smaller window of the connection holds what each stream's would let pass, and is enlarged by its own rule."""
    events = [*_frame(_CAME_MS, 1, _WINDOW, 70_000), *_frame(_CAME_MS + 50, 3, 100, 71_000)]
    windows = Windows(events, Protocol.HTTP2, 2**20, 0, whole_bytes=_WINDOW)
    assert windows.hold(70_000, _CAME_MS * MS - 1, 70_001)
    assert not windows.hold(70_000, _CAME_MS * MS, 70_001)
    assert not Windows(events, Protocol.HTTP2, 2**20, 0).hold(70_000, 0, 70_001)


@pytest.mark.parametrize("size_bytes", [1000, 16_384, 65_535, 262_144])
def test_the_rule_is_that_of_the_library(size_bytes: int) -> None:
    """Whatever sizes arrive, a window is enlarged when h2 enlarges it, and by as much."""
    chance, rule, manager = random.Random(size_bytes), Http2Rule(size_bytes), WindowManager(size_bytes)
    for _ in range(500):
        came = chance.choice([1, 100, 9000, manager.current_window_size])
        came = min(came, manager.current_window_size)
        manager.window_consumed(came)
        assert rule.take(came) == (manager.process_bytes(came) or 0)


def test_a_window_is_used_up_until_more_is_at_the_front() -> None:
    """The front may send a window; what the client then allows counts from when it is at the front."""
    events = [*_frame(_CAME_MS, 1, _WINDOW, 70_000), *_frame(_CAME_MS + 50, 3, 100, 71_000)]
    windows = Windows(events, Protocol.HTTP2, _WINDOW, _UP_MS * MS)
    more_ns = (_CAME_MS + _UP_MS) * MS
    assert not windows.hold(0, 0, 70_001)
    assert windows.hold(70_000, more_ns - 1, 70_001)
    assert not windows.hold(70_000, more_ns, 70_001)


def test_a_stream_that_is_ahead_may_be_what_is_held() -> None:
    """If each stream ahead has used up its own window, the front waits, although the connection's has room."""
    size = 16_384
    events = [*_frame(_CAME_MS, 1, size, 20_000), *_frame(_CAME_MS + 40, 1, size, 40_000), *_frame(180, 3, 9, 40_100)]
    windows = Windows(events, Protocol.HTTP2, size, 0)
    assert windows.hold(20_000, (_CAME_MS - 1) * MS, 40_001)
    assert not windows.hold(20_000, (_CAME_MS - 1) * MS, 20_001)  # no stream is ahead
    assert not windows.hold(20_000, _CAME_MS * MS, 40_001)


def test_padding_counts() -> None:
    """A frame's length counts, although less of it is payload."""
    header, piece = _frame(_CAME_MS, 1, _WINDOW, 70_000)
    ended = Event(t_ns=_CAME_MS * MS, kind=Kind.ENDED, load=1, stream_id=1)
    windows = Windows([header, replace(piece, size_bytes=9), ended], Protocol.HTTP2, _WINDOW, 0)
    assert not windows.hold(70_000, _CAME_MS * MS, 70_001)


@pytest.mark.parametrize(("unsent", "held_ms"), [(0, (75, 80, 85)), (20_000, (0, 0, 0))])
def test_the_wait_for_a_window(unsent: int, held_ms: Sequence[int]) -> None:
    """It lasts from when the window was used up until more is there, unless the kernel accepts nothing anyway."""
    events = [*_frame(_CAME_MS, 1, _WINDOW, 70_000), *_frame(_CAME_MS + 50, 3, 100, 71_000)]
    windows = Windows(events, Protocol.HTTP2, _WINDOW, _UP_MS * MS)
    sockets = [_sample(t_ms, 70_000 if t_ms >= 30 else 0, unsent) for t_ms in range(0, 300, 10)]
    waiting = Waiting(sockets=sockets, position=70_001, lowat_bytes=16_384)
    found = waiting.held(windows, 0, Estimate.exact(120 * MS))
    assert held_ms[0] * MS <= found.least_ns <= found.ns <= found.most_ns <= (held_ms[2] + 10) * MS
    assert abs(found.ns - held_ms[1] * MS) <= found.uncertainty_ns <= 5 * MS


def test_a_wait_for_a_window_is_a_layer_of_its_own() -> None:
    """In the ledger the wait for the window is not in the front's output queue, and the parts still add up."""
    known = evidence()
    page = [event for event in known.events if event.resource != "image"]
    (first, second) = [event for event in known.events if (event.kind, event.resource) == ("data", "image")]
    early = [replace(first, kind=Kind.DATA_HEADER, stream_id=3), replace(first, stream_id=3)]
    late = [replace(second, kind=Kind.DATA_HEADER, stream_id=3), replace(second, stream_id=3)]
    rest = [event for event in known.events if event.resource == "image" and event.kind != "data"]
    events = sorted([*page, *rest, *early, *late], key=lambda event: event.t_ns)
    logs = replace(known, events=tuple(events))
    scenario = replace(SCENARIO, window_bytes=500)
    found = ledger(page_loads(logs)[0], logs, layers(), scenario)
    # The image is ahead, and its stream's window is used up until its first record is at the client.
    assert found.parts[Layer.FLOW] == pytest.approx((HANDED_MS - AVAILABLE_MS) * MS, abs=5 * MS)
    assert found.parts[Layer.PENDING] + found.parts[Layer.COMMITTED] <= 5 * MS
    assert sum(found.parts.values()) == found.wait_ns


def test_large_windows_are_not_followed() -> None:
    """Windows that the page cannot use up, and those of browsers, whose rules are not known, give no layer."""
    assert windows_of(evidence(), replace(SCENARIO, window_bytes=2**24)) is None
    assert windows_of(evidence(), replace(SCENARIO, window_bytes=_WINDOW)) is not None
    assert windows_of(evidence(), replace(SCENARIO, window_bytes=2**24, connection_window_bytes=_WINDOW)) is not None
    assert windows_of(evidence(), replace(SCENARIO, window_bytes=_WINDOW, client=ClientKind.CHROMIUM)) is None


def test_the_receive_window() -> None:
    """The time in which TCP's window was the limit is known from the samples around both ends of the wait."""
    sockets = [replace(_sample(t_ms, 0), rwnd_limited_us=max(0, t_ms - 50) * 1000) for t_ms in range(0, 300, 10)]
    handed, sent = Estimate.between(35 * MS, 45 * MS), Estimate.between(95 * MS, 105 * MS)
    found = receive_window(sockets, handed, sent)
    assert found.least_ns <= 50 * MS <= found.most_ns
    assert found.uncertainty_ns <= 20 * MS
    assert receive_window([replace(each, rwnd_limited_us=0) for each in sockets], handed, sent).most_ns == 0
