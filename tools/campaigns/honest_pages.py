"""Draws pages for `make honest`: documents from 1 to 100 KiB, chains, chunks, waits, several important resources."""

import math
import random
from collections.abc import Sequence

_TYPES = ("image/jpeg", "text/javascript", "text/css", "text/event-stream", "application/octet-stream")
_LEAST_BYTES = 2048
"""The smallest size that every content type allows."""
_ALONE = 0.08
"""The share of pages that are a single resource."""


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
