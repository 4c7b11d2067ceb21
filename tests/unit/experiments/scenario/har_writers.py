"""Pages, drawn, and how six kinds of writers save the same page as a HAR.

A writer gets a page and what else happened in the load, and returns the file and the number of further entries in it.
The writers differ in the notation of times, in what sizes mean, in the fields that they have, in the order of entries,
in the file's encoding, and in what else they record: caches, tunnels, data: URLs, failed requests.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

SITE = "https://site.test"
BEGAN = datetime(2026, 11, 28, 10, 0, 0, tzinfo=UTC)
_HEAD = 180

Table = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A resource. at_ms: from the load's begin. cause: the position of the resource that asked for it."""

    path: str
    mime: str
    body: int
    decoded: int
    at_ms: int
    wait_ms: int
    receive_ms: int
    priority: str
    cause: int = 0

    @property
    def url(self) -> str:
        return SITE + self.path

    @property
    def began(self) -> datetime:
        return BEGAN + timedelta(milliseconds=self.at_ms)

    def headers(self, *, sent: bool) -> list[Table]:
        """Return the header fields of request or response."""
        if not sent:
            return [{"name": "Content-Length", "value": str(self.body)}, {"name": "content-type", "value": self.mime}]
        return [{"name": "Priority", "value": self.priority}] if self.priority else []


@st.composite
def drawn_pages(draw: st.DrawFn, *, causes: bool = False) -> list[Drawn]:
    """Draw a page. causes: True if resources may be caused by others than the document."""
    has_fields = draw(st.booleans())
    starts = sorted(draw(st.sets(st.integers(1, 4000), max_size=5)))
    page: list[Drawn] = []
    for at, at_ms in enumerate([0, *starts]):
        name, mime = ("/", "text/html; charset=utf-8")
        if at:
            end, mime = draw(st.sampled_from((("app.css", "text/css"), ("app.js", "text/javascript"), ("a.bin", ""))))
            name = f"/{at}/{end}"
        body = draw(st.integers(300, 90_000))
        page.append(
            Drawn(
                path=name,
                mime=mime,
                body=body,
                decoded=body * draw(st.sampled_from((1, 3))),
                at_ms=at_ms,
                wait_ms=draw(st.integers(1, 900)),
                receive_ms=draw(st.integers(0, 300)),
                priority=draw(st.sampled_from(("u=0", "u=2, i", "u=5"))) if has_fields else "",
                cause=draw(st.integers(0, at - 1)) if at and causes else 0,
            )
        )
    return page


NOISE = st.lists(st.sampled_from(("cached", "data", "failed", "empty", "preflight", "socket", "moved")), max_size=6)


def _entry(each: Drawn, started: str, **more: Any) -> Table:
    """Return what every writer writes of a resource that came."""
    response = {
        "status": 200,
        "headers": each.headers(sent=False),
        "content": {"size": each.decoded, "mimeType": each.mime},
        "headersSize": -1,
        "bodySize": each.body,
    }
    return {
        "startedDateTime": started,
        "time": each.wait_ms + each.receive_ms,
        "request": {"method": "GET", "url": each.url, "headers": each.headers(sent=True), "headersSize": -1},
        "response": response | more.pop("response", {}),
        "cache": {},
        "timings": {"blocked": -1, "dns": -1, "connect": -1, "wait": each.wait_ms, "receive": each.receive_ms},
        **more,
    }


def _changed(table: Table, response: Mapping[str, Any], url: str = "", method: str = "GET", **more: Any) -> Table:
    request = table["request"] | {"method": method} | ({"url": url} if url else {})
    answer = {"status": 200, "headers": [], "content": {"size": 0, "mimeType": ""}, "headersSize": -1, "bodySize": -1}
    return {**table, "request": request, "response": answer | dict(response), **more}


def _file(creator: str, pages: Any, entries: list[Table], **more: Any) -> str:
    return json.dumps(
        {"log": {"version": "1.2", "creator": {"name": creator}, "pages": pages, "entries": entries}, **more}
    )


