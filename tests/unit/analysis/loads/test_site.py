"""Tests of the ledger of a load of which only the client's log exists."""

from dataclasses import replace

import pytest

from priolab.analysis.loads.site import SiteLedger, alone_ns, one_after_the_other, site_ledger, site_loads
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.reading import FolderError

MS = 10**6
IMAGE = Resource(name="image", path="/i.jpg", content_type="image/jpeg", size_bytes=1, weight=16)
SCRIPT = replace(IMAGE, name="script", path="/s.js", content_type="text/javascript", important=True)
PAGE = Page(name="p", title="P", resources=(IMAGE, SCRIPT))
ALONE = {"image": 20 * MS, "script": 100 * MS}


def _event(ms: float, kind: Kind, resource: str | None = None, size: int | None = None, begun: float = 0) -> Event:
    record_ns = round(begun * MS) if begun else None
    return Event(t_ns=round(ms * MS), kind=kind, load=1, resource=resource, size_bytes=size, record_ns=record_ns)


LOAD = [
    _event(1000, Kind.LOAD_STARTED),
    _event(1000, Kind.REQUEST_SENT, "image"),
    _event(1001, Kind.REQUEST_SENT, "script"),
    _event(1020, Kind.HEADERS, "image"),
    _event(1020, Kind.DATA, "image", 500),
    _event(1090, Kind.DATA, "image", 700),
    _event(1150, Kind.DATA, "image", 900),
    _event(1160, Kind.HEADERS, "script"),
    _event(1300, Kind.DATA, "script", 400, begun=1290),
    _event(1400, Kind.DATA, "image", 300),
    _event(1401, Kind.LOAD_FINISHED),
]


def _ledger(events: list[Event], round_trip_ms: int = 20) -> SiteLedger:
    (load,) = site_loads(events, PAGE, ALONE, 10 * MS)
    return site_ledger(load, events, ALONE, round_trip_ms * MS)


def test_parts_add_up() -> None:
    """The wait is the time alone, the wait behind other bytes, and the time of the TLS record."""
    ledger = _ledger(LOAD)
    assert ledger.wait_ns == 299 * MS
    assert (ledger.alone_ns, ledger.behind_ns, ledger.record_ns) == (100 * MS, 189 * MS, 10 * MS)


def test_bytes_of_the_others() -> None:
    """Bytes within a round trip were on their way; bytes after the script could have come were sent too early."""
    ledger = _ledger(LOAD)
    assert (ledger.on_their_way_bytes, ledger.too_early_bytes) == (500, 900)
    assert _ledger(LOAD, round_trip_ms=5).on_their_way_bytes == 0


def test_sizes_are_those_that_arrived() -> None:
    """Each resource of the load has the size that arrived, and is available when its time alone has passed."""
    (load,) = site_loads(LOAD, PAGE, ALONE, 10 * MS)
    assert [each.size_bytes for each in load.page.resources] == [2400, 400]
    assert load.resources["script"].available_ns == 1091 * MS
    assert load.resources["image"].available_ns == 1010 * MS
    assert load.focal.name == "script"


def test_faster_than_alone() -> None:
    """A resource that a cache had is available at its first byte, and its wait behind others is negative."""
    events = [replace(each, t_ns=1050 * MS) if each.resource == "script" and each.size_bytes else each for each in LOAD]
    events = [replace(each, record_ns=None) for each in events]
    (load,) = site_loads(events, PAGE, ALONE, 10 * MS)
    assert load.resources["script"].available_ns == 1050 * MS
    ledger = site_ledger(load, events, ALONE, 20 * MS)
    assert ledger.behind_ns == -51 * MS
    assert ledger.too_early_bytes == 0


def test_an_empty_response() -> None:
    """A resource without content has no first byte, and the error names its path."""
    with pytest.raises(FolderError, match=r"^/s\.js has no content"):
        site_loads([each for each in LOAD if each.resource != "script"], PAGE, ALONE, 0)


def test_alone() -> None:
    """Each resource waits until the one before it is complete; its time runs from its request to its first byte."""
    assert [each.after for each in one_after_the_other(PAGE).resources] == [None, "image"]
    assert alone_ns(LOAD) == {"image": 20 * MS, "script": 299 * MS}
