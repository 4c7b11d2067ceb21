"""The page of a load in a HAR, as a page file's tables. har_file.py reads the file.

Rules:
1. A resource is an entry whose body came over the network.
2. A resource waits for the one that its initiator names; if that one was left out, for what caused it in turn; without
   an initiator in the file, for the first entry. It is requested when that one is complete: what a browser asks for
   earlier, while it still reads HTML, comes later here. What waits for longer than a page can say is left out.
3. The priority is the request's `priority` field (RFC 9218, 5), which is the default if only other requests have one.
   In a recording without the field, the browser's own word stands for the urgency. WebPageTest records weights, too.
4. The origin holds a response back for the time to its first byte, without the shortest such time of the load, which
   stands for the network.
5. The important resources are those that a browser recorded as blocking rendering. Without such records they are those
   of the highest recorded urgency, if some other resource has a lower one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from priolab.common.errors import ScenarioError
from priolab.common.formats.files import printable
from priolab.experiments.scenario.har_entry import Entry
from priolab.experiments.scenario.har_file import Load, read_loads
from priolab.experiments.scenario.page_bounds import JPEG, LEAST_BYTES, LONGEST_MS, RESOURCES_MOST, SCRIPT, SIZE_MOST

SUFFIXES = (".har", ".har.gz")
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


_LISTED_MOST = 8


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recorded page. document: as in a page file. notes: sentences about what the recording cannot tell.

    number: that of the load in its file, from 1.
    """

    document: dict[str, Any]
    number: int = 1
    notes: tuple[str, ...]


def read_har(where: str, path: Path, key: str | None) -> Recorded:
    """Returns the page of a load. where: the file, for errors. key: the load's number or id; None for the first load.

    Raises ScenarioError.
    """
    loads = read_loads(where, path)
    if not loads:
        raise ScenarioError("PAGE", printable(str(path)), "a HAR with at least one response that has a body")
    at = _chosen(path, loads, key)
    page = _Page(loads[at])
    others = f" (load {at + 1})" if at else ""
    return Recorded(
        document={
            "title": f"recorded page {printable(path.name.partition(SUFFIXES[0])[0])}{others}"[:200],
            "resource": list(page.tables()),
        },
        number=at + 1,
        notes=(*_told_loads(path, loads, at), *_notes(page)),
    )


def _chosen(path: Path, loads: Sequence[Load], key: str | None) -> int:
    """Returns the position of the load with a key. Raises ScenarioError, which lists the loads."""
    if key is None:
        return 0
    keys = [load.key for load in loads]
    if key in keys and key:
        return keys.index(key)
    if key.isascii() and key.isdecimal() and len(key) < 6 and 1 <= int(key) <= len(loads):
        return int(key) - 1
    raise ScenarioError("PAGE", printable(f"{path}#{key}"), f"{printable(path.name)} with {_listed(loads)}")


def _told_loads(path: Path, loads: Sequence[Load], at: int) -> Iterator[str]:
    if len(loads) > 1:
        other = 2 if at == 0 else 1
        take = f"PAGE={printable(str(path))}#{other} takes another"
        yield f"the file has {len(loads)} loads, and this is #{at + 1}; {take}: {_listed(loads)}"


def _listed(loads: Sequence[Load]) -> str:
    """Returns the loads in words, each with its number, its page's id, its first address, and its size."""
    words = []
    for number, load in enumerate(loads[:_LISTED_MOST], start=1):
        key = f" or #{printable(load.key)[:40]}" if load.key and load.key != str(number) else ""
        address, requests = printable(load.entries[0].url)[:60], len(load.entries)
        words.append(f"#{number}{key} ({address}, {requests} resource{'s' if requests > 1 else ''})")
    return ", ".join(words) + (f" and {len(loads) - _LISTED_MOST} more" if len(loads) > _LISTED_MOST else "")


