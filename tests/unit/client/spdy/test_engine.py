"""Tests of the SPDY engine: its requests, and its events for the responses."""

from collections.abc import Iterable

import pytest

from priolab.client.priorities import Priorities
from priolab.client.records import Record
from priolab.client.session import engine_for
from priolab.client.spdy.engine import SpdyEngine
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Steps
from tests.support.spdy_pair import (
    HEADERS,
    IMAGE,
    OK,
    PAGE,
    PING,
    SCRIPT,
    WINDOW_UPDATE,
    SpdyPair,
    control,
    page_asked,
    resources_asked,
)


def seen(events: Iterable[Event]) -> list[tuple[Kind, str | None]]:
    return [(event.kind, event.resource) for event in events]


def test_a_request() -> None:
    """A request is a SYN_STREAM that ends its stream at once, with the header names of SPDY/3."""
    pair = page_asked()
    (asked,) = pair.server.asked
    assert (asked.stream_id, asked.flags) == (PAGE, 1)
    assert asked.fields == {
        ":method": "GET",
        ":path": "/",
        ":version": "HTTP/1.1",
        ":host": "maps.test",
        ":scheme": "https",
        "user-agent": "priolab",
    }


def test_page_first_then_image_and_script() -> None:
    """The client requests the page alone. When the page is complete, it requests image and script, in this order."""
    pair = page_asked()
    pair.feed(pair.server.reply(PAGE))
    assert [asked.fields[":path"] for asked in pair.server.asked] == ["/"]
    pair.feed(pair.server.data(PAGE, b"page", end=True))
    assert [asked.fields[":path"] for asked in pair.server.asked] == ["/", "/image.jpg", "/script.js"]


@pytest.mark.parametrize(
    ("priorities", "levels"),
    [(Priorities.SPDY, [0, 3, 2]), (Priorities.SWAP, [0, 2, 3]), (Priorities.NONE, [3, 3, 3])],
)
def test_levels_as_the_server_sees_them(priorities: Priorities, levels: list[int]) -> None:
    """Page, image and script have the plan's levels, or equal levels if no order is asked for.

    The events of the requests have the levels, too.
    """
    pair = SpdyPair(priorities)
    pair.begin_load()
    pair.answer(PAGE)
    assert [asked.level for asked in pair.server.asked] == levels
    told = [event.detail for event in pair.events if event.kind is Kind.REQUEST_SENT]
    assert told == [f"priority={level}" for level in levels]


def test_events_of_a_load_in_order() -> None:
    """A load has events from its start to its finish, in order of arrival."""
    pair = page_asked()
    pair.answer(PAGE)
    pair.answer(SCRIPT, b"script")
    pair.answer(IMAGE, b"image")
    assert pair.events[:2] == [
        Event(t_ns=1, kind=Kind.LOAD_STARTED, load=1),
        Event(t_ns=1, kind=Kind.REQUEST_SENT, load=1, stream_id=PAGE, resource="page", detail="priority=0"),
    ]
    assert seen(pair.events[-5:]) == [
        (Kind.HEADERS, "image"),
        (Kind.DATA_HEADER, "image"),
        (Kind.DATA, "image"),
        (Kind.ENDED, "image"),
        (Kind.LOAD_FINISHED, None),
    ]
    assert [event.detail for event in pair.events if event.kind is Kind.HEADERS] == ["200"] * 3
    assert not pair.engine.loading


def test_reload_in_the_same_session() -> None:
    """A second load continues the session's compression, and its events have the number 2."""
    pair = SpdyPair(reloads=1)
    for first in (1, 7):
        pair.begin_load()
        for stream_id in (first, first + 2, first + 4):
            pair.answer(stream_id)
    ends = [(event.stream_id, event.load) for event in pair.events if event.kind is Kind.ENDED]
    assert ends == [(1, 1), (3, 1), (5, 1), (7, 2), (9, 2), (11, 2)]
    assert pair.server.asked[3].fields == pair.server.asked[0].fields


