"""Tests of the SPDY engine with a front that breaks the protocol or gives up: only LoadFailed is raised."""

import struct
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.client.load_scheduler import LoadFailed
from priolab.client.spdy.blocks import DICTIONARY
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Steps
from tests.support.spdy_pair import (
    GOAWAY,
    HEADERS,
    IMAGE,
    OK,
    PAGE,
    PING,
    RST_STREAM,
    SCRIPT,
    SETTINGS,
    SYN_REPLY,
    SYN_STREAM,
    WINDOW_UPDATE,
    SpdyPair,
    SpdyServer,
    block,
    control,
    data_frame,
    page_asked,
    resources_asked,
)

NEXT = 7
"""The number of the stream that the client would open next."""


def numbers(*values: int) -> bytes:
    return struct.pack(f"!{len(values)}I", *values)


def test_reset_stream_fails_the_load() -> None:
    """A reset fails the load; the message has resource and code. Frames before the reset have their events."""
    pair = resources_asked()
    server = pair.server
    wire = server.reply(IMAGE) + server.data(IMAGE, b"x" * 100) + control(RST_STREAM, numbers(IMAGE, 6))
    with pytest.raises(LoadFailed, match="reset the stream of image: INTERNAL_ERROR") as failed:
        pair.feed(wire)
    kinds = [event.kind for event in failed.value.events]
    assert kinds == [Kind.HEADERS, Kind.DATA_HEADER, Kind.DATA, Kind.RESET]


def test_a_reply_that_breaks_off_is_told_of() -> None:
    """A SYN_REPLY that ends its stream fails the load if its content-length announces a body.

    The SYN_REPLY has its event.
    """
    pair = resources_asked()
    with pytest.raises(LoadFailed, match="ended after 0 bytes of DATA; its content-length was 5") as failed:
        pair.feed(pair.server.reply(IMAGE, {**OK, "content-length": "5"}, flags=1))
    assert [event.kind for event in failed.value.events] == [Kind.HEADERS]


def test_a_reset_after_the_end_is_nothing() -> None:
    """A RST_STREAM on a stream that has ended is ignored."""
    pair = resources_asked()
    pair.feed(control(RST_STREAM, numbers(PAGE, 5)))
    assert pair.events == []


def test_goaway_with_open_streams_fails_the_load() -> None:
    """A GOAWAY while streams are open fails the load, and is an event nevertheless."""
    with pytest.raises(LoadFailed, match=r"GOAWAY \(INTERNAL_ERROR\)") as failed:
        resources_asked().feed(control(GOAWAY, numbers(0, 2)))
    assert [(event.kind, event.detail) for event in failed.value.events] == [(Kind.GOAWAY, "INTERNAL_ERROR")]


def test_goaway_between_loads() -> None:
    """A GOAWAY after all streams have ended is an event, and the next load fails at once."""
    pair = resources_asked()
    pair.answer(IMAGE)
    pair.answer(SCRIPT)
    pair.feed(control(GOAWAY, numbers(0, 0)))
    assert (pair.events[-1].kind, pair.events[-1].detail) == (Kind.GOAWAY, "OK")
    with pytest.raises(LoadFailed, match="had sent GOAWAY"):
        pair.begin_load()


@pytest.mark.parametrize("status", ["404 Not Found", "502", "204 No Content"])
def test_other_status_fails_the_load(status: str) -> None:
    """Any status other than 200 fails the load; the message has the status."""
    pair = resources_asked()
    with pytest.raises(LoadFailed, match=f"answered image with status {status[:3]}$"):
        pair.feed(pair.server.reply(IMAGE, OK | {":status": status}))


def test_a_server_that_takes_one_at_a_time() -> None:
    """A server that allows one stream delivers the page, but fails the load when image and script are due."""
    pair = page_asked()
    pair.feed(control(SETTINGS, numbers(1, 4, 1)))
    with pytest.raises(LoadFailed, match="allows no more than 1 streams at once") as failed:
        pair.answer(PAGE)
    assert failed.value.events[-1].kind is Kind.ENDED


