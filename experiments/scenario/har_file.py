"""Reads a HAR into its loads. har_entry.py reads an entry.

Rules:
1. The entries of one `pageref` are a load; one without it belongs where the entry before it does. In these, a document
   begins a further load if a browser navigates to it (Sec-Fetch-Dest), if the load's first address comes again, or
   after a pause: for QUIET_MS nothing was asked for or under way. What else comes after a pause is left out.
2. A time without zone has the zone of the file's other times.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from priolab.common.errors import ScenarioError
from priolab.common.formats.files import MOST_DOCUMENT_BYTES, content, from_json, parsed, printable
from priolab.experiments.scenario.har_entry import Entry, read_entry
from priolab.experiments.scenario.page_bounds import LONGEST_MS

QUIET_MS = 5_000
"""The pause that ends a load: Lighthouse takes a network that is quiet for so long for a page at rest."""

_EVENTS = "text/event-stream"
_GZIP = b"\x1f\x8b"


@dataclass(kw_only=True)
class Load:
    """A load. key: the id of its page in the HAR; empty without one. entries: in the order of their requests.

    others: what was left out, as entries. late: the number of entries after a pause.
    """

    key: str
    entries: list[Entry] = field(default_factory=list)
    others: list[Entry] = field(default_factory=list)
    late: int = 0

    def left_out(self) -> Iterator[tuple[int, str]]:
        """Yields what was left out, as (number, words)."""
        for (one, several), number in Counter(each.left_out for each in self.others if each.left_out).items():
            yield number, one if number == 1 else several
        if self.late:
            yield self.late, f"after a pause of {QUIET_MS // 1000} s or more"


def read_loads(where: str, path: Path) -> list[Load]:
    """Returns the loads of a file, in order of time. where: the file, for errors. Raises ScenarioError.

    Each load has an entry that is not left out. There may be no load.
    """
    try:
        log = _without_nulls(parsed(from_json, _unzipped(content(path, MOST_DOCUMENT_BYTES))))
        log = log.get("log") if isinstance(log, dict) else None
        tables = log.get("entries") if isinstance(log, dict) else None
        if not isinstance(tables, list):
            raise ValueError("it has no list `entries` in a table `log`")
    except (OSError, ValueError) as error:
        reason = printable(getattr(error, "strerror", None) or str(error))
        raise ScenarioError("PAGE", printable(str(path)), f"a HAR that can be read ({reason})") from error
    loads: list[Load] = []
    for page, group in _by_page(_entries(where, tables)):
        loads += _loads(page, group)
    return sorted(loads, key=lambda load: load.entries[0].at)


def _unzipped(packed: bytes) -> bytes:
    """Returns the bytes of a file that may be packed by gzip. Raises ValueError."""
    if not packed.startswith(_GZIP):
        return packed
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        plain = inflate.decompress(packed, MOST_DOCUMENT_BYTES)
    except zlib.error:
        raise ValueError("its gzip is damaged") from None
    if not inflate.eof:
        raise ValueError(f"its gzip is cut off, or holds more than {MOST_DOCUMENT_BYTES // 2**20} MiB")
    return plain


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _entries(where: str, tables: Sequence[Any]) -> list[Entry]:
    """Returns the entries, by the time of their requests. One without a time comes after the one before it.

    Raises ScenarioError.
    """
    made = [read_entry(f"{where}: entry {number}", table) for number, table in enumerate(tables, start=1)]
    times = [each.started for each in made if each.started]
    zone = next((time.tzinfo for time in times if time.tzinfo), UTC)
    last = next(iter(times), datetime.min)
    for at, each in enumerate(made):
        last = each.started or last
        made[at] = replace(each, started=last if last.tzinfo else last.replace(tzinfo=zone))
    return sorted(made, key=lambda each: each.at)


def _by_page(entries: Sequence[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Yields the entries of each page, with the page's id."""
    groups: dict[str, list[Entry]] = {}
    page = next((each.page for each in entries if each.page), "")
    for each in entries:
        page = each.page or page
        groups.setdefault(page, []).append(each)
    yield from groups.items()


def _loads(page: str, entries: Sequence[Entry]) -> list[Load]:
    """Returns the loads among the entries of a page."""
    loads, busy_until_ms = [Load(key=page)], 0.0
    began = next((each.at for each in entries if not each.left_out), datetime.min)
    for each in entries:
        load = loads[-1]
        if each.left_out:
            load.others.append(each)
            continue
        at_ms = (each.at - began).total_seconds() * 1000
        paused = at_ms - busy_until_ms >= QUIET_MS
        if load.entries and each.is_document and (paused or load.late or each.begins_anew(load.entries[0])):
            load = Load(key="")
            loads.append(load)
        elif paused or load.late:
            load.late += 1
            continue
        load.entries.append(each)
        lasted_ms = (each.wait_ms or 0) if each.mime == _EVENTS else each.lasted_ms
        busy_until_ms = max(busy_until_ms if len(load.entries) > 1 else 0, at_ms + min(lasted_ms, LONGEST_MS))
    return [load for load in loads if load.entries]
