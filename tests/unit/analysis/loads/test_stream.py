"""Tests of the positions of a resource's payload in the TCP stream."""

import pytest

from priolab.analysis.loads.stream import Payload
from priolab.common.formats.events import Event, Kind


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
    """At the end of a TLS record `before` is exact: it counts the resource's payload up to there.

    Payload of other resources and of other loads does not count.
    """
    image = Payload(EVENTS, 1, "image")
    assert [image.before(end) for end in (130, 1160, 2200, 3230)] == [0, 1000, 1500, 2500]
    assert image.before(10**9) == image.size_bytes == 2500


def test_within_a_record_payload_is_spread() -> None:
    """Inside a TLS record `before` takes the payload as spread evenly over the record."""
    image = Payload(EVENTS, 1, "image")
    assert image.before(130 + 515) == 500
    assert image.before(0) == 0


def test_where_a_resource_begins() -> None:
    """A resource begins at the start of the record with its first byte, which is the end of the previous record."""
    assert Payload(EVENTS, 1, "script").first() == 1160
    assert Payload(EVENTS, 1, "page").first() == 0


def test_without_positions_there_is_no_beginning() -> None:
    """Without a known position in the TCP stream, `first` raises ValueError."""
    with pytest.raises(ValueError, match="no payload has a known position"):
        Payload([data("script", 10, None)], 1, "script").first()
