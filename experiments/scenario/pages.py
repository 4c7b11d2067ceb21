"""Pages: the files in pages/, and the user's own page files.

A file has a `title`, and a text `ready`, such as "the map works", for the moment at which the important resources are
complete. It has a table `[[resource]]` for each request, in the order of the requests. docs/guide/pages.md explains the
keys.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from priolab.client.priorities import http2_weight
from priolab.common.formats.files import MOST_TOML_BYTES, content, parsed, printable
from priolab.common.formats.page import Chunk, Page, Resource
from priolab.experiments.errors import ScenarioError
from priolab.netem import units, words

_CATALOGUE = Path(__file__).resolve().parent / "pages"
SIZE_MOST = 64 * 1024 * 1024
_RESOURCES_MOST = 100
_PIECES_MOST = 10_000
_BYTES_MOST = 2**30
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_PATH = re.compile(r"(?!.*/\.{0,2}/|.*/\.{1,2}$)/[A-Za-z0-9._~/-]{0,99}", re.ASCII)  # as a browser requests it
_SITE_PATH = re.compile(r"/[!-~]{0,499}", re.ASCII)
_TITLE_MOST = 200
_READY_MOST = 40
_SHOWN_MOST = 60
_TYPE = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+(; charset=utf-8)?", re.ASCII)
_HTML, _SCRIPT, _JPEG = "text/html", "text/javascript", "image/jpeg"
_SUFFIXES = {_JPEG: ".jpg", _SCRIPT: ".js", "text/css": ".css"}
_TAGGED = (_JPEG, _SCRIPT, "text/css")
_LEAST = {_JPEG: 2048, _SCRIPT: 256, "text/css": 16}
_HTML_BYTES, _TAG_BYTES, _FETCHING_BYTES, _HINT_BYTES = 400, 36, 660, 21  # upper bounds of what backend/page.mjs writes
_REQUIRED = object()


@dataclass(frozen=True, kw_only=True)
class _Key:
    """A key of a table in a page file.

    parse: turns the value in the file into the value of the page; raises ValueError. allowed: the allowed values, for
    errors. default: the value if the table lacks the key; _REQUIRED if the table must have the key.
    """

    parse: Callable[[Any], Any]
    allowed: str
    default: Any = None


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The values of the knobs SIZE and JS_DELAY, which a page file may name in place of a size or a delay."""

    size_bytes: int
    script_delay_ns: int