def packed(fields: bytes) -> Callable[[SpdyServer], bytes]:
    """Returns a function that makes a SYN_REPLY for the page. fields: the header block before compression."""
    return lambda server: control(SYN_REPLY, numbers(PAGE) + server.pack(fields))


def ended(_: SpdyServer) -> bytes:
    deflater = zlib.compressobj(zdict=DICTIONARY)
    return control(SYN_REPLY, numbers(PAGE) + deflater.compress(block(OK)) + deflater.flush())


BREACHES: dict[str, Callable[[SpdyServer], bytes]] = {
    "opened stream 2, but it may not": lambda server: control(
        SYN_STREAM, numbers(2, PAGE) + b"\0\0" + server.pack(block(OK))
    ),
    "SYN_STREAM of 3 bytes": lambda _: control(SYN_STREAM, b"abc"),
    "SYN_REPLY of 3 bytes": lambda _: control(SYN_REPLY, b"abc"),
    "RST_STREAM of 9 bytes": lambda _: control(RST_STREAM, bytes(9)),
    "SETTINGS of 2 bytes": lambda _: control(SETTINGS, b"\0\0"),
    "SETTINGS of 12 bytes, with 2 entries": lambda _: control(SETTINGS, numbers(2, 4, 100)),
    "SETTINGS of 12 bytes, with 4294967295 entries": lambda _: control(SETTINGS, numbers(2**32 - 1, 4, 100)),
    "PING of 8 bytes": lambda _: control(PING, bytes(8)),
    "GOAWAY of 4 bytes": lambda _: control(GOAWAY, bytes(4)),
    "WINDOW_UPDATE of 4 bytes": lambda _: control(WINDOW_UPDATE, bytes(4)),
    "WINDOW_UPDATE of 0 bytes": lambda _: control(WINDOW_UPDATE, numbers(0, 0)),
    "WINDOW_UPDATE on stream 7, which was never": lambda _: control(WINDOW_UPDATE, numbers(NEXT, 1)),
    "RST_STREAM on stream 2, which was never": lambda _: control(RST_STREAM, numbers(2, 1)),
    "SYN_REPLY on stream 7, which was never": lambda server: server.reply(NEXT),
    "HEADERS on stream 0, which was never": lambda server: server.reply(0, kind=HEADERS),
    "DATA on stream 0, which was never": lambda _: data_frame(0, b"x"),
    "DATA on stream 7, which was never": lambda _: data_frame(NEXT, b""),
    "DATA on stream 1 before SYN_REPLY": lambda _: data_frame(PAGE, b"x"),
    "HEADERS before SYN_REPLY on stream 1": lambda server: server.reply(PAGE, kind=HEADERS),
    "second SYN_REPLY on stream 1": lambda server: server.reply(PAGE) + server.reply(PAGE),
    "DATA frame that is compressed": lambda server: server.reply(PAGE) + data_frame(PAGE, b"x", 2),
    "65537 bytes of DATA, but the window of stream 1 allows 65536": lambda server: (
        server.reply(PAGE) + data_frame(PAGE, bytes(65_537))[:8]
    ),
    "control frame of version 2": lambda _: control(PING, bytes(4), version=2),
    "control frame of 16777215 bytes": lambda _: control(HEADERS, b"")[:5] + b"\xff\xff\xff",
    "cannot be unpacked": lambda _: control(SYN_REPLY, numbers(PAGE) + b"no zlib"),
    "cannot be unpacked .*-3": lambda server: server.reply(PAGE, OK)[:-9] + bytes(9),
    "block that ends the zlib stream": ended,
    "block of more than 65536 bytes": packed(block(OK | {"bomb": "x" * 1_000_000})),
    "block that ends too early": lambda _: control(SYN_REPLY, numbers(PAGE)),
    "header block that ends": packed(numbers(2**32 - 1, 7) + b":status" + numbers(3) + b"200"),
    "ends too early": packed(numbers(1, 2**32 - 1)),
    "3 bytes too many": packed(block(OK) + b"abc"),
    "the name ''": packed(block(OK | {"": "x"})),
    "the name 'Server'": packed(block(OK | {"Server": "x"})),
    "the name 'a', which": packed(numbers(2, 1) + b"a" + numbers(0, 1) + b"a" + numbers(0)),
    "without :status": packed(block({":version": "HTTP/1.1"})),
    "without :status or": packed(block(OK | {":status": ""})),
    "or :version": packed(block({":status": "200"})),
    "content-length of '-1'": packed(block(OK | {"content-length": "-1"})),
    "content-length of '999": packed(block(OK | {"content-length": "9" * 5000})),
    "content-length of '¹'": packed(block(OK | {"content-length": "1"}).replace(b"\x011", b"\x01\xb9")),
    "ended after 1 bytes of DATA; its content-length was 2": lambda server: (
        server.reply(PAGE, OK | {"content-length": "2"}) + server.data(PAGE, b"x", end=True)
    ),
}


