"""Tests of HARs as browsers, proxies and tools write them."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from priolab.common.errors import ScenarioError
from priolab.common.formats.page import Page, Resource
from priolab.experiments.scenario.pages import Parameters, page_of, read_page
from tests.unit.experiments.scenario.har_writers import NOISE, WRITERS, Drawn, drawn_pages

PARAMETERS = Parameters(size_bytes=716_800, script_delay_ns=200 * 10**6)
MS = 10**6
SITE = "https://site.test"

Table = dict[str, Any]


def entry(at_ms: int = 0, path: str = "/", **more: Any) -> Table:
    """Return an entry of 2,000 bytes that took 20 ms. more: its fields, and those of request, response and timings."""
    second, ms = divmod(at_ms, 1000)
    table: Table = {
        "startedDateTime": f"2024-05-01T{10 + second // 3600}:{second // 60 % 60:02}:{second % 60:02}.{ms:03}Z",
        "time": 20,
        "request": {"method": "GET", "url": path if ":" in path else SITE + path, "headers": []},
        "response": {"status": 200, "content": {"size": 6000, "mimeType": "text/html"}, "bodySize": 2000},
        "timings": {"wait": 5},
    }
    for key, value in more.items():
        table[key] = {**table[key], **value} if isinstance(value, dict) and key in table else value
    return table


def style(at_ms: int = 100, path: str = "/a.css", **more: Any) -> Table:
    """Return an entry of a style sheet of 1,000 bytes."""
    answer = {"status": 200, "content": {"size": 1500, "mimeType": "text/css"}, "bodySize": 1000}
    return entry(at_ms, path, **{**more, "response": {**answer, **more.get("response", {})}})


def page_of_entries(folder: Path, *entries: Any, key: str = "", pages: Any = ()) -> Page:
    """Return the page that is read from a HAR with these entries."""
    file = folder / "site.har"
    file.write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
    return page_of(f"{file}{key}", PARAMETERS)


def names(page: Page) -> list[str]:
    return [each.name for each in page.resources]


def told(page: Page, word: str = "left out") -> str:
    """Return the page's one note with a word; empty without one."""
    found = [note for note in page.notes if word in note]
    assert len(found) <= 1
    return found[0] if found else ""


def as_read(page: Page) -> list[tuple[Any, ...]]:
    def key(each: Resource) -> tuple[Any, ...]:
        times = (each.delay_ns, each.after, each.wait_ns)
        return (each.name, each.path, each.content_type, each.size_bytes, *times, each.urgency, each.incremental)

    return [(*key(each), each.important) for each in page.resources]


def read(folder: Path, content: bytes) -> Page:
    file = folder / "site.har"
    file.write_bytes(content)
    return read_page(file, PARAMETERS)


@given(drawn_pages(), NOISE)
def test_six_writers(tmp_path_factory: pytest.TempPathFactory, drawn: list[Drawn], noise: list[str]) -> None:
    """Whoever writes a page, it is read as the same page; what else was recorded is counted in one note."""
    folder = tmp_path_factory.mktemp("written")
    pages = {}
    for name, write in WRITERS.items():
        content, others = write(drawn, noise)
        pages[name] = read(folder, content)
        assert sum(map(int, re.findall(r"(?<![#\w])\d+(?= )", told(pages[name])))) == others, name
    first = as_read(pages["chromium"])
    assert {name: as_read(page) for name, page in pages.items()} == dict.fromkeys(WRITERS, first)
    assert [each.size_bytes for each in pages["chromium"].resources] == [each.body for each in drawn]
    shortest = min(each.wait_ms for each in drawn)
    assert [each.delay_ns for each in pages["proxy"].resources] == [(each.wait_ms - shortest) * MS for each in drawn]


@given(drawn_pages(causes=True))
def test_causes(tmp_path_factory: pytest.TempPathFactory, drawn: list[Drawn]) -> None:
    """Chromium's tables and WebPageTest's addresses say the same of what caused a request."""
    folder = tmp_path_factory.mktemp("caused")
    pages = [read(folder, WRITERS[name](drawn, [])[0]) for name in ("chromium", "webpagetest")]
    assert as_read(pages[0]) == as_read(pages[1])
    resources = pages[0].resources
    assert [each.after for each in resources[1:]] == [resources[each.cause].name for each in drawn[1:]]


