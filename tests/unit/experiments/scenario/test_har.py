"""Tests of pages read from a HAR. Chromium and Firefox saved theirs; WebPageTest's is written by its documentation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.errors import ScenarioError
from priolab.common.formats.page import Page
from priolab.common.home import ROOT
from priolab.experiments.scenario.pages import Parameters, read_page

HARS = ROOT / "tests" / "har"
PARAMETERS = Parameters(size_bytes=716_800, script_delay_ns=200 * 10**6)
FILES = ("app-css", "app-js", "photo-jpg", "small-png", "font-woff2", "data-json")
MS = 10**6

Change = Callable[[list[Any]], None]


def read(path: Path) -> Page:
    return read_page(path, PARAMETERS)


def changed(folder: Path, change: Change, name: str = "webpagetest") -> Page:
    """Return the page of a HAR whose entries were changed."""
    content = json.loads((HARS / f"{name}.har").read_text())
    change(content["log"]["entries"])
    file = folder / "site.har"
    file.write_text(json.dumps(content))
    return read(file)


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_sizes(browser: str) -> None:
    """A resource has the bytes that came, as the server declared them; the browsers' own sizes count header fields."""
    page = read(HARS / f"{browser}.har")
    sizes = (259, 21_153, 30_002, 137_687, 68, 15_000, 5_008)
    assert {each.name: each.size_bytes for each in page.resources} == dict(zip(("page", *FILES), sizes, strict=True))
    assert page["photo-jpg"].content_type == "image/jpeg"
    assert page["small-png"].content_type == "application/octet-stream", "no JPEG has 68 bytes"
    assert page["app-js"].delay_ns >= 190 * MS, "the server held it back for 200 ms"
    assert page["data-json"].delay_ns >= 110 * MS, "for 120 ms"
    assert max(page[name].delay_ns for name in ("page", "app-js")) == page["app-js"].delay_ns


def test_priorities_of_chromium() -> None:
    """The field `priority` counts. The script's request has none, so it has the default."""
    page = read(HARS / "chromium.har")
    told = {each.name: (each.urgency, each.incremental) for each in page.resources}
    assert told == {
        "page": (0, True),
        "app-css": (0, False),
        "app-js": (3, False),
        "photo-jpg": (2, True),
        "small-png": (2, True),
        "font-woff2": (0, False),
        "data-json": (1, True),
    }
    assert [each.name for each in page.important] == ["app-css", "font-woff2"]
    assert page["font-woff2"].after == "app-css"
    assert {each.after for each in page.resources} == {None, "page", "app-css"}


def test_priorities_of_firefox() -> None:
    """Firefox does not say what caused a request, and the page says so once."""
    page = read(HARS / "firefox.har")
    assert [each.urgency for each in page.resources] == [0, 2, 3, 5, 5, 3, 4]
    assert [each.name for each in page.important] == ["app-css"]
    assert {each.after for each in page.resources} == {None, "page"}
    assert sum("does not say what caused 6 requests" in note for note in page.notes) == 1


def test_webpagetest() -> None:
    """WebPageTest records words, weights, and what blocks rendering."""
    page = read(HARS / "webpagetest.har")
    assert [(each.name, each.urgency, each.weight) for each in page.resources] == [
        ("page", 0, 256),
        ("app-css", 0, 256),
        ("hero-webp", 3, 147),
        ("font-woff2", 1, 220),
    ]
    assert [each.name for each in page.important] == ["app-css"]
    assert page["font-woff2"].after == "app-css"
    assert page["font-woff2"].wait_ns == 150 * MS
    assert page["page"].delay_ns == 200 * MS
    assert any("2 hosts" in note for note in page.notes)
    assert "left out: 1 without a body" in page.notes


def _same_urgency(entries: list[Any]) -> None:
    for each in entries:
        each["_priority"] = "High"
        each.pop("_renderBlocking", None)


def test_nothing_is_more_urgent(tmp_path: Path) -> None:
    """If no resource is more urgent than others, none is important, and goodput is the answer."""
    page = changed(tmp_path, _same_urgency)
    assert not page.is_judged
    assert any("none is important" in note for note in page.notes)


def test_without_priorities(tmp_path: Path) -> None:
    """Without a priority on record a resource has the default, and the page says so once."""

    def forget(entries: list[Any]) -> None:
        for each in entries:
            each.pop("_priority", None)
            each.pop("_http2_stream_weight", None)

    page = changed(tmp_path, forget)
    assert {each.urgency for each in page.resources} == {3}
    assert sum("no priority of 4 resources" in note for note in page.notes) == 1


def test_many_resources(tmp_path: Path) -> None:
    """The first hundred resources are used, and their names are unique."""
    page = changed(tmp_path, lambda entries: entries.extend(entries * 30))
    assert len(page.resources) == 100
    assert any("24 after the first 100 resources" in note for note in page.notes)


def test_a_small_document() -> None:
    """HTML without room for the tags of its resources is served as XHTML, which only the lab's own client loads."""
    page = read(HARS / "chromium.har")
    assert page["page"].content_type == "application/xhtml+xml"
    assert any("1 documents are too small" in note for note in page.notes)
    assert read(HARS / "webpagetest.har")["page"].content_type == "text/html"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a HAR that can be read"),
        ("[]", "a HAR that can be read"),
        ('{"log": {"entries": 3}}', "a HAR that can be read"),
        ('{"log": {"entries": []}}', "at least one response that has a body"),
        ('{"log": {"entries": [{"startedDateTime": "yesterday"}]}}', "entry 1: request=nothing is not allowed"),
    ],
)
def test_no_har(tmp_path: Path, text: str, words: str) -> None:
    """An error names the file, and what is allowed."""
    file = tmp_path / "site.har"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=words):
        read(file)


_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
)
_PLACES = (
    ("startedDateTime",),
    ("time",),
    ("_priority",),
    ("_initiator",),
    ("_http2_stream_weight",),
    ("pageref",),
    ("_fromCache",),
    ("_fetchType",),
    ("_renderBlocking",),
    ("cache",),
    ("timings",),
    ("timings", "wait"),
    ("request",),
    ("request", "method"),
    ("request", "headers"),
    ("response",),
    ("response", "headers"),
    ("response", "content"),
    ("response", "_transferSize"),
    ("request", "url"),
    ("response", "status"),
    ("response", "bodySize"),
    ("response", "content", "size"),
    ("response", "content", "mimeType"),
)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(_PLACES), _ODD), min_size=1, max_size=6))
def test_odd_values(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, tuple[str, ...], Any]]) -> None:
    """Whatever stands in a HAR, it is a page or an error of one line."""

    def change(entries: list[Any]) -> None:
        for at, (*place, last), value in changes:
            table = entries[at]
            for key in place:
                table = table[key] if isinstance(table.get(key), dict) else table.setdefault(f"not-{key}", {})
            table[last] = value

    try:
        page = changed(tmp_path_factory.mktemp("odd"), change)
    except ScenarioError as error:
        words = str(error)
    else:
        words = " ".join(page.notes)
        assert len({each.name for each in page.resources}) == len(page.resources) > 0
    assert words.isprintable()
