"""Tests of the first-byte ladder: the meanings of `first byte`, in order of time.

Each meaning is a rung: PACKET, RECORD (of TLS), HEADER (of the DATA frame), PAYLOAD, FRAME.
"""

from typing import Any

from priolab.analysis.loads.ladder import Rung, ladder
from priolab.analysis.loads.metrics import PageLoad
from priolab.common.formats.events import Event, Kind
from tests.support.builders import MS, evidence, page_load

LOAD: PageLoad = page_load([(100, 1000)], [(500, 1000)])


def event(t_ms: int, kind: str, size_bytes: int | None = None, **more: Any) -> Event:
    return Event(t_ns=t_ms * MS, kind=Kind(kind), load=1, resource="script", size_bytes=size_bytes, **more)


def rungs(*events: Event) -> dict[Rung, int]:
    return {reached.rung: reached.t_ns // MS for reached in ladder(LOAD, evidence([list(events)], []), "script")}


def test_a_frame_in_two_records() -> None:
    """If a frame spans two TLS records, RECORD, HEADER and PAYLOAD have the same time, and FRAME has a later time."""
    found = rungs(
        event(5, "headers"),
        event(30, "data-header", 8192, record_ns=10 * MS),
        event(30, "data", 8000, record_ns=10 * MS),
        event(50, "data", 192, record_ns=30 * MS),
    )
    assert found == {Rung.PACKET: 10, Rung.RECORD: 30, Rung.HEADER: 30, Rung.PAYLOAD: 30, Rung.FRAME: 50}
    assert list(found) == list(Rung)


def test_a_header_in_a_record_of_its_own() -> None:
    """If a frame's header has its own TLS record, PACKET and RECORD are the times of that record."""
    found = rungs(event(20, "data-header", 100, record_ns=19 * MS), event(40, "data", 100, record_ns=25 * MS))
    assert (found[Rung.PACKET], found[Rung.RECORD], found[Rung.PAYLOAD]) == (19, 20, 40)


def test_an_empty_frame_is_passed_over() -> None:
    """An empty DATA frame is skipped, because it has no first byte."""
    found = rungs(event(10, "data-header", 0), event(20, "data-header", 5), event(20, "data", 5))
    assert found[Rung.HEADER] == 20


def test_padding_ends_with_the_next_frame() -> None:
    """A padded frame is complete when the next frame's header arrives.

    The frame's length includes the padding, but the padding has no event.
    """
    found = rungs(event(10, "data-header", 100), event(10, "data", 90), event(25, "data-header", 100))
    assert found[Rung.FRAME] == 25


def test_what_is_not_known_is_left_out() -> None:
    """PACKET is missing without record times, and FRAME if the frame is incomplete. Without DATA no rung is left."""
    assert list(rungs(event(10, "data-header", 100), event(10, "data", 90))) == [
        Rung.RECORD,
        Rung.HEADER,
        Rung.PAYLOAD,
    ]
    assert rungs(event(5, "headers")) == {}