_PLACES = (
    "time",
    "cache",
    "timings",
    "response",
    "timings.wait",
    "timings.receive",
    "request.method",
    "request.headers",
    "response.status",
    "response.content",
    "response.headers",
    "response.bodySize",
    "response.headersSize",
    "response._transferSize",
    "response.content.size",
    "response.content.mimeType",
    "pageref",
    "_initiator",
    "startedDateTime",
    "request.url",
)


@given(drawn_pages(), st.sampled_from(sorted(WRITERS)), st.integers(0, 5), st.sampled_from(_PLACES))
def test_null_is_absent(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Drawn], writer: str, at: int, place: str
) -> None:
    """A field that is null is read as one that is not there: as the same page, or with the same error."""
    folder = tmp_path_factory.mktemp("null")
    content = WRITERS[writer](drawn, [])[0]
    results = []
    for remove in (True, False):
        document = json.loads(content.decode("utf-16" if writer == "proxy" else "utf-8-sig"))
        entries = document["log"]["entries"]
        table = entries[at % len(entries)]
        *path, last = place.split(".")
        for key in path:
            table = table.setdefault(key, {})
        table[last] = None
        if remove:
            del table[last]
        try:
            results.append(str(read(folder, json.dumps(document).encode())))
        except ScenarioError as error:
            results.append(str(error))
    assert results[0] == results[1]
    if place not in ("startedDateTime", "request.url"):
        assert "not allowed" not in results[0] or "at least one response" in results[0]


@given(st.binary(max_size=60), st.integers(0, 400), st.sampled_from(sorted(WRITERS)))
@example(b"\xff\xfe", 0, "fiddler")
@example(b"\x1f\x8b", 0, "safari")
def test_damaged(tmp_path_factory: pytest.TempPathFactory, junk: bytes, cut: int, writer: str) -> None:
    """Whatever bytes stand in a file, the error is one short line."""
    document = Drawn(path="/", mime="text/html", body=9, decoded=9, at_ms=0, wait_ms=1, receive_ms=1, priority="")
    whole = WRITERS[writer]([document], [])[0]
    for content in (junk, whole[:cut] + junk + whole[cut:], whole[:cut], junk + whole):
        try:
            words = " ".join(read(tmp_path_factory.mktemp("damaged"), content).notes)
        except ScenarioError as error:
            words = str(error)
            assert len(words) < 600
        assert words.isprintable()


def test_two_loads(tmp_path: Path) -> None:
    """One load is taken: the first, or the one with a number or a page's id. A note lists them."""
    both = [entry(pageref="first"), style(pageref="first"), entry(12_000, pageref="2nd"), style(12_100, pageref="2nd")]
    page = page_of_entries(tmp_path, *both)
    assert names(page) == ["page", "a-css"]
    assert page.longest_ns < 10**9
    listed = f"#1 or #first ({SITE}/, 2 resources), #2 or #2nd ({SITE}/, 2 resources)"
    other = f"PAGE={tmp_path}/site.har#2 takes another"
    assert told(page, "loads") == f"the file has 2 loads, and this is #1; {other}: {listed}"
    for key in ("#2", "#2nd"):
        second = page_of_entries(tmp_path, *both, key=key)
        assert (second.name, second.title) == ("site-2", "recorded page site (load 2)")
        assert as_read(second) == as_read(page)
    for key in ("#0", "#3", "#", "#third", "#-1", "#\u00b2"):
        with pytest.raises(
            ScenarioError, match=re.escape(f"site.har{key} is not allowed; allowed: site.har with #1 or")
        ):
            page_of_entries(tmp_path, *both, key=key)


