"""Tests of the metrics of a page load."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.loads.metrics import PageLoad, page_loads
from priolab.analysis.records.rate import Rate
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import LoadRecord, ResourceRecord
from priolab.common.packets import framed
from tests.support.builders import MS, evidence, load_events, load_of, page_load, resource, script_request

IMAGE = [(100, 400), (300, 400), (900, 200)]
SCRIPT = [(300, 10), (700, 90)]


def test_only_complete_loads_count() -> None:
    """A load without an end is left out, and so are events before the first load."""
    loads = [load_events(1, 0, IMAGE, SCRIPT), load_events(2, 1000, IMAGE, SCRIPT, finished=False)]
    found = page_loads(evidence(loads, [script_request(60, 250), script_request(1060, 1250)]))
    assert [load.number for load in found] == [1]


def test_each_load_has_its_own_script_request() -> None:
    """A load's time of availability comes from the request that the origin received during this load."""
    loads = [load_events(1, 0, IMAGE, SCRIPT), load_events(2, 2000, IMAGE, SCRIPT)]
    found = page_loads(evidence(loads, [script_request(2060, 2275), script_request(60, 250)]))
    assert [load.ms(load.focal.available_ns) for load in found] == [250, 275]
    assert [load.started_ns for load in found] == [0, 2000 * MS]


def test_a_request_given_up_is_not_the_scripts() -> None:
    """A request that the origin never answered does not count for the script's availability."""
    loads = [load_events(1, 0, IMAGE, SCRIPT)]
    found = page_loads(evidence(loads, [script_request(55, None), script_request(60, 250)]))
    assert found[0].focal.available_ns == 250 * MS


def test_a_front_that_asks_for_another_path() -> None:
    """The error names the path that the origin was not asked for, those that it was asked for, and the front's duty."""
    honest = evidence([load_events(1, 0, IMAGE, SCRIPT)], [script_request(60, 250)])
    others = tuple(replace(script_request(60, 250), path=path) for path in ("/", "/", "/a?b", "/c", "/d"))
    for requests, has in ((others, "/, /a?b, /c"), ((), "no request")):
        with pytest.raises(FolderError) as caught:
            page_loads(replace(honest, requests=requests))
        lack = f"load 1 lacks a request for {'/image.jpg' if requests else '/'} in the origin's log, which has {has}"
        assert str(caught.value).endswith(f"{lack}: a front must ask the origin for each request's path and query")


def test_first_byte_is_payload() -> None:
    """The first byte is the first byte of DATA payload, not of HEADERS or of a frame's header."""
    load = page_loads(evidence([load_events(1, 0, IMAGE, SCRIPT)], [script_request(60, 250)]))[0]
    image, script = load.resources["image"], load.resources["script"]
    assert load.focal is script
    assert script.headers_ns == 60 * MS
    assert script.first_byte_ns == 300 * MS
    assert script.last_byte_ns == 700 * MS
    assert (image.size_bytes, script.size_bytes) == (1000, 100)
    assert image.requested_ns == 50 * MS


def test_bytes_at_an_instant() -> None:
    """`bytes_before` excludes the bytes at the instant itself, `bytes_until` includes them."""
    image = resource(IMAGE).traffic
    assert [image.bytes_before(t_ms * MS) for t_ms in (100, 101, 300, 901)] == [0, 400, 400, 1000]
    assert [image.bytes_until(t_ms * MS) for t_ms in (99, 100, 300, 900)] == [0, 400, 800, 1000]


@given(
    st.lists(st.tuples(st.integers(min_value=0, max_value=50), st.integers(min_value=1, max_value=9)), min_size=1),
    st.integers(min_value=-1, max_value=51),
)
def test_bytes_are_counted_like_one_by_one(pieces: list[tuple[int, int]], t_ms: int) -> None:
    """Bytes before and until an instant equal the sum over all pieces, also if several pieces arrive together."""
    ordered = sorted(pieces)
    times = resource(ordered).traffic
    assert times.bytes_before(t_ms * MS) == sum(size for at_ms, size in ordered if at_ms < t_ms)
    assert times.bytes_until(t_ms * MS) == sum(size for at_ms, size in ordered if at_ms <= t_ms)


def test_image_bytes_before_and_during_the_script() -> None:
    """Image bytes that arrive together with the script's first byte count as `during`, not as `before`."""
    load = page_load(IMAGE, SCRIPT)
    assert load.other_bytes_before == 400
    assert load.other_bytes_during == 400


def times(
    available_ms: float,
    headers_ms: float,
    first_ms: float,
    last_ms: float,
    *,
    size_bytes: int,
    important: bool = False,
    goodput_bit_s: int | None = None,
) -> ResourceRecord:
    return ResourceRecord(
        available_ms=available_ms,
        headers_ms=headers_ms,
        first_byte_ms=first_ms,
        last_byte_ms=last_ms,
        size_bytes=size_bytes,
        important=important,
        goodput_bit_s=goodput_bit_s,
    )


def test_record() -> None:
    """run.json has times in milliseconds since the page's request, and sizes in bytes."""
    loads = [load_events(1, 500, IMAGE, SCRIPT)]
    load = page_loads(evidence(loads, [script_request(560, 750)]))[0]
    assert load.as_record() == LoadRecord(
        load=1,
        resources={
            "page": times(1e-6, 40, 45, 45, size_bytes=558),
            "image": times(50.000001, 60, 100, 900, size_bytes=1000, goodput_bit_s=6000),
            "script": times(250, 60, 300, 700, size_bytes=100, important=True, goodput_bit_s=1800),
        },
        focal="script",
        available_ms=250,
        first_byte_ms=300,
        important_last_byte_ms=700,
        others_first_byte_ms=100,
        others_last_byte_ms=900,
        other_bytes_before=400,
        other_bytes_during=400,
    )


def test_no_goodput_is_above_the_links_rate() -> None:
    """What waited for a lost packet becomes readable at once: its goodput is what the link can carry.

    The script's 100,000 bytes come within 10 ms, after 1,000 bytes at 300 ms. The link carries 1 Mbit/s.
    """
    script = Resource(name="script", path="/s", size_bytes=101_000, content_type="text/plain", urgency=1, weight=16)
    page = Page(name="one", title="", resources=(script,))
    load = load_of(page, {"script": [(300, 1000), (305, 50_000), (310, 50_000)]}, {"script": 0})
    assert _goodput(load) == 80_000_000
    rate = Rate(pieces=((-(2**63), 1_000_000),))
    assert _goodput(replace(load, rate=rate)) == round(1_000_000 / framed(1))
    slow = load_of(page, {"script": [(300, 1000), (2300, 100_000)]}, {"script": 0})
    assert _goodput(slow) == _goodput(replace(slow, rate=rate)) == 400_000


def _goodput(load: PageLoad) -> int | None:
    return load.as_record().resources["script"].goodput_bit_s