def _z(each: Drawn) -> str:
    return each.began.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def chromium(page: list[Drawn], noise: list[str]) -> tuple[bytes, int]:
    """Sizes count the head; the body's size is unknown; causes, caches and preflights are on record."""

    def entry(each: Drawn) -> Table:
        sizes = {"bodySize": -1, "_transferSize": each.body + _HEAD, "_error": None, "_fetchedViaServiceWorker": False}
        return _entry(
            each,
            _z(each),
            response=sizes,
            pageref="page_1",
            _initiator={"type": "parser", "url": page[each.cause].url} if each.at_ms else {"type": "other"},
        )

    made, last = [entry(each) for each in page], entry(page[-1])
    there = {
        "cached": _changed(last, {"content": {"size": 9000}, "_transferSize": 0}, f"{SITE}/c", _fromCache="memory"),
        "failed": _changed(last, {"status": 0, "_transferSize": 0, "_error": "net::ERR_FAILED"}, f"{SITE}/f"),
        "empty": _changed(last, {"_transferSize": 210}, f"{SITE}/beacon", "POST", _resourceType="ping"),
        "preflight": _changed(last, {"_transferSize": 210}, f"{SITE}/api", "OPTIONS", _resourceType="preflight"),
        "socket": _changed(last, {"status": 101, "_transferSize": 129}, "wss://site.test/live", _webSocketMessages=[]),
        "moved": _changed(last, {"status": 302, "_transferSize": 99}, f"{SITE}/old"),
    }
    more = [there[kind] for kind in noise if kind in there]
    return _file("WebInspector", [{"id": "page_1", "title": SITE}], made + more).encode(), len(more)


def firefox(page: list[Drawn], noise: list[str]) -> tuple[bytes, int]:
    """The body's size counts the head; times are in the user's zone, and `time` is null, as in Firefox 54."""
    zone = timezone(timedelta(hours=2))

    def entry(each: Drawn) -> Table:
        started = each.began.astimezone(zone).isoformat(timespec="milliseconds")
        sizes = {"headersSize": _HEAD, "bodySize": each.body + _HEAD}
        return _entry(each, started, response=sizes, pageref="page_1") | {"time": None}

    made, last = [entry(each) for each in page], entry(page[-1])
    none: Table = {"wait": 0, "receive": 0}
    empty = {"headersSize": _HEAD, "bodySize": _HEAD}
    there = {
        "cached": _changed(
            last, {"content": {"size": 900}, "bodySize": 0}, f"{SITE}/c", cache={"afterRequest": None}, timings=none
        ),
        "data": _changed(last, {"content": {"size": 800}, "bodySize": 800}, "data:image/png;base64,AAAA", timings=none),
        "failed": _changed(last, {"status": 0, "content": {}}, f"{SITE}/f", timings={}) | {"response": None},
        "empty": _changed(last, {"status": 204, **empty}, f"{SITE}/beacon", "POST"),
        "preflight": _changed(last, empty, f"{SITE}/api", "OPTIONS"),
        "moved": _changed(last, {"status": 301, **empty}, f"{SITE}/old"),
    }
    more = [there[kind] for kind in noise if kind in there]
    return _file("Firefox", [{"id": "page_1", "title": None}], more + made).encode(), len(more)


def safari(page: list[Drawn], noise: list[str]) -> tuple[bytes, int]:
    """Caches are named by `_fetchType`, and what came from one may have no time."""

    def entry(each: Drawn) -> Table:
        sizes = {"_transferSize": each.body + _HEAD}
        return _entry(each, _z(each), response=sizes, pageref="page_0", _fetchType="Network Load")

    made, last = [entry(each) for each in page], entry(page[-1])
    cached = {"content": {"size": 9000, "mimeType": "text/html"}}
    there = {
        "cached": _changed(last, cached, f"{SITE}/c", _fetchType="Memory Cache", timings={"wait": 0.02}),
        "data": _changed(last, cached, "data:,x", startedDateTime="", _fetchType="Disk Cache"),
        "failed": _changed(last, {"status": 0, "_error": "cancelled"}, f"{SITE}/f", startedDateTime=""),
        "empty": _changed(last, {"status": 204}, f"{SITE}/beacon", "POST"),
        "moved": _changed(last, {"status": 307}, f"{SITE}/old"),
    }
    more = [there[kind] for kind in noise if kind in there]
    return _file("WebKit Web Inspector", [{"id": "page_0"}], made + more).encode(), len(more)