@pytest.mark.parametrize(
    ("entries", "loads"),
    [
        ([entry(), style(), entry(12_000), style(12_100)], 2),
        ([entry(), style(), entry(1_000), style(1_100)], 2),
        ([entry(), style(), entry(9_000, "/other"), style(9_100)], 2),
        ([entry(), style(), entry(900, "/frame"), style(910, "/b.css")], 1),
        ([entry(), entry(900, "/2", request={"headers": [{"name": "Sec-Fetch-Dest", "value": "document"}]})], 2),
        ([entry(), entry(9_000, "/2", request={"headers": [{"name": "sec-fetch-dest", "value": "iframe"}]})], 1),
        ([entry(pageref="a"), style(150), entry(3_000, "/2", pageref="b"), style(3_010, "/b.css")], 2),
        ([style(3_010, "/b.css"), entry(3_000, "/2", pageref="b"), style(150), entry(pageref="a")], 2),
        ([entry(pageref=7), style(pageref=7), entry(3_000, "/2", pageref=8)], 2),
    ],
    ids=["pause", "again", "pause-other", "frame", "navigation", "late-frame", "some-refs", "unsorted", "numbers"],
)
def test_where_loads_begin(tmp_path: Path, entries: list[Table], loads: int) -> None:
    """A file of a proxy has no pages: a document begins a load after a pause, when it comes again, or by navigation."""
    page = page_of_entries(tmp_path, *entries)
    assert bool(told(page, "loads")) is (loads > 1)
    if loads > 1:
        assert names(page)[0] == "page"
        assert len(page_of_entries(tmp_path, *entries, key="#2").resources) == len(entries) - len(page.resources)


def test_a_pause(tmp_path: Path) -> None:
    """What comes after a pause of five seconds belongs to no load; a slow resource is no pause."""
    page = page_of_entries(tmp_path, entry(), style(), style(300_000, "/later.css"), style(300_010, "/b.css"))
    assert names(page) == ["page", "a-css"]
    assert told(page) == "left out: 2 after a pause of 5 s or more"
    page = page_of_entries(tmp_path, entry(time=40_000), style(40_100), style(44_000, "/b.css"))
    assert names(page) == ["page", "a-css", "b-css"]
    stream = style(50, "/events", time=10**6, response={"content": {"mimeType": "text/event-stream", "size": 900}})
    page = page_of_entries(tmp_path, entry(), stream, style(90_000, "/later.css"))
    assert names(page) == ["page", "events"], "an open event stream does not make a load longer"


def test_a_page_that_polls(tmp_path: Path) -> None:
    """What began more than a minute after the end of what caused it is left out; a longer delay is cut, with a note."""
    polls = [style(at_ms, f"/poll{at_ms}") for at_ms in range(3_000, 120_000, 3_000)]
    page = page_of_entries(tmp_path, entry(), *polls)
    assert page["poll60000"].wait_ns == (60_000 - 20) * MS
    assert told(page) == "left out: 19 more than 60 s after what caused them"
    page = page_of_entries(tmp_path, entry(), style(timings={"wait": 90_000}, time=90_010))
    assert page["a-css"].delay_ns == 60_000 * MS
    assert told(page, "cut") == "1 resources are cut to a delay of 60 s and 64 MiB"


