"""Tests of the page as a value: groups of resources, times, and its JSON document."""

import json

import pytest

from priolab.common.formats.page import Chunk, Page
from tests.support.pages import MS, page_of_parts, part


def _page() -> Page:
    """Return a page with four levels: html, then style and script, then data, then tile. `lone` waits for nothing."""
    return page_of_parts(
        part("html", size_bytes=100, delay_ns=10 * MS),
        part("style", after="html", delay_ns=500 * MS),
        part("script", after="html", important=True, delay_ns=20 * MS),
        part("data", after="script", size_bytes=5000, delay_ns=40 * MS),
        part("tile", after="data", delay_ns=80 * MS),
        part("lone", important=True),
    )


def _names(resources: tuple[object, ...]) -> list[str]:
    return [getattr(each, "name", "") for each in resources]


def test_three_groups() -> None:
    """A resource that an important one waits for is a document unless it is important itself.
    `contents` has all resources except the documents.
    """
    page = _page()
    assert _names(page.documents) == ["html"]
    assert _names(page.important) == ["script", "lone"]
    assert _names(page.others) == ["style", "data", "tile"]
    assert _names(page.contents) == ["style", "script", "data", "tile", "lone"]
    assert (page.contents_bytes, page.largest_bytes) == (9000, 5000)


def test_what_comes_before() -> None:
    """`before` returns the chain of resources that a resource waits for, the first request first."""
    page = _page()
    assert [_names(page.before(each)) for each in page.resources] == [
        [],
        ["html"],
        ["html"],
        ["html", "script"],
        ["html", "script", "data"],
        [],
    ]


def test_a_resource_by_its_name() -> None:
    """A page is indexed by names of resources, and an unknown name raises KeyError."""
    assert _page()["data"].size_bytes == 5000
    with pytest.raises(KeyError):
        _page()["nobody"]


def test_the_longest_chain() -> None:
    """The longest time is that of the chain with the largest sum of delays."""
    assert _page().longest_ns == (10 + 500) * MS
    slower = [part("html", delay_ns=471 * MS), *_page().resources[1:]]
    assert page_of_parts(*slower).longest_ns == (471 + 500) * MS
    late = [
        *_page().resources,
        part("end", after="tile", chunks=(Chunk(at_ns=0, size_bytes=1, every_ns=MS, count=401),)),
    ]
    assert page_of_parts(*late).longest_ns == (10 + 20 + 40 + 80 + 400) * MS


def test_a_response_at_once() -> None:
    """A response without chunks has its first and last byte after its delay."""
    resource = part("a", delay_ns=7 * MS)
    assert (resource.first_ns, resource.last_ns, resource.ends_bytes) == (7 * MS, 7 * MS, [])


def test_a_response_in_chunks() -> None:
    """A chunk with a count is written `count` times. `ends_bytes` has the offset in the response after each write."""
    once, more = Chunk(at_ns=30 * MS, size_bytes=7), Chunk(at_ns=50 * MS, size_bytes=40, every_ns=20 * MS, count=3)
    assert (once.total_bytes, once.last_ns, more.total_bytes, more.last_ns) == (7, 30 * MS, 120, 90 * MS)
    resource = part("a", size_bytes=127, chunks=(once, more))
    assert (resource.first_ns, resource.last_ns) == (30 * MS, 90 * MS)
    assert resource.ends_bytes == [7, 47, 87, 127]


def test_the_document() -> None:
    """A page survives the way to JSON and back. Unknown or missing keys are refused."""
    page = page_of_parts(*_page().resources, part("end", chunks=(Chunk(at_ns=1, size_bytes=1000),)))
    document = json.loads(json.dumps(page.as_document()))
    assert Page.from_document(document) == page
    with pytest.raises(TypeError):
        Page.from_document({**document, "resources": [{**document["resources"][0], "colour": 1}]})
    with pytest.raises(KeyError):
        Page.from_document({key: value for key, value in document.items() if key != "parameters"})
