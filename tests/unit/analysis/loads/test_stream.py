"""A resource laid over the TCP stream."""

import pytest

from analysis.loads.stream import Payload
from common.formats.events import Event, Kind


def data(resource: str, size_bytes: int, tcp_bytes: int | None, load: int = 1) -> Event:
    return Event(t_ns=1, kind=Kind.DATA, load=load, resource=resource, size_bytes=size_bytes, tcp_bytes=tcp_bytes)


EVENTS = [
    data("page", 100, 130),
    data("image", 1000, 1160),
    data("image", 500, 2200),
    data("script", 480, 2200),
    data("image", 1000, 3230),
    data("image", 7, 3300, load=2),
]


def test_ends_of_records_are_exact() -> None:
    """At a record's end all of it counts, and of other resources and loads nothing."""
    image = Payload(EVENTS, 1, "image")
    assert [image.before(end) for end in (130, 1160, 2200, 3230)] == [0, 1000, 1500, 2500]
    assert image.before(10**9) == image.size_bytes == 2500


def test_within_a_record_payload_is_spread() -> None:
    """Half of the record, half of what it holds."""
    image = Payload(EVENTS, 1, "image")
    assert image.before(130 + 515) == 500
    assert image.before(0) == 0


def test_where_a_resource_begins() -> None:
    """The record that holds its first byte begins where the one before ended."""
    assert Payload(EVENTS, 1, "script").first() == 1160
    assert Payload(EVENTS, 1, "page").first() == 0


def test_without_positions_there_is_no_beginning() -> None:
    """A beginning that no record's position tells is an error."""
    with pytest.raises(ValueError, match="no payload has a known position"):
        Payload([data("script", 10, None)], 1, "script").first()