@pytest.mark.parametrize(("told", "wire"), BREACHES.items(), ids=BREACHES)
def test_a_breach_fails_the_load(told: str, wire: Callable[[SpdyServer], bytes]) -> None:
    """Each breach of the protocol fails the load, and the message names the breach."""
    pair = SpdyPair(window_bytes=65_536)
    pair.begin_load()
    with pytest.raises(LoadFailed, match=f"^the front broke SPDY: .*{told}"):
        pair.feed(wire(pair.server))


def test_nothing_comes_after_the_end() -> None:
    """DATA, a SYN_REPLY or HEADERS on a stream that has ended fail the load."""
    pair = resources_asked()
    server = pair.server
    for late in (data_frame(PAGE, b""), server.reply(PAGE), server.reply(PAGE, {}, kind=HEADERS)):
        with pytest.raises(LoadFailed, match="on stream 1, which has ended"):
            pair.engine.receive(late, 9)


def test_a_parked_stream_stays_parked() -> None:
    """While a probe waits for all response headers, it does not enlarge a stream's window of 1024 bytes.

    A byte beyond the window fails the load.
    """
    pair = SpdyPair(steps=Steps(size_bytes=8192, quiet_ns=1))
    pair.begin_load()
    pair.answer(PAGE)
    pair.feed(pair.server.reply(IMAGE) + data_frame(IMAGE, bytes(1024)))
    with pytest.raises(LoadFailed, match="1 bytes of DATA, but the window of stream 3 allows 0"):
        pair.feed(data_frame(IMAGE, b"x"))


def test_the_sessions_window_binds_too() -> None:
    """DATA within the windows of two streams fails the load if the sum exceeds the session's window."""
    pair = SpdyPair(window_bytes=65_536)
    pair.begin_load()
    pair.answer(PAGE)
    pair.feed(pair.server.reply(IMAGE) + pair.server.reply(SCRIPT))
    wire = data_frame(IMAGE, bytes(30_000)) + data_frame(SCRIPT, bytes(36_000))
    pair.feed(wire[:30_008])
    with pytest.raises(LoadFailed, match="36000 bytes of DATA, but the window of the session allows 35535"):
        pair.feed(wire[30_008:])


ANYTHING = st.binary(max_size=200)
CUTS = st.lists(st.integers(min_value=0, max_value=4000), max_size=12)