def webpagetest(page: list[Drawn], noise: list[str]) -> tuple[bytes, int]:
    """Numbers are text, causes are addresses, and a second view of the page is in the file."""

    def entry(each: Drawn) -> Table:
        table = _entry(each, each.began.isoformat(timespec="milliseconds"), pageref="page_1_0_1")
        table["response"] |= {"status": "200", "bodySize": str(each.body)}
        return table | {
            "time": str(table["time"]),
            "timings": {"wait": str(each.wait_ms), "receive": str(each.receive_ms)},
            "_initiator": page[each.cause].url if each.at_ms else "",
            "_http2_stream_weight": None,
        }

    made, last = [entry(each) for each in page], entry(page[-1])
    there = {
        "failed": _changed(last, {"status": -1}, f"{SITE}/f"),
        "empty": _changed(last, {"status": "204", "bodySize": "0"}, f"{SITE}/pixel"),
        "moved": _changed(last, {"status": 301, "bodySize": "0"}, f"{SITE}/old"),
    }
    more = [there[kind] for kind in noise if kind in there]
    later = (BEGAN + timedelta(seconds=90)).isoformat()
    again = made[0] | {"pageref": "page_1_1_1", "startedDateTime": later}
    return _file("WebPageTest", [{"id": "page_1_0_1"}, {"id": "page_1_1_1"}], [again, *made, *more]).encode(), len(more)


def fiddler(page: list[Drawn], noise: list[str]) -> tuple[bytes, int]:
    """Times have seven digits and another zone; there are no pages, but tunnels; the file has a mark."""
    zone = timezone(timedelta(hours=-7))

    def entry(each: Drawn) -> Table:
        local = each.began.astimezone(zone).isoformat(timespec="microseconds")
        return _entry(each, f"{local[:26]}0{local[26:]}", comment="[#1]")

    made, last = [entry(each) for each in page], entry(page[-1])
    tunnel = _changed(made[0], {"bodySize": 0}, "http://site.test:443", "CONNECT")
    there = {
        "cached": _changed(last, {"status": 304, "content": {"size": 0}, "bodySize": 0}, f"{SITE}/c"),
        "failed": _changed(last, {"status": 0}, f"{SITE}/f"),
        "empty": _changed(last, {"content": {"size": 900}, "bodySize": 0}, f"{SITE}/h", "HEAD"),
        "preflight": _changed(last, {"bodySize": 0}, f"{SITE}/api", "OPTIONS"),
        "moved": _changed(last, {"status": 302, "bodySize": 134, "content": {"size": 134}}, f"{SITE}/old"),
    }
    more = [tunnel, *(there[kind] for kind in noise if kind in there)]
    return b"\xef\xbb\xbf" + _file("Fiddler", [], made + more).encode(), len(more)


def proxy(page: list[Drawn], noise: list[str]) -> tuple[bytes, int]:
    """Charles and mitmproxy: entries in the order of their ends, no fraction of a whole second, UTF-16, null fields."""

    def entry(each: Drawn) -> Table:
        started = each.began.isoformat().replace(".", ",")
        return _entry(each, started, pageref=None, serverIPAddress=None, response={"_transferSize": None})

    made, last = [entry(each) for each in page], entry(page[-1])
    there = {
        "failed": _changed(last, {"status": 0, "content": {}, "_transferSize": 0, "_error": "gone"}, f"{SITE}/f"),
        "empty": _changed(last, {"status": 204, "content": {"size": None}, "bodySize": None}, f"{SITE}/beacon", "POST"),
        "preflight": _changed(last, {"bodySize": 0}, f"{SITE}/api", "OPTIONS"),
        "socket": _changed(last, {"status": 101, "bodySize": 0}, f"{SITE}/live", _resourceType="websocket"),
        "moved": _changed(last, {"status": 308, "bodySize": 20, "content": {"size": 20}}, f"{SITE}/old"),
    }
    more = [there[kind] for kind in noise if kind in there]
    ends = sorted(range(len(page)), key=lambda at: page[at].at_ms + page[at].wait_ms + page[at].receive_ms)
    return _file("Charles Proxy", None, [*more, *(made[at] for at in ends)]).encode("utf-16"), len(more)


WRITERS: Mapping[str, Callable[[list[Drawn], list[str]], tuple[bytes, int]]] = {
    each.__name__: each for each in (chromium, firefox, safari, webpagetest, fiddler, proxy)
}
