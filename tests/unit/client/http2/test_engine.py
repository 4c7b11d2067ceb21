"""Tests of the HTTP/2 engine: its requests, and its events for the responses."""

from collections.abc import Iterable
from typing import Any

import pytest
from h2.events import PriorityUpdated, RemoteSettingsChanged, UnknownFrameReceived, WindowUpdated
from h2.settings import SettingCodes

from priolab.client.dialects import parse
from priolab.client.http2.engine import NO_RFC7540_PRIORITIES
from priolab.client.priorities import Priorities
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Steps
from tests.unit.client.pair import IMAGE, OK, PAGE, SCRIPT, Pair


def seen(events: Iterable[Event]) -> list[tuple[Kind, str | None]]:
    return [(event.kind, event.resource) for event in events]


def test_page_first_then_image_and_script(pair: Pair) -> None:
    """The client requests the page alone. When the page is complete, it requests image and script, in this order."""

    def paths() -> list[str]:
        return [dict(event.headers)[b":path"].decode() for event in pair.requests()]

    assert paths() == ["/"]
    pair.server.send_headers(PAGE, OK)
    pair.down()
    assert paths() == ["/"]
    pair.server.send_data(PAGE, b"page", end_stream=True)
    pair.down()
    assert paths() == ["/", "/image.jpg", "/script.js"]


@pytest.mark.parametrize(
    ("priorities", "weights"),
    [
        (Priorities.SPDY, [256, 147, 183]),
        (Priorities.SWAP, [256, 183, 147]),
        (Priorities.NONE, [None, None, None]),
    ],
)
def test_weights_as_the_server_sees_them(priorities: Priorities, weights: list[int | None]) -> None:
    """Page, image and script carry the plan's weights, without exclusive flag and without parent."""
    pair = Pair(priorities)
    pair.begin_load()
    pair.answer(PAGE)
    orders = [event.priority_updated for event in pair.requests()]
    assert [order.weight if order else None for order in orders] == weights
    assert all(not order.exclusive and order.depends_on == 0 for order in orders if order)


def test_events_of_a_load_in_order(pair: Pair) -> None:
    """A load has events from its start to its finish, each with the time at which it was received or sent."""
    pair.answer(PAGE)
    pair.answer(SCRIPT, b"script")
    pair.answer(IMAGE, b"image")
    answered = [Kind.HEADERS, Kind.ENDED]
    assert [kind for kind, name in seen(pair.events) if name == "script" and kind in answered] == answered
    assert pair.events[:2] == [
        Event(t_ns=1, kind=Kind.LOAD_STARTED, load=1),
        Event(t_ns=1, kind=Kind.REQUEST_SENT, load=1, stream_id=PAGE, resource="page", detail="weight=256"),
    ]
    assert seen(pair.events[-5:]) == [
        (Kind.DATA_HEADER, "image"),
        (Kind.DATA, "image"),
        (Kind.HEADERS, "image"),
        (Kind.ENDED, "image"),
        (Kind.LOAD_FINISHED, None),
    ]
    assert [event.t_ns for event in pair.events] == sorted(event.t_ns for event in pair.events)


def test_a_load_ends_with_its_last_stream(resources: Pair) -> None:
    """A load goes on until each of its streams has ended; `unfinished` names the resources of open streams."""
    assert resources.engine.unfinished == ["image", "script"]
    resources.answer(SCRIPT)
    assert resources.engine.loading
    assert resources.engine.unfinished == ["image"]
    resources.answer(IMAGE)
    assert not resources.engine.loading
    assert resources.events[-1].kind == Kind.LOAD_FINISHED


def test_reload_on_the_same_connection() -> None:
    """A second load makes the same requests on the same connection, and its events have the number 2."""
    pair = Pair(reloads=1)
    for first in (1, 7):
        pair.begin_load()
        for stream_id in (first, first + 2, first + 4):
            pair.answer(stream_id)
    starts = [event.load for event in pair.events if event.kind == Kind.LOAD_STARTED]
    ends = [(event.stream_id, event.load) for event in pair.events if event.kind == Kind.ENDED]
    assert starts == [1, 2]
    assert ends == [(1, 1), (3, 1), (5, 1), (7, 2), (9, 2), (11, 2)]


def test_payload_of_an_unfinished_frame_is_reported(resources: Pair) -> None:
    """The first payload byte of a DATA frame is an event of its own, long before the frame is complete."""
    resources.server.send_headers(SCRIPT, OK)
    resources.down()
    resources.server.send_data(SCRIPT, bytes(10_000))
    wire = resources.server.data_to_send()
    resources.events.clear()
    resources.feed(wire[:10])
    first_ns = resources.now_ns
    assert resources.events == [
        Event(t_ns=first_ns, kind=Kind.DATA_HEADER, load=1, stream_id=SCRIPT, resource="script", size_bytes=10_000),
        Event(t_ns=first_ns, kind=Kind.DATA, load=1, stream_id=SCRIPT, resource="script", size_bytes=1),
    ]
    resources.feed(wire[10:])
    assert (resources.events[-1].t_ns, resources.events[-1].size_bytes) == (first_ns + 1, 9_999)