def test_payload_of_an_unfinished_frame_is_reported() -> None:
    """The first payload byte of a DATA frame is an event of its own, with the position of its TLS record."""
    pair = resources_asked()
    pair.feed(pair.server.reply(SCRIPT))
    wire = pair.server.data(SCRIPT, bytes(10_000))
    record = Record(data=b"", end_bytes=77, started_ns=3, received_ns=9)
    header, piece = pair.engine.receive(wire[:9], 9, record)
    assert (header.kind, header.size_bytes, header.tcp_bytes) == (Kind.DATA_HEADER, 10_000, 77)
    assert (piece.kind, piece.size_bytes, piece.tcp_bytes, piece.record_ns) == (Kind.DATA, 1, 77, 3)
    (rest,) = pair.engine.receive(wire[9:], 10)
    assert (rest.t_ns, rest.size_bytes) == (10, 9_999)


def test_a_reply_has_its_place() -> None:
    """The event of the response headers has the position and the time of its TLS record."""
    pair = resources_asked()
    record = Record(data=b"", end_bytes=77, started_ns=3, received_ns=9)
    (event,) = pair.engine.receive(pair.server.reply(SCRIPT), 9, record)
    assert (event.kind, event.tcp_bytes, event.record_ns) == (Kind.HEADERS, 77, 3)


@pytest.mark.parametrize("status", ["200", "200 OK", "200 "])
def test_a_status_may_have_a_reason(status: str) -> None:
    """The number of the status alone counts, with or without a reason phrase."""
    pair = page_asked()
    pair.feed(pair.server.reply(PAGE, OK | {":status": status}))
    assert pair.events[-1].detail == "200"


def test_an_answer_may_end_in_any_way() -> None:
    """A response may end with a DATA frame, even an empty one, with its SYN_REPLY, or with later HEADERS."""
    pair = SpdyPair(reloads=1)
    pair.begin_load()
    server = pair.server
    pair.feed(server.reply(PAGE, flags=1))
    pair.feed(server.reply(IMAGE) + server.data(IMAGE, b"x") + server.data(IMAGE, b"", end=True))
    pair.feed(server.reply(SCRIPT) + server.reply(SCRIPT, {"trailer": "x"}, kind=HEADERS, flags=1))
    assert pair.events[-1].kind is Kind.LOAD_FINISHED


@pytest.mark.parametrize("window_bytes", [65_535, 65_536, 2**24, 2**31 - 1])
def test_windows_announced(window_bytes: int) -> None:
    """The client sets the plan's window: for each stream by SETTINGS, for the session by WINDOW_UPDATE.

    It allows no pushed streams.
    """
    pair = SpdyPair(window_bytes=window_bytes)
    pair.begin_load()
    assert pair.server.settings == {4: 0, 7: window_bytes}
    assert pair.server.window(0) == max(window_bytes, 65_536)
    assert pair.server.window(PAGE) == window_bytes


@pytest.mark.parametrize("connection_window_bytes", [65_536, 2**25])
def test_a_session_window_of_its_own(connection_window_bytes: int) -> None:
    """The session's window may be smaller or larger than that of each stream, which stays as it is."""
    pair = SpdyPair(window_bytes=2**20, connection_window_bytes=connection_window_bytes)
    pair.begin_load()
    assert pair.server.settings == {4: 0, 7: 2**20}
    assert pair.server.window(0) == connection_window_bytes
    assert pair.server.window(PAGE) == min(2**20, connection_window_bytes)


def test_window_is_given_back() -> None:
    """A response larger than the window arrives whole, because the client enlarges the window as data arrives."""
    pair = SpdyPair(window_bytes=65_535)
    pair.begin_load()
    pair.answer(PAGE)
    pair.feed(pair.server.reply(IMAGE))
    left = 1_000_000
    while left:
        size = min(left, pair.server.window(IMAGE), 16_384)
        assert size > 0
        left -= size
        pair.feed(pair.server.data(IMAGE, bytes(size), end=not left))
    assert pair.engine.unfinished == ["script"]


