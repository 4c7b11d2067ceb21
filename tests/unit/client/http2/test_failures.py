"""Tests of the HTTP/2 engine with a front that breaks the protocol or gives up."""

import contextlib

import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hypothesis import given
from hypothesis import strategies as st

from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.events import Event, Kind
from tests.unit.client.pair import IMAGE, PAGE, SCRIPT, Pair


def test_reset_stream_fails_the_load(resources: Pair) -> None:
    """A stream reset by the front fails the load; the message has the resource and the code."""
    resources.server.reset_stream(SCRIPT, ErrorCodes.REFUSED_STREAM)
    with pytest.raises(LoadFailed, match="reset the stream of script: REFUSED_STREAM"):
        resources.down()


def test_goaway_with_open_streams_fails_the_load(resources: Pair) -> None:
    """A GOAWAY while streams are open fails the load, and is an event nevertheless."""
    resources.server.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
    with pytest.raises(LoadFailed, match=r"GOAWAY \(ENHANCE_YOUR_CALM\)") as failed:
        resources.down()
    assert [(event.kind, event.detail) for event in failed.value.events] == [(Kind.GOAWAY, "ENHANCE_YOUR_CALM")]


def test_a_reset_is_written_down_with_what_came_before_it(resources: Pair) -> None:
    """Payload that arrives together with a reset has its events."""
    server = resources.server
    server.send_headers(3, [(":status", "200")])
    server.send_data(3, b"x" * 100)
    server.reset_stream(3, ErrorCodes.INTERNAL_ERROR)
    with pytest.raises(LoadFailed, match="reset the stream of image: INTERNAL_ERROR") as failed:
        resources.engine.receive(server.data_to_send(), 77)
    kinds = [event.kind for event in failed.value.events]
    assert kinds == [Kind.DATA_HEADER, Kind.DATA, Kind.HEADERS, Kind.RESET]
    assert failed.value.events[-1].resource == "image"


def test_goaway_between_loads_is_an_event(resources: Pair) -> None:
    """A GOAWAY after all streams have ended is an event, and no failure."""
    resources.answer(IMAGE)
    resources.answer(SCRIPT)
    resources.server.close_connection()
    resources.events += resources.engine.receive(resources.server.data_to_send(), 99)
    assert resources.events[-1] == Event(t_ns=99, kind=Kind.GOAWAY, load=1, detail="NO_ERROR")


def test_no_load_after_a_goaway() -> None:
    """After a GOAWAY the next load fails, because the front takes no more requests."""
    pair = Pair(reloads=1)
    pair.begin_load()
    for stream_id in (PAGE, IMAGE, SCRIPT):
        pair.answer(stream_id)
    pair.server.close_connection()
    pair.down()
    with pytest.raises(LoadFailed, match=r"the front had sent GOAWAY \(NO_ERROR\)"):
        pair.begin_load()


def test_no_load_where_no_stream_is_allowed() -> None:
    """A load fails if the front's SETTINGS allow no stream."""
    pair = Pair(reloads=1)
    pair.begin_load()
    for stream_id in (PAGE, IMAGE, SCRIPT):
        pair.answer(stream_id)
    pair.server.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 0})
    pair.down()
    with pytest.raises(LoadFailed, match="does not allow a request"):
        pair.begin_load()


def test_too_few_streams_are_allowed() -> None:
    """The load fails if the front does not allow all streams that the page needs at once.

    This is no breach of the protocol.
    """
    pair = Pair()
    pair.server.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 1})
    pair.down()
    pair.begin_load()
    pair.up()
    with pytest.raises(LoadFailed, match="the front does not allow a request: TooManyStreams") as failed:
        pair.answer(PAGE)
    assert failed.value.events[-1].kind is Kind.ENDED


def test_goaway_together_with_the_page() -> None:
    """A GOAWAY together with the page's end fails the load, because image and script can no longer be requested."""
    pair = Pair()
    pair.begin_load()
    pair.server.send_headers(PAGE, [(":status", "200")], end_stream=True)
    pair.server.close_connection()
    with pytest.raises(LoadFailed, match=r"^the front sent GOAWAY \(NO_ERROR\)$") as failed:
        pair.down()
    assert failed.value.events[-1].kind is Kind.ENDED


@pytest.mark.parametrize("status", ["404", "502", "204"])
def test_other_status_fails_the_load(resources: Pair, status: str) -> None:
    """Any status other than 200 fails the load; the message has the status."""
    resources.server.send_headers(IMAGE, [(":status", status)], end_stream=True)
    with pytest.raises(LoadFailed, match=f"answered image with status {status}"):
        resources.down()


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(bytes(9), id="DATA on stream 0"),
        pytest.param(b"\0\0\5\4\0\0\0\0\0" + bytes(5), id="SETTINGS of five bytes"),
        pytest.param(b"\0\0\1\0\x08\0\0\0\1\xff", id="more padding than frame"),
        pytest.param(b"\0\0\3\1\4\0\0\0\1\xff\xff\xff", id="HEADERS that do not decode"),
        pytest.param(b"\0\0\1\0\0\0\0\0\1x", id="DATA before HEADERS"),
    ],
)
def test_garbage_fails_the_load(pair: Pair, garbage: bytes) -> None:
    """Bytes that break HTTP/2 fail the load."""
    pair.down()
    with pytest.raises(LoadFailed, match="the front broke HTTP/2"):
        pair.feed(garbage)


@given(kind=st.integers(min_value=0, max_value=10), flags=st.integers(min_value=0, max_value=255), body=st.binary())
def test_no_frame_raises_anything_else(kind: int, flags: int, body: bytes) -> None:
    """Any frame on the page's stream is accepted or raises LoadFailed, and no other exception."""
    pair = Pair()
    pair.begin_load()
    pair.down()
    wire = len(body).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, PAGE]) + body
    events: list[Event] = []
    with contextlib.suppress(LoadFailed):
        events = pair.engine.receive(wire, 9)
    assert all((event.t_ns, event.load) == (9, 1) for event in events)
