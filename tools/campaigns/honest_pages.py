"""Draws pages for `make honest`: documents from 1 to 100 KiB, chains, chunks, waits, several important resources.

One in eight is a recording (HAR), with priorities and the times at which each resource was asked for and ready.
"""

import json
import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_TYPES = ("image/jpeg", "text/javascript", "text/css", "text/event-stream", "application/octet-stream")
_LEAST_BYTES = 2048
"""The smallest size that every content type allows."""
_ALONE = 0.08
"""The share of pages that are a single resource."""


_RECORDED = 1 / 8
_FIELDS = ("u=0", "u=1", "u=2, i", "u=5, i", "")


def draw_page_file(chance: random.Random, folder: Path) -> Path:
    """Writes a page file into the folder, and returns its path."""
    recorded = chance.random() < _RECORDED
    file = folder / ("drawn.har" if recorded else "drawn.toml")
    file.write_text(draw_recording(chance) if recorded else draw_page(chance))
    return file


def draw_recording(chance: random.Random) -> str:
    """Returns a page as a HAR: an HTML document, and up to 20 resources that wait for any before them."""
    urls = [f"https://drawn.test/{number}" for number in range(chance.choice((2, 4, 8, 21)))]
    return json.dumps({"log": {"entries": [_entry(chance, urls, number) for number in range(len(urls))]}})


def _entry(chance: random.Random, urls: Sequence[str], number: int) -> dict[str, Any]:
    size, kind = _size(chance, _LEAST_BYTES, 200 * 1024), chance.choice(_TYPES) if number else "text/html"
    started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=number * 40 + chance.randrange(40))
    headers = [{"name": "priority", "value": chance.choice(_FIELDS)}]
    return {
        "startedDateTime": started.isoformat(),
        "time": chance.randrange(20, 400),
        "request": {"url": urls[number], "headers": headers},
        "response": {"status": 200, "bodySize": size, "content": {"size": size, "mimeType": kind}},
        "timings": {"wait": chance.choice((1, 10, 150))},
        "_initiator": {"type": "parser", "url": chance.choice(urls[:number])} if number else None,
    }


def draw_page(chance: random.Random) -> str:
    """Returns a page as TOML. Seven in eight begin with HTML that the first resources wait for."""
    if chance.random() < _ALONE:
        return _page([_resource("file", chance, important=True, after=None)])
    names = [f"r{number}" for number in range(chance.choice((1, 2, 2, 3, 4, 8)))]
    important = set(chance.sample(names, min(len(names), chance.choice((1, 1, 1, 2, 3)))))
    roots = ["page"] if chance.random() < 7 / 8 else []
    tables = [_html(chance)] if roots else []
    for index, name in enumerate(names):
        before = [*roots, *names[:index]]
        after = chance.choice(before) if before and chance.random() < 0.3 else next(iter(roots), None)
        tables.append(_resource(name, chance, important=name in important, after=after))
    return _page(tables)


def _page(tables: Sequence[str]) -> str:
    return 'title = "a drawn page"\nready = "it is there"\n' + "".join(tables)


def _html(chance: random.Random) -> str:
    lines = ['name = "page"', 'type = "text/html; charset=utf-8"', "urgency = 0"]
    if chance.random() < 0.2:
        first_bytes, count = chance.randrange(1024, 8192), chance.randrange(1, 12)
        every_ms = chance.choice((1, 20, 150))
        lines.append(f'chunks = [{{ at = "5ms", bytes = {first_bytes}, every = "{every_ms}ms", count = {count} }}]')
    else:
        lines.append(f"size = {_size(chance, 1024, 100 * 1024)}")
        lines.append(f'delay = "{chance.choice((0, 0, 0, 5, 250))}ms"')
    return _table(lines)


def _resource(name: str, chance: random.Random, *, important: bool, after: str | None) -> str:
    lines = [f'name = "{name}"', f'type = "{chance.choice(_TYPES)}"', f"urgency = {chance.randrange(8)}"]
    lines.append(f"important = {str(important).lower()}")
    lines.append(f"incremental = {chance.choice(('true', 'false'))}")
    if chance.random() < 0.3:
        lines.append(f"weight = {chance.choice((1, 8, 100, 256))}")
    if chance.random() < 0.15:
        lines.append(f"header_bytes = {chance.choice((100, 1400, 3072))}")
    if after is not None:
        lines.append(f'after = "{after}"')
        if chance.random() < 0.2:
            lines.append(f'wait = "{chance.choice((10, 400))}ms"')
    if chance.random() < 0.15:
        size_bytes, count = chance.choice(((40, 100), (3000, 20), (20000, 5))), chance.choice((20, 300))
        lines.append(
            f'chunks = [{{ at = "0ms", bytes = {max(_LEAST_BYTES, size_bytes[0])} }}, '
            f'{{ at = "{count}ms", bytes = {size_bytes[0]}, every = "{count}ms", count = {size_bytes[1]} }}]'
        )
    else:
        lines.append(f"size = {_size(chance, _LEAST_BYTES, chance.choice((20, 200, 1000)) * 1024)}")
        lines.append(f'delay = "{chance.choice((0, 0, 30, 200))}ms"')
    return _table(lines)


def _size(chance: random.Random, least: int, most: int) -> int:
    """Returns a size whose logarithm is uniform."""
    return round(least * math.pow(most / least, chance.random()))


def _table(lines: Sequence[str]) -> str:
    return "\n[[resource]]\n" + "\n".join(lines) + "\n"