class _Page:
    """A load whose entries become resources, in the order of their requests.

    parents: the position of the entry for which each waits. waits_ms: the time from its end. unused, stale: how many
    entries are too many, or waited for too long.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        self.entries: list[Entry] = []
        self.parents: list[int] = []
        self.waits_ms: list[float] = []
        self.unused = self.stale = 0
        self._by_url: dict[str, int] = {}
        self._causes = {each.url: each.initiator for each in reversed((*load.entries, *load.others))}
        for entry in load.entries:
            self._take(entry)
        entries = self.entries
        self.names = list(_names(entries))
        self.shortest_ms = min((each.wait_ms for each in entries if each.wait_ms is not None), default=0)
        has_fields = any(each.raw.sent("priority") for each in entries)
        self.signals = [_signal(each, has_fields=has_fields) for each in entries]
        self.without = sum(not signal for signal in self.signals)
        self.blocks = any(_blocks(each) for each in entries)
        self.important = set(self._important())
        self.uncaused = sum(not each.initiator for each in entries[1:])

    def _take(self, entry: Entry) -> None:
        """Makes an entry a resource, if there is room and it does not wait for too long."""
        parent = self._parent(entry)
        wait_ms = 0.0
        if self.entries:
            before = self.entries[parent]
            wait_ms = (entry.at - before.at).total_seconds() * 1000 - before.lasted_ms
        if wait_ms > LONGEST_MS:
            self.stale += 1
        elif len(self.entries) == RESOURCES_MOST:
            self.unused += 1
        else:
            self._by_url.setdefault(entry.url, len(self.entries))
            self.entries.append(entry)
            self.parents.append(parent)
            self.waits_ms.append(wait_ms)

    def _parent(self, entry: Entry) -> int:
        """Returns the position of the resource for which an entry waits."""
        url, passed = entry.initiator, set[str]()
        while url and url not in self._by_url and url not in passed:
            passed.add(url)
            url = self._causes.get(url, "")
        return self._by_url.get(url, 0)

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
            size = min(entry.size_bytes, SIZE_MOST)
            table = {
                "name": self.names[at],
                "path": f"/{self.names[at]}" if at else "/",
                "type": _type(entry.mime, size),
                "size": size,
                "important": at in self.important,
                "delay": _time(self.delay_ms(entry)),
                **self.signals[at],
            }
            if at:
                table |= {"after": self.names[self.parents[at]], "wait": _time(self.waits_ms[at])}
            yield table

    def delay_ms(self, entry: Entry) -> float:
        """Returns the time for which the origin holds a response back, which may be longer than a page can say."""
        return 0 if entry.wait_ms is None else entry.wait_ms - self.shortest_ms

    def left_out(self) -> Iterator[tuple[int, str]]:
        """Yields what was left out, as (number, words)."""
        yield from self.load.left_out()
        if self.stale:
            yield self.stale, f"more than {LONGEST_MS // 1000} s after what caused them"
        if self.unused:
            yield self.unused, f"after the first {RESOURCES_MOST} resources"


def _notes(page: _Page) -> Iterator[str]:
    hosts = {_host(entry) for entry in page.entries}
    used = len(page.entries)
    if len(hosts) > 1:
        yield f"the {used} resources came from {len(hosts)} hosts; here one front serves all on one connection"
    if left := [f"{number} {words}" for number, words in page.left_out()]:
        yield f"left out: {', '.join(left)}"
    if page.uncaused:
        yield f"the recording does not say what caused {page.uncaused} requests: they wait for the first resource"
    if page.without:
        yield f"the recording has no priority of {page.without} resources: they get urgency {_USUAL_URGENCY}"
    if cut := sum(page.delay_ms(each) > LONGEST_MS or each.size_bytes > SIZE_MOST for each in page.entries):
        yield f"{cut} resources are cut to a delay of {LONGEST_MS // 1000} s and {SIZE_MOST // 2**20} MiB"
    if not page.important:
        yield "no resource is more urgent than the others, so none is important: goodput is the answer"
    elif not page.blocks:
        yield f"{len(page.important)} resources of the highest recorded urgency count as important"
    if unknown := sum(each.wait_ms is None for each in page.entries):
        yield f"the recording has no time to the first byte of {unknown} resources: the origin sends them at once"
    if unknown < len(page.entries):
        yield "a server's time is the time to the first byte without the shortest one of the recording"


def _names(entries: Sequence[Entry]) -> Iterator[str]:
    """Yields a name for each entry, of the end of its address: unique, of a-z, 0-9 and -."""
    seen = {"ready"}  # the path of the origin's own page
    for entry in entries:
        end = _path(entry).rstrip("/").rpartition("/")[2] or "page"
        name = re.sub(r"[^a-z0-9]+", "-", end.lower()).strip("-")[:32].rstrip("-") or "resource"
        unique = next(each for each in chain([name], (f"{name}-x{at}" for at in count(2))) if each not in seen)
        seen.add(unique)
        yield unique


def _path(entry: Entry) -> str:
    """Returns the path of an entry's address."""
    return entry.url.partition("://")[2].partition("?")[0].partition("#")[0].partition("/")[2]


def _host(entry: Entry) -> str:
    """Returns the host of an entry's address, with its port."""
    return re.split(r"[/?#]", entry.url.partition("://")[2])[0]


def _type(kind: str, size: int) -> str:
    """Returns the content type with which the origin can serve this many bytes; images are served as JPEG."""
    kind = SCRIPT if kind in _SCRIPTS else JPEG if kind.startswith("image/") else kind
    return kind if _TYPE.fullmatch(kind) and size >= LEAST_BYTES.get(kind, 1) else _OTHER


def _signal(entry: Entry, *, has_fields: bool) -> dict[str, Any]:
    """Returns the keys of a page file for the priority on record; no keys if there is none.

    has_fields: True if some request of the recording has the field `priority`, so that its absence is a signal.
    """
    found: dict[str, Any] = {}
    weight, word = entry.raw.weight, str(entry.raw.priority or "").lower()
    if isinstance(weight, str) and weight.isdecimal():
        weight = int(weight)
    if isinstance(weight, int) and 1 <= weight <= 256:
        found["weight"] = weight
    if has_fields:
        text = entry.raw.sent("priority")
        urgency = _URGENCY.search(text)
        found["urgency"] = int(urgency[1]) if urgency else _USUAL_URGENCY
        found["incremental"] = bool(_INCREMENTAL.search(text))
    elif word in _WORDS:
        found["urgency"] = _WORDS[word]
    return found


def _blocks(entry: Entry) -> bool:
    return entry.raw.blocking in ("blocking", "in_body_parser_blocking")


def _time(time_ms: float) -> str:
    return f"{round(min(LONGEST_MS, max(0, time_ms)))}ms"