def _cut(wire: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    return [wire[start:end] for start, end in pairwise(edges)]


def _survives(pair: SpdyPair, pieces: list[bytes]) -> list[Event]:
    """Returns the events up to the end of the pieces, or up to LoadFailed."""
    events: list[Event] = []
    try:
        for piece in pieces:
            events += pair.engine.receive(piece, 9)
            pair.engine.quiet(9)
    except LoadFailed as failed:
        events += failed.events
    return events


@given(wire=ANYTHING, cuts=CUTS)
def test_no_bytes_raise_anything_else(wire: bytes, cuts: list[int]) -> None:
    """Any bytes are accepted or raise LoadFailed, and no other exception."""
    _survives(page_asked(), _cut(wire, cuts))


@given(
    kind=st.integers(min_value=0, max_value=12),
    flags=st.integers(min_value=0, max_value=255),
    stream_id=st.integers(min_value=0, max_value=9),
    body=st.binary(max_size=40),
    cuts=CUTS,
)
def test_no_frame_raises_anything_else(kind: int, flags: int, stream_id: int, body: bytes, cuts: list[int]) -> None:
    """Any single frame, on any stream, is accepted or raises LoadFailed, and no other exception."""
    for wire in (control(kind, numbers(stream_id) + body, flags), data_frame(stream_id, body, flags)):
        _survives(resources_asked(), _cut(wire, cuts))


@given(
    fields=st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=4),
    tail=st.binary(max_size=6),
    count=st.none() | st.integers(min_value=0, max_value=2**32 - 1),
)
def test_no_block_raises_anything_else(fields: dict[str, str], tail: bytes, count: int | None) -> None:
    """Any header block is accepted or raises LoadFailed, and no other exception."""
    pair = page_asked()
    plain = block(OK | {name: value for name, value in fields.items() if name.isascii() and value.isascii()}) + tail
    if count is not None:
        plain = numbers(count) + plain[4:]
    _survives(pair, [control(SYN_REPLY, numbers(PAGE) + pair.server.pack(plain))])


def _session() -> bytes:
    """Returns all that a server sends in a load: three responses, SETTINGS, WINDOW_UPDATE, PING and GOAWAY."""
    pair = page_asked()
    server = pair.server
    wires = [
        control(SETTINGS, numbers(2, 4, 100, 7, 65_536)) + control(WINDOW_UPDATE, numbers(0, 2**20)),
        server.reply(PAGE, OK | {"content-length": "5", "set-cookie": "a\0b"}) + server.data(PAGE, b"<html", end=True),
        control(PING, numbers(2)) + server.reply(IMAGE) + server.data(IMAGE, bytes(700)),
        server.reply(SCRIPT) + server.data(SCRIPT, bytes(300)) + server.reply(SCRIPT, {"x": "y"}, kind=HEADERS),
        server.data(SCRIPT, bytes(200), end=True) + server.data(IMAGE, b"", end=True),
        control(GOAWAY, numbers(SCRIPT, 0)),
    ]
    for wire in wires:
        pair.feed(wire)
    return b"".join(wires)


SESSION = _session()


@given(cuts=CUTS)
def test_a_session_is_the_same_wherever_it_is_cut(cuts: list[int]) -> None:
    """The events are the same wherever the bytes are cut, except for the number of pieces of DATA."""

    def told(pieces: list[bytes]) -> tuple[list[tuple[Kind, str | None]], int]:
        events = _survives(page_asked(), pieces)
        whole: list[tuple[Kind, str | None]] = [
            (event.kind, event.resource) for event in events if event.kind is not Kind.DATA
        ]
        return whole, sum(event.size_bytes or 0 for event in events if event.kind is Kind.DATA)

    whole, size_bytes = told([SESSION])
    assert (whole[-1][0], size_bytes) == (Kind.GOAWAY, 5 + 700 + 500)
    assert told(_cut(SESSION, cuts)) == (whole, size_bytes)


@given(data=st.data(), cuts=CUTS, steps=st.none() | st.just(Steps(size_bytes=100, quiet_ns=1)))
def test_no_damaged_session_raises_anything_else(data: st.DataObject, cuts: list[int], steps: Steps | None) -> None:
    """A session with changed, missing, added or repeated bytes is accepted or raises LoadFailed, also in a probe."""
    wire = bytearray(SESSION)
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        place = data.draw(st.integers(min_value=0, max_value=len(wire)))
        size = data.draw(st.integers(min_value=0, max_value=12))
        new = data.draw(st.binary(max_size=12) | st.just(bytes(wire[place : place + size]) * 2))
        wire[place : place + size] = new
    _survives(page_asked(steps), _cut(bytes(wire), cuts))


def test_less_than_there_should_be_is_waited_for() -> None:
    """The engine accepts an incomplete session and waits; the transport notices the connection's end."""
    for size in range(len(SESSION)):
        pair = page_asked()
        pair.feed(SESSION[:size])
        assert pair.events[-1].kind is not Kind.GOAWAY