@pytest.mark.parametrize(("promised_bytes", "opened"), [(65_535, [0]), (65_536, [IMAGE, 0])])
def test_no_window_is_opened_for_a_stream_that_may_have_ended(promised_bytes: int, opened: list[int]) -> None:
    """A stream gets no WINDOW_UPDATE if the rest of its response fits into the window.

    The front may have sent the rest and closed the stream, and would answer a WINDOW_UPDATE with a reset.
    """
    pair = SpdyPair(window_bytes=65_535)
    pair.begin_load()
    pair.answer(PAGE)
    pair.feed(pair.server.reply(IMAGE, {**OK, "content-length": str(promised_bytes)}))
    for _ in range(4):
        pair.feed(pair.server.data(IMAGE, bytes(16_000)))
    updated = {int.from_bytes(body[:4]) for kind, body in pair.server.frames if kind == WINDOW_UPDATE}
    assert updated == set(opened)


def test_a_probe_opens_its_window_step_by_step() -> None:
    """Image and script wait while the client keeps their windows closed.

    Then the session's window grows by 8192 bytes in each step, which the server may use for either stream.
    """
    pair = SpdyPair(steps=Steps(size_bytes=8192, quiet_ns=1))
    pair.begin_load()
    server = pair.server
    assert server.window(0) == 65_536
    pair.answer(PAGE, bytes(5000))
    for stream_id in (IMAGE, SCRIPT):
        pair.quiet()
        pair.feed(server.reply(stream_id) + server.data(stream_id, bytes(server.window(stream_id))))
    assert [server.window(stream_id) for stream_id in (IMAGE, SCRIPT)] == [0, 0]
    pair.quiet()
    plug = server.window(IMAGE)
    assert (plug, server.window(SCRIPT)) == (65_536 - 5000 - 2 * 1024, 0)
    pair.feed(server.data(IMAGE, bytes(plug)))
    for _ in range(3):
        pair.quiet()
        assert [server.window(stream_id) for stream_id in (IMAGE, SCRIPT)] == [8192, 8192]
        pair.feed(server.data(SCRIPT, bytes(8192)))
    pair.feed(server.data(SCRIPT, b"", end=True))
    pair.quiet()
    assert server.window(IMAGE) > 2**28
    opened = [(event.stream_id, event.size_bytes) for event in pair.events if event.kind is Kind.WINDOW_OPENED]
    assert opened[0] == (IMAGE, plug)
    assert [size for stream, size in opened if stream is None][:3] == [8192, 8192, 8192]


def test_page_loads_do_not_care_for_quiet() -> None:
    """In a load that is no probe, the client enlarges no window when nothing arrives for a while."""
    pair = resources_asked()
    assert pair.engine.quiet(9) == []
    assert pair.engine.data_to_send() == b""


def test_pings() -> None:
    """The client returns the server's pings, which have even numbers.

    It ignores pings with odd numbers, which could only be answers to pings of the client; it sends none.
    """
    pair = page_asked()
    pair.feed(control(PING, bytes(3) + b"\7"))
    assert PING not in dict(pair.server.frames)
    pair.feed(control(PING, bytes(3) + b"\4"))
    assert dict(pair.server.frames)[PING] == b"\0\0\0\4"


def test_what_is_passed_over() -> None:
    """Unknown frames, WINDOW_UPDATE for data of the client, and HEADERS after the reply are ignored."""
    pair = resources_asked()
    pair.feed(control(0xF000, b"\0\0\0\1x") + control(5, b"") + control(10, b"credential"))
    pair.feed(control(WINDOW_UPDATE, bytes(7) + b"\1") + control(WINDOW_UPDATE, b"\0\0\0\1\0\0\0\1"))
    pair.feed(pair.server.reply(IMAGE) + pair.server.reply(IMAGE, {"x": "1"}, kind=HEADERS))
    assert seen(pair.events) == [(Kind.HEADERS, "image")]


def test_the_plan_chooses_the_engine() -> None:
    """The plan's protocol decides which engine is used."""
    pair = page_asked()
    assert isinstance(engine_for(pair.engine._plan), SpdyEngine)