def test_early_hints_are_no_answer(pair: Pair) -> None:
    """An informational response (103) before the final response causes no HEADERS event."""
    pair.server.send_headers(PAGE, [(":status", "103")])
    pair.answer(PAGE)
    assert [event.detail for event in pair.events if event.kind == Kind.HEADERS] == ["200"]


@pytest.mark.parametrize("window_bytes", [65_535, 2**24, 2**31 - 1])
def test_windows_announced(window_bytes: int) -> None:
    """The client sets the plan's window: for each stream by SETTINGS, for the connection by WINDOW_UPDATE."""
    pair = Pair(window_bytes=window_bytes)
    pair.begin_load()
    settings = next(event for event in pair.at_server if isinstance(event, RemoteSettingsChanged))
    offered = {code: change.new_value for code, change in settings.changed_settings.items()}
    assert offered[SettingCodes.INITIAL_WINDOW_SIZE] == window_bytes
    assert offered[SettingCodes.ENABLE_PUSH] == 0
    updates = [(event.stream_id, event.delta) for event in pair.at_server if isinstance(event, WindowUpdated)]
    assert updates == ([(0, window_bytes - 65_535)] if window_bytes > 65_535 else [])
    assert pair.server.local_flow_control_window(PAGE) == window_bytes


@pytest.mark.parametrize("connection_window_bytes", [65_535, 2**25])
def test_a_connection_window_of_its_own(connection_window_bytes: int) -> None:
    """The connection's window may be smaller or larger than that of each stream, which stays as it is."""
    pair = Pair(window_bytes=2**20, connection_window_bytes=connection_window_bytes)
    pair.begin_load()
    assert pair.server.remote_settings.initial_window_size == 2**20
    assert pair.server.outbound_flow_control_window == connection_window_bytes
    assert pair.server.local_flow_control_window(PAGE) == min(2**20, connection_window_bytes)


def test_window_is_given_back() -> None:
    """A response larger than the window arrives whole, because the client enlarges the window as data arrives."""
    pair = Pair(window_bytes=65_535)
    pair.begin_load()
    pair.answer(PAGE)
    pair.server.send_headers(IMAGE, OK)
    left = 1_000_000
    while left:
        size = min(left, pair.server.local_flow_control_window(IMAGE), 16_384)
        assert size > 0
        pair.server.send_data(IMAGE, bytes(size), end_stream=size == left)
        left -= size
        pair.down()
    image = [event.size_bytes or 0 for event in pair.events if seen([event]) == [(Kind.DATA, "image")]]
    assert sum(image) == 1_000_000
    assert pair.engine.unfinished == ["script"]


def places(pair: Pair) -> list[tuple[int | None, bool | None, int | None] | None]:
    """Returns (weight, exclusive, parent) of each request, as the server saw them."""
    orders = [event.priority_updated for event in pair.requests()]
    return [(order.weight, order.exclusive, order.depends_on) if order else None for order in orders]


def moved(pair: Pair) -> list[tuple[int | None, int | None, bool | None, int | None]]:
    """Returns (stream, weight, exclusive, parent) of each PRIORITY frame, as the server saw them."""
    frames = [event for event in pair.at_server if isinstance(event, PriorityUpdated)]
    with_headers = [event.priority_updated for event in pair.requests()]
    return [
        (each.stream_id, each.weight, each.exclusive, each.depends_on) for each in frames if each not in with_headers
    ]


def test_streams_are_moved_when_the_first_byte_is_there() -> None:
    """The client sends PRIORITY frames when a response's first payload byte arrives, and only once in a load.

    Response headers alone do not cause PRIORITY frames.
    """
    pair = Pair(dialect=parse("plain+reprioritize"))
    pair.begin_load()
    pair.answer(PAGE)
    pair.server.send_headers(IMAGE, OK)
    pair.down()
    assert moved(pair) == []
    for _ in range(2):
        pair.server.send_data(IMAGE, b"x")
        pair.down()
        assert moved(pair) == [(SCRIPT, 183, False, 0), (IMAGE, 147, False, 0)]
    told = [(event.resource, event.detail) for event in pair.events if event.kind == Kind.PRIORITY_SENT]
    assert told == [("script", "weight=183"), ("image", "weight=147")]


def test_what_has_ended_is_not_moved() -> None:
    """A stream that has ended gets no PRIORITY frame, while the script's stream still gets one."""
    pair = Pair(dialect=parse("reprioritize"))
    pair.begin_load()
    pair.answer(PAGE)
    pair.answer(IMAGE)
    assert moved(pair) == [(SCRIPT, 183, False, 0)]


