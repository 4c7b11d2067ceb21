"""Reads a page from a HAR that Chromium, Firefox or WebPageTest saved: what a browser loaded, as a page file's tables.

Rules:
1. A resource is an entry with a response of HTTP that had a body. Its size is the smallest size on record, because the
   larger ones count header fields (Chromium, Firefox) or decoded bytes.
2. A resource waits for the one that its initiator names or, without an initiator in the file, for the first entry. It
   is requested when that one is complete: what a browser asks for earlier, while it still reads HTML, comes later here.
3. The priority is the request's `priority` field (RFC 9218, 5), which is the default if only other requests have one.
   In a recording without the field, the browser's own word stands for the urgency. WebPageTest records weights, too.
4. The origin holds a response back for the time to its first byte, without the shortest such time of the file, which
   stands for the network.
5. The important resources are those that a browser recorded as blocking rendering. Without such records they are those
   of the highest recorded urgency, if some other resource has a lower one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from priolab.common.formats.files import MOST_DOCUMENT_BYTES, document, printable
from priolab.experiments.errors import ScenarioError
from priolab.experiments.scenario.page_bounds import JPEG, LEAST_BYTES, LONGEST_MS, RESOURCES_MOST, SCRIPT, SIZE_MOST

SUFFIX = ".har"
_SCRIPTS = ("application/javascript", "application/x-javascript", "text/ecmascript", "application/ecmascript")
_OTHER = "application/octet-stream"
_TYPE = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")
_URGENCY = re.compile(r"(?:^|[,\s])u=([0-7])(?![0-9])")
_INCREMENTAL = re.compile(r"(?:^|[,\s])i(?:=\?1)?(?:$|[,;\s])")
_WORDS = {
    "veryhigh": 0,
    "highest": 0,
    "high": 1,
    "medium": 2,
    "normal": 2,
    "low": 3,
    "verylow": 4,
    "lowest": 4,
    "idle": 4,
}
"""The urgency that stands for a browser's own word: the one that Chromium sends where it sends any."""
_USUAL_URGENCY = 3


class _Field(Struct):
    name: str
    value: str


class _Request(Struct):
    url: str
    headers: list[_Field] = []


class _Content(Struct):
    size: float = 0
    mime: str = field(name="mimeType", default="")


class _Response(Struct):
    status: int
    content: _Content
    body: float = field(name="bodySize", default=-1)
    transferred: float | None = field(name="_transferSize", default=None)


class _Timings(Struct):
    wait: float | None = 0


class _Entry(Struct):
    started: datetime = field(name="startedDateTime")
    request: _Request
    response: _Response
    lasted_ms: float = field(name="time", default=0)
    timings: _Timings = field(default_factory=_Timings)
    priority: str | None = field(name="_priority", default=None)
    initiator: Any = field(name="_initiator", default=None)
    weight: Any = field(name="_http2_stream_weight", default=None)
    blocking: Any = field(name="_renderBlocking", default=None)


class _Log(Struct):
    entries: list[_Entry]


class _Har(Struct):
    log: _Log


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recorded page. document: as in a page file. notes: sentences about what the recording cannot tell."""

    document: dict[str, Any]
    notes: tuple[str, ...]


def read_har(path: Path) -> Recorded:
    """Reads a HAR. Raises ScenarioError."""
    try:
        log = msgspec.convert(document(path, MOST_DOCUMENT_BYTES), _Har).log
    except (OSError, ValueError) as error:
        reason = printable(getattr(error, "strerror", None) or str(error))
        raise ScenarioError("PAGE", printable(str(path)), f"a HAR that can be read ({reason})") from error
    entries = sorted(log.entries, key=lambda entry: entry.started)
    bodies = [entry for entry in entries if 200 <= entry.response.status < 300 and _body_bytes(entry.response) > 0]
    used = bodies[:RESOURCES_MOST]
    if not used:
        raise ScenarioError("PAGE", printable(str(path)), "a HAR with at least one response that has a body")
    page = _Page(used)
    return Recorded(
        document={"title": f"recorded page {printable(path.stem)}"[:200], "resource": list(page.tables())},
        notes=tuple(_notes(entries, bodies, page)),
    )


class _Page:
    """The entries that become resources, in the order of their requests."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self.entries = entries
        self.names = list(_names(entries))
        self.shortest_ms = min((entry.timings.wait or 0 for entry in entries), default=0)
        has_fields = any(_field(entry) for entry in entries)
        self.signals = [_signal(entry, has_fields=has_fields) for entry in entries]
        self.without = sum(not signal for signal in self.signals)
        self.blocks = any(_blocks(entry) for entry in entries)
        self.important = set(self._important())
        self.uncaused = sum(not _initiator(entry.initiator) for entry in entries[1:])
        self._by_url = {entry.request.url: at for at, entry in reversed(list(enumerate(entries)))}

    def _urgency(self, at: int) -> int:
        found: int = self.signals[at].get("urgency", _USUAL_URGENCY)
        return found

    def _important(self) -> Iterator[int]:
        """Yields the positions of the important resources (rule 5)."""
        rest = range(1, len(self.entries))
        highest = min((self._urgency(at) for at in rest), default=0)
        has_order = any(self._urgency(at) > highest for at in rest)
        for at in rest:
            if _blocks(self.entries[at]) if self.blocks else has_order and self._urgency(at) == highest:
                yield at

    def tables(self) -> Iterator[dict[str, Any]]:
        """Yields the table [[resource]] of each entry."""
        for at, entry in enumerate(self.entries):
            size = min(_body_bytes(entry.response), SIZE_MOST)
            table = {
                "name": self.names[at],
                "path": f"/{self.names[at]}" if at else "/",
                "type": _type(entry.response.content.mime, size),
                "size": size,
                "important": at in self.important,
                "delay": _time((entry.timings.wait or 0) - self.shortest_ms),
                **self.signals[at],
            }
            if at:
                table |= self._waits(at)
            yield table

    def _waits(self, at: int) -> dict[str, Any]:
        parent = self._by_url.get(_initiator(self.entries[at].initiator), 0)
        parent = parent if parent < at else 0
        entry, before = self.entries[at], self.entries[parent]
        wait_ms = (entry.started - before.started).total_seconds() * 1000 - before.lasted_ms
        return {"after": self.names[parent], "wait": _time(wait_ms)}


