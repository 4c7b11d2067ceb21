"""An entry of a HAR, as browsers, proxies and tools write it.

Rules:
1. null and an absent field are the same, and a number may be text. A field of a wrong type is an error, which names the
   entry and the field. Only what stays in the page must have a time.
2. An entry is left out, for the first reason that fits, if it brought no bytes of the page over the network.
3. A body has the smallest size on record: the larger ones count header fields (Chromium, Firefox) or decoded bytes.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta, Struct

from priolab.common.errors import ScenarioError
from priolab.common.formats.toml_schema import declared, shown

_CACHE_WORDS = ("cache", "service worker", "override")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,30}):", re.IGNORECASE)
_HTML = ("text/html", "application/xhtml+xml")
_TIME = "a time of ISO 8601 such as 2026-11-28T10:00:00.123Z"


class _Number(float):
    """A finite number, or a text that is one."""

    @classmethod
    def read(cls, value: Any) -> Self:
        if type(value) not in (int, float, str) or (isinstance(value, int) and abs(value) > 2**63):
            raise ValueError
        made = cls(value)
        if not isfinite(made):
            raise ValueError
        return made


_A_NUMBER = Annotated[_Number, Meta(description="a number")]
_UNKNOWN, _NOTHING = _Number(-1), _Number(0)


def _renamed(name: str) -> Any:
    return msgspec.field(name=name, default=_UNKNOWN)


class _Field(Struct):
    name: Any = ""
    value: Any = ""


_Fields = Annotated[tuple[_Field, ...], Meta(description="a list of tables {name, value}")]


class _Request(Struct):
    url: str
    method: str = "GET"
    headers: _Fields = ()


class _Content(Struct):
    size: _A_NUMBER = _UNKNOWN
    mime: str = msgspec.field(name="mimeType", default="")


class _Response(Struct):
    code: _A_NUMBER = msgspec.field(name="status", default=_NOTHING)
    content: _Content = msgspec.field(default_factory=_Content)
    headers: _Fields = ()
    body: _A_NUMBER = _renamed("bodySize")
    head: _A_NUMBER = _renamed("headersSize")
    transferred: _A_NUMBER = _renamed("_transferSize")
    error: Any = msgspec.field(name="_error", default=None)
    failure: Any = msgspec.field(name="_failureText", default=None)
    fetch_type: Any = msgspec.field(name="_fetchType", default=None)
    cached: Any = msgspec.field(name="_fromCache", default=None)
    by_worker: Any = msgspec.field(name="_fetchedViaServiceWorker", default=None)
    worker_source: Any = msgspec.field(name="_serviceWorkerResponseSource", default=None)

    @property
    def status(self) -> int:
        """The status code; 0 or less if no answer came."""
        return int(self.code)

    @property
    def sizes(self) -> tuple[float, float, float, float]:
        """The sizes on record, each -1 if it is unknown: body, transferred, content, and the field content-length."""
        length = _value(self.headers, "content-length")
        told = float(length) if length.isascii() and length.isdecimal() and len(length) < 16 else -1.0
        return float(self.body), float(self.transferred), float(self.content.size), told


class _Timings(Struct):
    blocked: _A_NUMBER = _UNKNOWN
    dns: _A_NUMBER = _UNKNOWN
    connect: _A_NUMBER = _UNKNOWN
    send: _A_NUMBER = _UNKNOWN
    wait: _A_NUMBER = _UNKNOWN
    receive: _A_NUMBER = _UNKNOWN


class _Cache(Struct):
    before: Any = msgspec.field(name="beforeRequest", default=None)


class _Raw(Struct):
    request: _Request
    started: Any = msgspec.field(name="startedDateTime", default=None)
    response: _Response = msgspec.field(default_factory=_Response)
    lasted_ms: _A_NUMBER = _renamed("time")
    timings: _Timings = msgspec.field(default_factory=_Timings)
    cache: _Cache = msgspec.field(default_factory=_Cache)
    page: Any = msgspec.field(name="pageref", default=None)
    priority: Any = msgspec.field(name="_priority", default=None)
    initiator: Any = msgspec.field(name="_initiator", default=None)
    kind: Any = msgspec.field(name="_resourceType", default=None)
    fetch_type: Any = msgspec.field(name="_fetchType", default=None)
    cached: Any = msgspec.field(name="_fromCache", default=None)
    weight: Any = msgspec.field(name="_http2_stream_weight", default=None)
    blocking: Any = msgspec.field(name="_renderBlocking", default=None)

    def sent(self, name: str) -> str:
        """Returns the value of a header field of the request; empty if it has none."""
        return _value(self.request.headers, name)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A request and its answer.

    started: None only if the entry is left out. lasted_ms: from the start to the last byte. wait_ms: until the first
    byte; None if it is not on record. size_bytes: of the body, as it was transferred. left_out: why the page does not
    have it, as (words for one, words for several); None if the page has it.
    """

    started: datetime | None
    page: str
    lasted_ms: float
    wait_ms: float | None
    size_bytes: int
    left_out: tuple[str, str] | None
    raw: _Raw

    @property
    def url(self) -> str:
        """The address."""
        return self.raw.request.url

    @property
    def mime(self) -> str:
        """The content type, in small letters, without parameters."""
        return self.raw.response.content.mime.partition(";")[0].strip().lower()

    @property
    def initiator(self) -> str:
        """The address of the resource that caused the request; empty if it is not on record."""
        return _initiator(self.raw.initiator)

    @property
    def at(self) -> datetime:
        """The time of the request."""
        assert self.started is not None
        return self.started

    @property
    def is_document(self) -> bool:
        """True if the body is HTML, which no frame, script or prefetch asked for as far as the request tells."""
        asked_for = self.raw.sent("sec-fetch-dest") in ("", "document")
        return self.mime in _HTML and asked_for and not self.raw.sent("sec-purpose")

    def begins_anew(self, first: "Entry") -> bool:
        """True if this document replaces the page of a load, without a pause. first: the load's first entry."""
        if self.raw.sent("sec-fetch-dest") == "document":
            return True
        return self.url == first.url and (self.at - first.at).total_seconds() * 1000 >= first.lasted_ms