def _text(pattern: re.Pattern[str]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError
        return value

    return parse


def _type(value: Any) -> str:
    found = _text(_TYPE)(value)
    if found.startswith("image/") and found != _JPEG:
        raise ValueError
    return found


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError
        return value

    return parse


def _size(value: Any) -> int:
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() else units.parse_size_bytes(value)
    return _whole(1, SIZE_MOST)(value)


def _time(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError
    return words.parse_delay_ns(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


_TIMES = "a time such as 200ms, from 0ms to 60s"
_CHUNK_KEYS: Mapping[str, _Key] = {
    "at": _Key(parse=_time, allowed=_TIMES, default=_REQUIRED),
    "bytes": _Key(parse=_size, allowed="1 byte to 64M", default=_REQUIRED),
    "every": _Key(parse=_time, allowed=_TIMES, default=0),
    "count": _Key(parse=_whole(1, _PIECES_MOST), allowed=f"1 to {_PIECES_MOST}", default=1),
}
_NAMES = "1 to 40 characters of a-z, 0-9 and -"
_KEYS: dict[str, _Key] = {
    "name": _Key(parse=_text(_NAME), allowed=_NAMES, default=_REQUIRED),
    "type": _Key(parse=_type, allowed="a content type such as text/css; for images, image/jpeg", default=_REQUIRED),
    "path": _Key(parse=_text(_PATH), allowed="a path such as /image.jpg, without empty parts, . and .."),
    "size": _Key(parse=_size, allowed="1 byte to 64M, or SIZE"),
    "delay": _Key(parse=_time, allowed=f"{_TIMES}, or JS_DELAY", default=0),
    "important": _Key(parse=_flag, allowed="true, false", default=False),
    "urgency": _Key(parse=_whole(0, 7), allowed="0 to 7", default=3),
    "incremental": _Key(parse=_flag, allowed="true, false", default=False),
    "weight": _Key(parse=_whole(1, 256), allowed="1 to 256"),
    "depends_on": _Key(parse=_text(_NAME), allowed="the name of another resource"),
    "after": _Key(parse=_text(_NAME), allowed="the name of an earlier resource of the page"),
    "wait": _Key(parse=_time, allowed=_TIMES, default=0),
    "chunks": _Key(parse=lambda value: value, allowed="a list of tables {at, bytes, every, count}"),
    "fetchpriority": _Key(parse=_text(re.compile("high|low|auto")), allowed="high, low, auto"),
    "headers": _Key(parse=_time, allowed=_TIMES),
}
_SITE_KEYS = _KEYS | {
    "path": _Key(parse=_text(_SITE_PATH), allowed="a path such as /image.jpg, or /image?width=200"),
}


@cache
def catalogue() -> Mapping[str, Path]:
    """Returns the file of each page of the catalogue, by the page's name."""
    return MappingProxyType({path.stem: path for path in sorted(_CATALOGUE.glob("*.toml"))})


def page_titles() -> Mapping[str, str]:
    """Returns the title of each page of the catalogue, by the page's name."""
    return {name: str(_document(path).get("title", name)) for name, path in catalogue().items()}


def page_of(text: str, parameters: Parameters) -> Page:
    """Returns the page of the catalogue, or the page in a file. text: a name, or a path. Raises ScenarioError."""
    if text.endswith(".toml"):
        return read_page(Path(text), parameters)
    if text not in catalogue():
        raise ScenarioError("PAGE", text, f"{', '.join(catalogue())}, or a path that ends in .toml")
    return _of_catalogue(text, parameters)


@cache
def _of_catalogue(name: str, parameters: Parameters) -> Page:
    return read_page(catalogue()[name], parameters)


def site_page(text: str) -> Page:
    """Returns the page of the catalogue or in a file, for a load from a running site. Raises ScenarioError.

    A resource's size and delay follow from the site, so the file may leave them out; the page has the sizes of the file
    or, without a size, 1 byte. Paths may have a query.
    """
    path = catalogue().get(text)
    if path is None and not text.endswith(".toml"):
        raise ScenarioError("--load", text, f"{', '.join(catalogue())}, or a path that ends in .toml")
    return read_page(path or Path(text), Parameters(size_bytes=SIZE_MOST, script_delay_ns=0), of_site=True)


def read_page(path: Path, parameters: Parameters, *, of_site: bool = False) -> Page:
    """Returns the page in a file. Raises ScenarioError, which names the file, the key and what is allowed.

    of_site: True for a page of a running site, see `site_page`.
    """
    where = f"PAGE={printable(str(path))}"
    document = _document(path)
    _check_keys(where, document, ("title", "ready", "resource"))
    tables = document.get("resource")
    if not isinstance(tables, list) or not 1 <= len(tables) <= _RESOURCES_MOST:
        given = f"{len(tables)} tables" if isinstance(tables, list) else "nothing" if tables is None else _shown(tables)
        raise ScenarioError(f"{where}: resource", given, f"1 to {_RESOURCES_MOST} tables [[resource]]")
    used: list[str] = []
    resources: list[Resource] = []
    for number, table in enumerate(tables, start=1):
        resources.append(_resource(f"{where}: resource {number}", table, parameters, used, of_site=of_site))
    page = Page(
        name=_name(path),
        title=_line(where, document, "title", _TITLE_MOST) or printable(path.stem),
        ready=_line(where, document, "ready", _READY_MOST) or Page.ready,
        parameters=tuple(dict.fromkeys(used)),
        resources=tuple(resources),
    )
    _check_page(where, page, of_site=of_site)
    return page


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document: Mapping[str, Any] = parsed(tomllib.loads, content(path, MOST_TOML_BYTES))
    except (OSError, ValueError) as error:
        raise ScenarioError(
            "PAGE", printable(str(path)), f"a readable TOML file ({getattr(error, 'strerror', None) or error})"
        ) from error
    return document


def _name(path: Path) -> str:
    """Returns the name of the page in a file: the file's name without `.toml`.

    Keeps `.toml` if the catalogue has a page of that name in another file.
    """
    known = catalogue().get(path.stem)
    return printable(path.stem if known is None or known == path.resolve() else path.name)


def _line(where: str, document: Mapping[str, Any], key: str, most: int) -> str | None:
    """Returns the text of one line that the page file has for a key; None if the file does not have the key.

    where: the name of the file, for errors. most: the largest number of characters. Raises ScenarioError.
    """
    text = document.get(key)
    if key in document and not (isinstance(text, str) and text.isprintable() and 1 <= len(text) <= most):
        raise ScenarioError(f"{where}: {key}", _shown(text), f"a line of 1 to {most} characters")
    return text


def _shown(value: Any) -> str:
    """Returns a value as an error message shows it: on one line, and shortened."""
    text = printable(str(value))
    return text if len(text) <= _SHOWN_MOST else f"{text[:_SHOWN_MOST]}..."


def _resource(where: str, table: Any, parameters: Parameters, used: list[str], *, of_site: bool) -> Resource:
    if not isinstance(table, dict):
        raise ScenarioError(where, _shown(table), f"a table of {', '.join(_KEYS)}")
    if "name" in table:
        where = f"{where} ({_shown(table['name'])})"
    named = {
        key: (knob, value)
        for key, knob, value in (
            ("size", "SIZE", parameters.size_bytes),
            ("delay", "JS_DELAY", parameters.script_delay_ns),
        )
        if table.get(key) == knob
    }
    used += [knob for knob, _ in named.values()]
    keys = _SITE_KEYS if of_site else _KEYS
    read = _read(where, {key: value for key, value in table.items() if key not in named}, keys)
    read |= {key: value for key, (_, value) in named.items()}
    chunks = tuple(_chunks(where, read.pop("chunks")))
    kind = read.pop("type")
    size = read.pop("size")
    size_bytes = size or 1 if of_site and not chunks else _size_bytes(where, size, kind, chunks)
    if chunks and read["delay"]:
        raise ScenarioError(
            f"{where}: delay", str(table["delay"]), "no delay with chunks, which have times of their own"
        )
    first_ns = chunks[0].at_ns if chunks else read["delay"]
    if read["headers"] is not None and read["headers"] > first_ns:
        allowed = f"at most {first_ns / 10**6:.15g}ms, the time of the response's first byte"
        raise ScenarioError(f"{where}: headers", str(table["headers"]), allowed)
    name, urgency = read["name"], read["urgency"]
    return Resource(
        name=name,
        path=read["path"] or ("/" if kind.startswith(_HTML) else f"/{name}{_SUFFIXES.get(_plain(kind), '')}"),
        content_type=kind,
        size_bytes=size_bytes,
        delay_ns=read["delay"],
        important=read["important"],
        urgency=urgency,
        incremental=read["incremental"],
        weight=read["weight"] or http2_weight(urgency),
        depends_on=read["depends_on"],
        after=read["after"],
        wait_ns=read["wait"],
        chunks=chunks,
        headers_ns=read["headers"],
        fetchpriority=read["fetchpriority"],
    )


def _plain(kind: str) -> str:
    return kind.partition(";")[0]


def _chunks(where: str, value: Any) -> list[Chunk]:
    if value is None:
        return []
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        raise ScenarioError(f"{where}: chunks", _shown(value), _KEYS["chunks"].allowed)
    made = []
    for number, table in enumerate(value, start=1):
        read = _read(f"{where}: chunk {number}", table, _CHUNK_KEYS)
        made.append(Chunk(at_ns=read["at"], size_bytes=read["bytes"], every_ns=read["every"], count=read["count"]))
    if sum(chunk.count for chunk in made) > _PIECES_MOST:
        raise ScenarioError(
            f"{where}: chunks", f"{sum(chunk.count for chunk in made)} pieces", f"at most {_PIECES_MOST} pieces"
        )
    for before, after in pairwise(made):
        if after.at_ns < before.last_ns:
            raise ScenarioError(f"{where}: chunks", units.format_time(after.at_ns), "times in ascending order")
    return made


def _size_bytes(where: str, size: int | None, kind: str, chunks: Sequence[Chunk]) -> int:
    total = sum(chunk.total_bytes for chunk in chunks)
    if chunks and size not in (None, total):
        raise ScenarioError(f"{where}: size", str(size), f"{total}, the sum of its chunks, or no size")
    size = total if chunks else size
    least = next((least for start, least in _LEAST.items() if kind.startswith(start)), 1)
    if size is None or not least <= size <= SIZE_MOST:
        given = "nothing" if size is None else str(size)
        raise ScenarioError(f"{where}: size", given, f"{least} to 64M bytes for {_plain(kind)}")
    return size


def _read(where: str, table: Mapping[str, Any], keys: Mapping[str, _Key]) -> dict[str, Any]:
    """Reads a table of a page file: returns the value of each key, or the key's default. Raises ScenarioError."""
    _check_keys(where, table, keys)
    found = {}
    for name, key in keys.items():
        if name not in table:
            if key.default is _REQUIRED:
                raise ScenarioError(f"{where}: {name}", "nothing", key.allowed)
            found[name] = key.default
            continue
        try:
            found[name] = key.parse(table[name])
        except (ValueError, TypeError, AttributeError):
            raise ScenarioError(f"{where}: {name}", _shown(table[name]), key.allowed) from None
    return found


def _check_keys(where: str, table: Mapping[str, Any], known: Any) -> None:
    if unknown := sorted(set(table) - set(known)):
        raise ScenarioError(where, _shown(", ".join(unknown)), f"the keys {', '.join(known)}")


def _html_bytes(page: Page, html: Resource) -> int:
    """Returns an upper bound of the size of the HTML that the origin writes.

    For each resource that waits for another resource, the HTML has a tag, or a line in a script that fetches
    the resource.
    """
    waiting = [resource for resource in page.resources if resource.after is not None]
    tags = sum(_TAG_BYTES + 2 * len(each.path) + len(each.name) + len(each.after or "") for each in waiting)
    tags += sum(_HINT_BYTES for each in waiting if each.fetchpriority)
    fetches = any(each.after != html.name or not each.content_type.startswith(_TAGGED) for each in waiting)
    return _HTML_BYTES + tags + (_FETCHING_BYTES + len(html.name) if fetches else 0)


def _check_page(where: str, page: Page, *, of_site: bool) -> None:
    """Checks the resources' names, paths, dependencies and sizes, and that the page has an important resource.

    Raises ScenarioError.
    """
    seen: dict[str, Resource] = {}
    names = [resource.name for resource in page.resources]
    for resource in page.resources:
        here = f"{where}: {resource.name}"
        if resource.name in seen:
            raise ScenarioError(f"{here}: name", resource.name, "a name that no other resource has")
        if resource.path == "/ready" or resource.path in {other.path for other in seen.values()}:
            raise ScenarioError(f"{here}: path", resource.path, "a path that no other resource has, and not /ready")
        if resource.after is not None and resource.after not in seen:
            raise ScenarioError(f"{here}: after", resource.after, _KEYS["after"].allowed)
        if resource.depends_on is not None and resource.depends_on not in set(names) - {resource.name}:
            raise ScenarioError(f"{here}: depends_on", resource.depends_on, _KEYS["depends_on"].allowed)
        seen[resource.name] = resource
        least = 0 if of_site else _html_bytes(page, resource)
        if resource.content_type.startswith(_HTML) and resource.size_bytes < least:
            raise ScenarioError(
                f"{here}: size",
                str(resource.size_bytes),
                f"at least {least} bytes, for HTML that loads the resources with the key `after`",
            )
    for resource in page.resources:
        _check_tree(f"{where}: {resource.name}", page, resource)
    if not page.important:
        raise ScenarioError(f"{where}: important", "none", "true for at least one resource")
    total = sum(resource.size_bytes for resource in page.resources)
    if total > _BYTES_MOST and not of_site:
        raise ScenarioError(f"{where}: size", f"{total} bytes in all", f"at most {_BYTES_MOST} bytes")


def _check_tree(here: str, page: Page, resource: Resource) -> None:
    """Checks that the resource does not depend on itself through other resources. Raises ScenarioError."""
    parent, passed = resource.depends_on, set[str]()
    while parent is not None and parent not in passed:
        if parent == resource.name:
            allowed = "the name of a resource that does not depend on this resource"
            raise ScenarioError(f"{here}: depends_on", str(resource.depends_on), allowed)
        passed.add(parent)
        parent = page[parent].depends_on