def _notes(entries: Sequence[_Entry], bodies: Sequence[_Entry], page: _Page) -> Iterator[str]:
    hosts = {_host(entry) for entry in page.entries}
    used = len(page.entries)
    if len(hosts) > 1:
        yield f"the {used} resources came from {len(hosts)} hosts; here one front serves all on one connection"
    if left := len(entries) - len(bodies):
        yield f"{left} entries without a body are left out: redirects, errors, and what came from a cache"
    if len(bodies) > used:
        yield f"only the first {used} of {len(bodies)} resources are used"
    if page.uncaused:
        yield f"the recording does not say what caused {page.uncaused} requests: they wait for the first resource"
    if page.without:
        yield f"the recording has no priority of {page.without} resources: they get urgency {_USUAL_URGENCY}"
    if not page.important:
        yield "no resource is more urgent than the others, so none is important: goodput is the answer"
    elif not page.blocks:
        yield f"{len(page.important)} resources of the highest recorded urgency count as important"
    yield "a server's time is the time to the first byte without the shortest one of the recording"


def _names(entries: Sequence[_Entry]) -> Iterator[str]:
    """Yields a name for each entry, of the end of its address: unique, of a-z, 0-9 and -."""
    seen = {"ready"}  # the path of the origin's own page
    for entry in entries:
        end = _path(entry).rstrip("/").rpartition("/")[2] or "page"
        name = re.sub(r"[^a-z0-9]+", "-", end.lower()).strip("-")[:32].rstrip("-") or "resource"
        unique = next(each for each in chain([name], (f"{name}-x{at}" for at in count(2))) if each not in seen)
        seen.add(unique)
        yield unique


def _path(entry: _Entry) -> str:
    """Returns the path of an entry's address."""
    return entry.request.url.partition("://")[2].partition("?")[0].partition("#")[0].partition("/")[2]


def _host(entry: _Entry) -> str:
    """Returns the host of an entry's address, with its port."""
    return re.split(r"[/?#]", entry.request.url.partition("://")[2])[0]


def _body_bytes(response: _Response) -> int:
    """Returns the bytes of a response's body as they were transferred; 0 if it had none, or came from a cache."""
    sizes = [response.body, response.content.size, response.transferred or -1]
    nothing = response.body == 0 or response.transferred == 0
    return 0 if nothing else int(min((size for size in sizes if size > 0), default=0))


def _type(mime: str, size: int) -> str:
    """Returns the content type with which the origin can serve this many bytes; images are served as JPEG."""
    kind = mime.partition(";")[0].strip().lower()
    kind = SCRIPT if kind in _SCRIPTS else JPEG if kind.startswith("image/") else kind
    return kind if _TYPE.fullmatch(kind) and size >= LEAST_BYTES.get(kind, 1) else _OTHER


def _field(entry: _Entry) -> str | None:
    """Returns the value of the request's header field `priority`; None if it has none."""
    return next((each.value for each in entry.request.headers if each.name.lower() == "priority"), None)


def _signal(entry: _Entry, *, has_fields: bool) -> dict[str, Any]:
    """Returns the keys of a page file for the priority on record; no keys if there is none.

    has_fields: True if some request of the recording has the field `priority`, so that its absence is a signal.
    """
    found: dict[str, Any] = {}
    weight = entry.weight
    if isinstance(weight, str) and weight.isdecimal():
        weight = int(weight)
    if isinstance(weight, int) and 1 <= weight <= 256:
        found["weight"] = weight
    if has_fields:
        text = _field(entry) or ""
        urgency = _URGENCY.search(text)
        found["urgency"] = int(urgency[1]) if urgency else _USUAL_URGENCY
        found["incremental"] = bool(_INCREMENTAL.search(text))
    elif entry.priority and (urgency_of := _WORDS.get(entry.priority.lower())) is not None:
        found["urgency"] = urgency_of
    return found


def _blocks(entry: _Entry) -> bool:
    return entry.blocking in ("blocking", "in_body_parser_blocking")


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


def _time(time_ms: float) -> str:
    return f"{min(LONGEST_MS, max(0, round(time_ms)))}ms"