def test_the_header_field() -> None:
    """The dialect `header` puts RFC 9218's field into each request, without a weight."""
    pair = Pair(dialect=parse("header"))
    pair.begin_load()
    pair.answer(PAGE)
    assert [dict(event.headers).get(b"priority") for event in pair.requests()] == [b"u=0, i", b"u=5, i", b"u=2"]
    assert places(pair) == [None, None, None]
    details = [event.detail for event in pair.events if event.kind == Kind.REQUEST_SENT]
    assert details == ["priority: u=0, i", "priority: u=5, i", "priority: u=2"]


def test_priority_update_frames() -> None:
    """A PRIORITY_UPDATE frame has type 16, is on stream 0, and has the number of a stream and the field's value."""
    pair = Pair(dialect=parse("update"))
    pair.begin_load()
    pair.answer(PAGE)
    pair.server.send_headers(IMAGE, OK)
    pair.server.send_data(IMAGE, b"x")
    pair.down()
    unknown: list[Any] = [event.frame for event in pair.at_server if isinstance(event, UnknownFrameReceived)]
    assert [(frame.type, frame.stream_id, frame.body) for frame in unknown] == [
        (0x10, 0, b"\0\0\0\5u=2"),
        (0x10, 0, b"\0\0\0\3u=5, i"),
    ]


def test_the_setting_is_in_the_first_settings() -> None:
    """SETTINGS_NO_RFC7540_PRIORITIES is 1 in the first SETTINGS if the dialect has `no7540`, otherwise absent."""
    for text, expected in (("header+no7540", 1), ("header", None)):
        pair = Pair(dialect=parse(text))
        pair.begin_load()
        settings = next(event for event in pair.at_server if isinstance(event, RemoteSettingsChanged))
        change = settings.changed_settings.get(NO_RFC7540_PRIORITIES)
        assert (change.new_value if change else None) == expected


def test_a_probe_opens_its_window_step_by_step() -> None:
    """Image and script wait while the client keeps their windows closed.

    Then the connection's window grows by 8192 bytes in each step, which the server may use for either stream.
    """
    pair = Pair(steps=Steps(size_bytes=8192, quiet_ns=1))
    pair.begin_load()
    pair.answer(PAGE)
    for stream_id in (IMAGE, SCRIPT):
        pair.quiet()
        pair.server.send_headers(stream_id, OK)
        pair.server.send_data(stream_id, bytes(pair.server.local_flow_control_window(stream_id)))
        pair.down()
    windows = [pair.server.local_flow_control_window(stream_id) for stream_id in (IMAGE, SCRIPT)]
    assert windows == [0, 0]
    pair.quiet()
    plug = pair.server.local_flow_control_window(IMAGE)
    assert pair.server.local_flow_control_window(SCRIPT) == 0
    while left := pair.server.local_flow_control_window(IMAGE):
        pair.server.send_data(IMAGE, bytes(min(left, 16_384)))
    pair.quiet()
    pair.down()
    for _ in range(3):
        pair.quiet()
        windows = [pair.server.local_flow_control_window(stream_id) for stream_id in (IMAGE, SCRIPT)]
        assert windows == [8192, 8192]
        pair.server.send_data(SCRIPT, bytes(8192))
        pair.down()
    pair.server.end_stream(SCRIPT)
    pair.down()
    pair.quiet()
    assert pair.server.local_flow_control_window(IMAGE) > 2**28
    opened = [(event.stream_id, event.size_bytes) for event in pair.events if event.kind == Kind.WINDOW_OPENED]
    assert opened[0] == (IMAGE, plug)
    assert [size for stream, size in opened if stream is None][:3] == [8192, 8192, 8192]


def test_a_probe_may_leave() -> None:
    """With leave=True a probe's load ends after the first stream has ended, without the rest of the other response."""
    pair = Pair(steps=Steps(size_bytes=8192, quiet_ns=1, leave=True))
    pair.begin_load()
    pair.answer(PAGE)
    for stream_id in (IMAGE, SCRIPT):
        pair.server.send_headers(stream_id, OK)
    pair.down()
    pair.quiet()
    pair.server.end_stream(IMAGE)
    pair.down()
    assert pair.engine.loading
    pair.quiet()
    assert not pair.engine.loading


@pytest.mark.parametrize("authority", [None, "[::1]:8443"])
def test_the_authority_may_be_another_than_the_name(authority: str | None) -> None:
    """The plan's authority, with a port as in a URL (RFC 9113, 8.3.1), replaces the server's name."""
    pair = Pair(authority=authority)
    pair.begin_load()
    headers = dict(pair.requests()[0].headers or [])
    assert headers[b":authority"].decode() == (authority or "maps.test")


def test_page_loads_do_not_care_for_quiet(resources: Pair) -> None:
    """In a load that is no probe, the client enlarges no window when nothing arrives for a while."""
    assert resources.engine.quiet(9) == []
    assert resources.engine.data_to_send() == b""