OTHERS: dict[str, tuple[Table, str]] = {
    "data": (style(path="data:image/png;base64,AAAA"), "1 data: URL"),
    "blob": (style(path="blob:https://site.test/1"), "1 blob: URL"),
    "about": (style(path="about:blank"), "1 about: URL"),
    "extension": (style(path="chrome-extension://abc/a.js"), "1 chrome-extension: URL"),
    "no-scheme": (style(request={"url": "//site.test/a"}), "1 without a URL of HTTP"),
    "socket": (style(path="wss://site.test/live", response={"status": 101}), "1 WebSocket"),
    "socket-2": (style(path="wss://site.test/live"), "1 WebSocket"),
    "tunnel": (style(request={"method": "CONNECT", "url": "site.test:443"}), "1 tunnel"),
    "preflight": (
        style(request={"method": "OPTIONS"}, response={"content": {"size": 0}, "bodySize": -1, "_transferSize": 210}),
        "1 preflight",
    ),
    "memory": (
        style(response={"bodySize": -1, "_fetchType": "Memory Cache"}, timings={"wait": 0.02}),
        "1 from a cache",
    ),
    "disk": (style(_fetchType="Disk Cache", startedDateTime=""), "1 from a cache"),
    "from-cache": (style(_fromCache="disk", response={"_transferSize": 0}), "1 from a cache"),
    "not-modified": (style(response={"status": 304}), "1 from a cache"),
    "nothing-sent": (style(response={"bodySize": -1, "_transferSize": 0}), "1 from a cache"),
    "body-zero": (style(response={"bodySize": 0}), "1 from a cache"),
    "worker": (style(response={"bodySize": -1, "_fetchedViaServiceWorker": True}), "1 from a cache"),
    "worker-2": (
        style(
            response={
                "_fetchedViaServiceWorker": True,
                "_transferSize": 9,
                "_serviceWorkerResponseSource": "cache-storage",
            }
        ),
        "1 from a cache",
    ),
    "before-request": (style(cache={"beforeRequest": {"hitCount": 1}}, response={"bodySize": -1}), "1 from a cache"),
    "redirect": (style(response={"status": 302}), "1 redirect"),
    "error": (style(response={"status": 404}), "1 error of HTTP"),
    "failed": (style(response={"status": 0, "bodySize": -1}), "1 failed"),
    "no-response": (style() | {"response": None}, "1 failed"),
    "aborted": (style(response={"bodySize": -1, "_error": "net::ERR_ABORTED"}), "1 failed"),
    "playwright": (style(response={"status": -1, "_failureText": "gone", "content": {"size": -1}}), "1 failed"),
    "no-content": (style(response={"status": 204, "bodySize": -1, "_transferSize": 99}), "1 without a body"),
    "reset-content": (style(response={"status": 205, "bodySize": 99}), "1 without a body"),
    "head": (style(request={"method": "HEAD"}, response={"_transferSize": 310}), "1 without a body"),
    "post": (
        style(request={"method": "POST"}, response={"content": {"size": 0}, "bodySize": -1, "_transferSize": 210}),
        "1 without a body",
    ),
    "post-of-firefox": (
        style(request={"method": "POST"}, response={"content": {"size": 0}, "bodySize": 184, "headersSize": 184}),
        "1 without a body",
    ),
    "content-length": (
        style(response={"headers": [{"name": "content-length", "value": "0"}], "content": {"size": 0}}),
        "1 without a body",
    ),
    "never-came": (style(response={"content": {"size": -1}, "bodySize": -1}), "1 without a body"),
    "nothing-known": (style(response={"content": None, "bodySize": None}), "1 without a body"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_left_out(tmp_path: Path, name: str) -> None:
    """An entry that brought nothing of the page is left out, and a note counts it by its reason."""
    other, words = OTHERS[name]
    page = page_of_entries(tmp_path, entry(), other, style(200, "/b.css", timings={"wait": 30}))
    assert names(page) == ["page", "b-css"]
    assert told(page) == f"left out: {words}"
    assert page["b-css"].delay_ns == 25 * MS, "its wait does not stand for the network"
    assert not told(page, "hosts")


def test_one_note_with_counts(tmp_path: Path) -> None:
    """Reasons are counted together."""
    cached = [style(at, f"/{at}", _fromCache="memory") for at in (10, 20, 30)]
    others = [OTHERS["preflight"][0], OTHERS["data"][0], style(60, "data:,x")]
    page = page_of_entries(tmp_path, entry(), *cached, *others, *(style(200 + at, f"/{at}.css") for at in range(120)))
    assert told(page) == "left out: 3 from caches, 2 data: URLs, 1 preflight, 21 after the first 100 resources"


@pytest.mark.parametrize(
    ("response", "size"),
    [
        ({"bodySize": 1000, "_transferSize": 1200}, 1000),
        ({"bodySize": -1, "_transferSize": 1200}, 1200),
        ({"bodySize": -1, "_transferSize": 1200, "headers": [{"name": "Content-Length", "value": "1007"}]}, 1007),
        ({"bodySize": -1}, 1500),
        ({"bodySize": None, "content": {"mimeType": "text/css"}, "_transferSize": 700}, 700),
        ({"bodySize": 1000, "content": {"mimeType": None, "size": 0}}, 1000),
        ({"bodySize": "1000", "status": "200", "content": {"size": "1500"}}, 1000),
        ({"bodySize": 300, "_error": "net::ERR_ABORTED"}, 300),
        ({"bodySize": 400, "_fetchedViaServiceWorker": True, "_transferSize": 580}, 400),
        ({"status": 206, "bodySize": 500}, 500),
    ],
)
def test_sizes(tmp_path: Path, response: Table, size: int) -> None:
    """A resource has the smallest size on record."""
    page = page_of_entries(tmp_path, entry(), style(response=response))
    assert page.resources[1].size_bytes == size


@pytest.mark.parametrize(
    "started",
    [
        "2024-05-01T10:00:00.100Z",
        "2024-05-01T10:00:00.100",
        "2024-05-01T10:00:00.1000000Z",
        "2024-05-01T10:00:00.100000009Z",
        "2024-05-01T10:00:00,100Z",
        "2024-05-01T12:00:00.100+02:00",
        "2024-05-01T12:00:00.100+0200",
        "2024-05-01 10:00:00.100+00",
        " 2024-05-01t10:00:00.1z ",
    ],
)
def test_times(tmp_path: Path, started: str) -> None:
    """Times are read with and without zone, and with any number of digits."""
    page = page_of_entries(tmp_path, entry(), style(startedDateTime=started))
    assert page["a-css"].wait_ns == 80 * MS


@pytest.mark.parametrize(
    ("first", "then", "resources"),
    [
        ("9999-12-31T23:59:59.800Z", "9999-12-31T23:59:59.900Z", 2),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.100+14:00", 2),
        ("0001-01-01T00:00:00", "9999-12-31T23:59:59-14:00", 1),
    ],
)
def test_the_ends_of_time(tmp_path: Path, first: str, then: str, resources: int) -> None:
    """The first and last times that there are do no harm."""
    page = page_of_entries(tmp_path, entry(startedDateTime=first), style(startedDateTime=then))
    assert len(page.resources) == resources


def test_times_without_zone(tmp_path: Path) -> None:
    """A time without zone has the zone of the others in the file."""
    page = page_of_entries(
        tmp_path,
        entry(startedDateTime="2024-05-01T12:00:00.000"),
        style(startedDateTime="2024-05-01T12:00:00.100+02:00"),
        style(startedDateTime="2024-05-01T12:00:00.200", path="/b.css"),
    )
    assert [each.wait_ns // MS for each in page.resources] == [0, 80, 180]


@pytest.mark.parametrize("lasted", [None, -1, 0, "20"])
def test_a_time_that_is_not_on_record(tmp_path: Path, lasted: Any) -> None:
    """The parts of a request's time stand for a whole that is not on record."""
    timings = {"blocked": -1, "dns": 1, "connect": 2, "ssl": 2, "send": 0, "wait": 5, "receive": 12}
    page = page_of_entries(tmp_path, entry(time=lasted, timings=timings), style())
    assert page["a-css"].wait_ns == 80 * MS


def test_huge_numbers(tmp_path: Path) -> None:
    """Numbers that no recording has are cut, or leave the entry out."""
    huge = {"wait": 1.7e308, "receive": 1.7e308}
    answer = {"bodySize": 1e300, "content": {"size": 1e300}}
    page = page_of_entries(tmp_path, entry(time=None, timings=huge, response=answer), style())
    assert [each.size_bytes for each in page.resources] == [64 * 2**20, 1000]
    assert [each.wait_ns for each in page.resources] == [0, 0]


@pytest.mark.parametrize("wait", [None, -1])
def test_a_wait_that_is_not_on_record(tmp_path: Path, wait: Any) -> None:
    """An unknown wait does not stand for the network."""
    page = page_of_entries(tmp_path, entry(timings={"wait": wait}), style(timings={"wait": 30}), style(200, "/b.css"))
    assert [each.delay_ns // MS for each in page.resources] == [0, 25, 0]
    assert told(page, "no time to the first byte of 1 resources")


def test_a_cause_from_a_cache(tmp_path: Path) -> None:
    """What a style sheet from a cache asked for waits for what asked for the style sheet."""
    page = page_of_entries(
        tmp_path,
        entry(),
        style(50, "/app.js", _initiator=f"{SITE}/"),
        style(100, "/a.css", _fromCache="memory", _initiator=f"{SITE}/app.js"),
        style(200, "/font", _initiator=f"{SITE}/a.css"),
        style(210, "/x", _initiator=f"{SITE}/y", response={"status": 200}),
        style(220, "/y", _initiator=f"{SITE}/x"),
    )
    assert [each.after for each in page.resources] == [None, "page", "app-js", "page", "x"]


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
        _utf16,
        lambda text: text.encode("utf-32"),
        lambda text: gzip.compress(text.encode()),
        lambda text: gzip.compress(b"\xef\xbb\xbf" + text.encode()),
    ],
    ids=["mark", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gzip", "gzip-mark"],
)
def test_encodings(tmp_path: Path, encode: Callable[[str], bytes]) -> None:
    """A mark, another encoding and gzip change nothing."""
    text = json.dumps({"log": {"entries": [entry(), style()]}})
    for name in ("site.har", "site.har.gz"):
        file = tmp_path / name
        file.write_bytes(encode(text))
        page = page_of(str(file), PARAMETERS)
        assert (page.name, page.title, names(page)) == ("site", "recorded page site", ["page", "a-css"])
    assert names(page_of(f"{tmp_path}/site.har.gz#1", PARAMETERS)) == ["page", "a-css"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"startedDateTime": "yesterday"}, "entry 2: startedDateTime=yesterday is not allowed; allowed: a time of ISO"),
        ({"startedDateTime": None}, "entry 2: startedDateTime=nothing is not allowed"),
        ({"startedDateTime": 17}, "entry 2: startedDateTime=17 is not allowed"),
        ({"time": "long"}, "entry 2: time=long is not allowed; allowed: a number"),
        ({"time": True}, "entry 2: time=True is not allowed; allowed: a number"),
        ({"request": {"url": None}}, "entry 2: request: url=nothing is not allowed; allowed: text"),
        ({"request": {"url": 3}}, "entry 2: request: url=3 is not allowed; allowed: text"),
        ({"request": {"headers": "x"}}, "entry 2: request: headers=x is not allowed; allowed: a list of tables"),
        ({"request": {"headers": [3]}}, "entry 2: request: header 1=3 is not allowed"),
        ({"response": {"bodySize": {}}}, "entry 2: response: bodySize={} is not allowed; allowed: a number"),
        ({"response": {"bodySize": "1e999"}}, "entry 2: response: bodySize=1e999 is not allowed; allowed: a number"),
        ({"response": {"content": {"size": []}}}, "entry 2: response: content: size=[] is not allowed"),
        ({"response": {"status": "OK"}}, "entry 2: response: status=OK is not allowed; allowed: a number"),
        ({"timings": {"wait": "soon"}}, "entry 2: timings: wait=soon is not allowed; allowed: a number"),
        ({"timings": 3}, "entry 2: timings=3 is not allowed"),
    ],
)
def test_a_wrong_type(tmp_path: Path, change: Table, words: str) -> None:
    """An error names the entry and the field, in one line."""
    with pytest.raises(ScenarioError, match=re.escape(f"site.har: {words}")) as caught:
        page_of_entries(tmp_path, entry(), style(**change))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("bad", [3, None, [], "x"])
def test_no_entry(tmp_path: Path, bad: Any) -> None:
    """So does one for what is no entry."""
    with pytest.raises(ScenarioError, match=r"site\.har: entry 2=.* is not allowed; allowed: a table with request"):
        page_of_entries(tmp_path, entry(), bad)