def read_entry(where: str, table: Any) -> Entry:
    """Returns an entry. where: the file and the entry's number, for errors. Raises ScenarioError."""
    if not isinstance(table, dict):
        raise ScenarioError(where, shown(table), "a table with request and response")
    raw: _Raw = declared(where, table, _Raw)
    reason, started = _reason(raw), _time(raw.started)
    if reason is None and started is None:
        given = "nothing" if raw.started is None else shown(raw.started)
        raise ScenarioError(f"{where}: startedDateTime", given, _TIME)
    timings = (getattr(raw.timings, name) for name in raw.timings.__struct_fields__)
    return Entry(
        started=started,
        page=str(raw.page or ""),
        lasted_ms=raw.lasted_ms if raw.lasted_ms > 0 else sum(max(0.0, each) for each in timings),
        wait_ms=raw.timings.wait if raw.timings.wait >= 0 else None,
        size_bytes=_body_bytes(raw),
        left_out=reason,
        raw=raw,
    )


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip().upper()) if isinstance(text, str) else None
    except ValueError:
        return None


def _reason(raw: _Raw) -> tuple[str, str] | None:
    """Returns why nothing of the page came over the network for an entry, as (for one, for several); None if it did."""
    answer, status = raw.response, raw.response.status
    scheme = (_SCHEME.match(raw.request.url.strip()) or ("", ""))[1].lower()
    method = raw.request.method.upper()
    wire = max(answer.body, answer.transferred)
    if scheme in ("ws", "wss") or status == 101 or raw.kind == "websocket":
        return "WebSocket", "WebSockets"
    if method == "CONNECT":
        return "tunnel", "tunnels"
    if scheme not in ("http", "https"):
        return (f"{scheme}: URL", f"{scheme}: URLs") if scheme else ("without a URL of HTTP",) * 2
    if method == "OPTIONS" or raw.kind == "preflight":
        return "preflight", "preflights"
    if _is_cached(raw):
        return ("from a cache", "from caches")
    if status < 200 or ((answer.error or answer.failure) and wire <= 0):
        return ("failed",) * 2
    if status >= 400:
        return "error of HTTP", "errors of HTTP"
    if status >= 300:
        return "redirect", "redirects"
    if _body_bytes(raw) <= 0:
        is_cached = answer.content.size > 0 and method != "HEAD" and status not in (204, 205)
        return ("from a cache", "from caches") if is_cached else ("without a body",) * 2
    return None


def _is_cached(raw: _Raw) -> bool:
    """True if the recording says that a cache or a service worker answered."""
    answer = raw.response
    kinds = f"{raw.fetch_type} {answer.fetch_type}".lower()
    if raw.cached or answer.cached or answer.status == 304 or any(each in kinds for each in _CACHE_WORDS):
        return True
    unsent = answer.body <= 0 and answer.transferred <= 0
    by_worker = bool(answer.by_worker) and (unsent or answer.worker_source not in (None, "network"))
    return by_worker or (bool(raw.cache.before) and unsent)


def _body_bytes(raw: _Raw) -> int:
    """Returns the bytes of a response's body as they were transferred; 0 if it had none, or came from a cache."""
    answer = raw.response
    body, transferred, decoded, told = sizes = answer.sizes
    empty = decoded == 0 and body <= max(0.0, answer.head)  # Firefox counts the head as a part of the body
    if empty or 0 in (body, transferred, told) or raw.request.method.upper() == "HEAD" or answer.status in (204, 205):
        return 0
    return int(min((size for size in sizes if size > 0), default=0))


def _value(fields: Iterable[_Field], name: str) -> str:
    """Returns the value of a header field; empty if there is none."""
    return next((str(each.value).strip() for each in fields if str(each.name).lower() == name), "")


def _initiator(found: Any) -> str:
    """Returns the address of the resource that caused a request: WebPageTest's text, or Chromium's table."""
    if isinstance(found, Mapping):
        stack: Any = found.get("stack")
        while isinstance(stack, Mapping):
            frames = stack.get("callFrames")
            if isinstance(frames, list) and frames and isinstance(frames[0], Mapping):
                return str(frames[0].get("url", ""))
            stack = stack.get("parent")
        return str(found.get("url", ""))
    return found if isinstance(found, str) else ""
