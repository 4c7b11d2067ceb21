"""Pages: the files in pages/, the user's own page files, and recordings of browsers (har.py).

A file has a `title`, and a text `ready`, such as "the map works", for the moment at which the important resources are
complete. It has a table `[[resource]]` for each request, in the order of the requests. docs/guide/pages.md explains the
keys.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct
from msgspec.structs import asdict

from priolab.client.priorities import http2_weight
from priolab.common.errors import ScenarioError
from priolab.common.formats.files import printable
from priolab.common.formats.page import Chunk, Cue, Page, Resource
from priolab.common.formats.toml_schema import declared, read_toml
from priolab.experiments.scenario.har import SUFFIXES, Recorded, read_har
from priolab.experiments.scenario.page_bounds import HTML, JPEG, LEAST_BYTES, RESOURCES_MOST, SCRIPT, SIZE_MOST
from priolab.netem import link_options, units
from priolab.netem.parsers import size

_CATALOGUE = Path(__file__).resolve().parent / "pages"
_PIECES_MOST = 10_000
_BYTES_MOST = 2**30
_XHTML = "application/xhtml+xml"
_FILE = re.compile(rf"(.*?(?:{'|'.join(map(re.escape, reversed(SUFFIXES)))}))(?:#(.*))?|.*\.toml", re.DOTALL)
_SUFFIXES = {JPEG: ".jpg", SCRIPT: ".js", "text/css": ".css"}
_TAGGED = (JPEG, SCRIPT, "text/css")
_HTML_BYTES, _TAG_BYTES, _FETCHING_BYTES, _HINT_BYTES = 400, 36, 660, 21  # upper bounds of what backend/page.mjs writes


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The values of the knobs SIZE and JS_DELAY, which a page file may name in place of a size or a delay."""

    size_bytes: int
    script_delay_ns: int


class _Size(int):
    """A number of bytes, from 1 to SIZE_MOST."""

    @classmethod
    def read(cls, value: Any) -> Self:
        if type(value) not in (int, str):
            raise ValueError
        return cls(_BYTES(str(value)))


class _Time(int):
    """A time in nanoseconds."""

    @classmethod
    def read(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise ValueError
        return cls(link_options.parse_delay_ns(value))


class _Line(str):
    """A text of one line. most: the largest number of characters."""

    most = 200

    @classmethod
    def read(cls, value: Any) -> Self:
        if not (isinstance(value, str) and value.isprintable() and 1 <= len(value) <= cls.most):
            raise ValueError
        return cls(value)


class _ShortLine(_Line):
    most = 40


_BYTES = size(1, SIZE_MOST)
_TIMES = "a time such as 200ms, from 0ms to 60s"
_AFTER, _DEPENDS_ON = "the name of an earlier resource of the page", "the name of another resource"
_NAME = r"^[a-z0-9][a-z0-9-]{0,39}\Z"
_PATH = r"^(?!.*/\.{0,2}/|.*/\.{1,2}\Z)/[A-Za-z0-9._~/-]{0,99}\Z"  # as a browser requests it
_SITE_PATH = r"^/[!-~]{0,499}\Z"
_TYPE = r"^(?!image/(?!jpeg\Z))[a-z0-9.+-]+/[a-z0-9.+-]+(; charset=utf-8)?\Z"

_Times = Annotated[_Time, Meta(description=_TIMES)]


_HEADER_MOST = 3072
"""The largest header field: with the other fields, what nginx takes from an origin (proxy_buffer_size)."""


class _Chunk(Struct, forbid_unknown_fields=True, kw_only=True):
    at: _Times
    bytes: Annotated[_Size, Meta(description="1 byte to 64M")]
    every: _Times = _Time(0)
    count: Annotated[int, Meta(ge=1, le=_PIECES_MOST, description=f"1 to {_PIECES_MOST}")] = 1


_FIELD = Annotated[str, Meta(pattern=r"^[ -~]{0,200}\Z", description="at most 200 characters of ASCII")]
_STEP = Annotated[int, Meta(ge=0, le=100, description="0 to 100")]


class _Cue(Struct, forbid_unknown_fields=True, kw_only=True):
    field: _FIELD = ""
    early: _FIELD | None = None
    at_once: _FIELD | None = None
    updates: tuple[_FIELD, ...] = ()
    request_step: _STEP = 0
    window_step: _STEP = 0
    answer: _FIELD | None = None
    more: _FIELD | None = None


class _Resource(Struct, forbid_unknown_fields=True, kw_only=True):
    name: Annotated[str, Meta(pattern=_NAME, description="1 to 40 characters of a-z, 0-9 and -")]
    type: Annotated[str, Meta(pattern=_TYPE, description="a content type such as text/css; for images, image/jpeg")]
    path: (
        Annotated[str, Meta(pattern=_PATH, description="a path such as /image.jpg, without empty parts, . and ..")]
        | None
    ) = None
    size: Annotated[_Size, Meta(description="1 byte to 64M, or SIZE")] | None = None
    delay: Annotated[_Time, Meta(description=f"{_TIMES}, or JS_DELAY")] = _Time(0)
    important: bool = False
    urgency: Annotated[int, Meta(ge=0, le=7, description="0 to 7")] = 3
    incremental: bool = False
    weight: Annotated[int, Meta(ge=1, le=256, description="1 to 256")] | None = None
    depends_on: Annotated[str, Meta(pattern=_NAME, description=_DEPENDS_ON)] | None = None
    after: Annotated[str, Meta(pattern=_NAME, description=_AFTER)] | None = None
    wait: _Times = _Time(0)
    chunks: Annotated[
        tuple[_Chunk, ...], Meta(min_length=1, description="a list of tables {at, bytes, every, count}")
    ] = ()
    fetchpriority: Literal["high", "low", "auto"] | None = None
    headers: Annotated[_Time, Meta(description=_TIMES)] | None = None
    header_bytes: Annotated[int, Meta(ge=0, le=_HEADER_MOST, description=f"0 to {_HEADER_MOST}")] = 0
    cue: _Cue | None = None


class _SiteResource(_Resource, kw_only=True):
    path: (
        Annotated[str, Meta(pattern=_SITE_PATH, description="a path such as /image.jpg, or /image?width=200")] | None
    ) = None


_TABLES = Meta(min_length=1, max_length=RESOURCES_MOST, description=f"1 to {RESOURCES_MOST} tables [[resource]]")


class _File(Struct, forbid_unknown_fields=True, kw_only=True):
    title: Annotated[_Line, Meta(description=f"a line of 1 to {_Line.most} characters")] | None = None
    ready: Annotated[_ShortLine, Meta(description=f"a line of 1 to {_ShortLine.most} characters")] | None = None
    resource: Annotated[tuple[_Resource, ...], _TABLES]


class _SiteFile(_File, kw_only=True):
    resource: Annotated[tuple[_SiteResource, ...], _TABLES]


@cache
def catalogue() -> Mapping[str, Path]:
    """Returns the file of each page of the catalogue, by the page's name."""
    return MappingProxyType({path.stem: path for path in sorted(_CATALOGUE.glob("*.toml"))})


def allowed_pages() -> str:
    """Returns in words what PAGE may be."""
    return f"{', '.join(catalogue())}, or a path that ends in .toml, .har or .har#LOAD"


def page_titles() -> Mapping[str, str]:
    """Returns the title of each page of the catalogue, by the page's name."""
    return {name: str(read_toml("PAGE", path).get("title", name)) for name, path in catalogue().items()}


def page_of(text: str, parameters: Parameters) -> Page:
    """Returns the page of the catalogue, or the page in a file. text: a name, or a path. Raises ScenarioError."""
    if _FILE.fullmatch(text):
        return read_page(Path(text), parameters)
    if text not in catalogue():
        raise ScenarioError("PAGE", text, allowed_pages())
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
    if path is None and not _FILE.fullmatch(text):
        raise ScenarioError("--load", text, allowed_pages())
    return read_page(path or Path(text), Parameters(size_bytes=SIZE_MOST, script_delay_ns=0), of_site=True)


def read_page(path: Path, parameters: Parameters, *, of_site: bool = False) -> Page:
    """Returns the page in a file. Raises ScenarioError, which names the file, the key and what is allowed.

    path: that of a HAR may be followed by # and the number or id of a load. of_site: True for a page of a running site,
    see `site_page`.
    """
    where = f"PAGE={printable(str(path))}"
    found = _FILE.fullmatch(str(path))
    if is_recorded := found is not None and found[1] is not None:
        path = Path(found[1])
        recorded = read_har(f"PAGE={printable(found[1])}", path, found[2])
    else:
        recorded = Recorded(document=read_toml("PAGE", path), notes=())
    document = recorded.document
    used = _put_in(document.get("resource"), parameters)
    read = declared(where, document, _SiteFile if of_site else _File)
    resources = [
        _resource(f"{where}: resource {number} ({each.name})", each, of_site=of_site)
        for number, each in enumerate(read.resource, start=1)
    ]
    page = Page(
        name=_name(path) + (f"-{recorded.number}" if recorded.number > 1 else ""),
        title=read.title or printable(path.stem),
        ready=read.ready or Page.ready,
        parameters=tuple(used),
        resources=tuple(resources),
        notes=recorded.notes,
    )
    if is_recorded:
        page = _with_small_documents(page)
    _check_page(where, page, of_site=of_site)
    return page


def _put_in(tables: Any, parameters: Parameters) -> dict[str, None]:
    """Puts the parameters in place of their names in the tables of a file. Returns the names, in order."""
    used: dict[str, None] = {}
    for table in tables if isinstance(tables, list) else ():
        for key, name, value in (
            ("size", "SIZE", parameters.size_bytes),
            ("delay", "JS_DELAY", _Time(parameters.script_delay_ns)),
        ):
            if isinstance(table, dict) and table.get(key) == name:
                table[key] = value
                used[name] = None
    return used


def _name(path: Path) -> str:
    """Returns the name of the page in a file: the file's name without its ending.

    Keeps the ending if the catalogue has a page of that name in another file.
    """
    stem = path.name.removesuffix(".gz").rpartition(".")[0]
    known = catalogue().get(stem)
    return printable(stem if known is None or known == path.resolve() else path.name)


def _resource(where: str, read: _Resource, *, of_site: bool) -> Resource:
    chunks = _chunks(where, read.chunks)
    size_bytes = read.size or 1 if of_site and not chunks else _size_bytes(where, read.size, read.type, chunks)
    if chunks and read.delay:
        raise ScenarioError(
            f"{where}: delay", units.format_time(read.delay), "no delay with chunks, which have times of their own"
        )
    first_ns = chunks[0].at_ns if chunks else read.delay
    if read.headers is not None and read.headers > first_ns:
        allowed = f"at most {first_ns / 10**6:.15g}ms, the time of the response's first byte"
        raise ScenarioError(f"{where}: headers", units.format_time(read.headers), allowed)
    suffix = _SUFFIXES.get(_plain(read.type), "")
    return Resource(
        name=read.name,
        path=read.path or ("/" if read.type.startswith(HTML) else f"/{read.name}{suffix}"),
        content_type=read.type,
        size_bytes=size_bytes,
        delay_ns=read.delay,
        important=read.important,
        urgency=read.urgency,
        incremental=read.incremental,
        weight=read.weight or http2_weight(read.urgency),
        depends_on=read.depends_on,
        after=read.after,
        wait_ns=read.wait,
        chunks=chunks,
        headers_ns=read.headers,
        header_bytes=read.header_bytes,
        fetchpriority=read.fetchpriority,
        cue=None if read.cue is None else Cue(**asdict(read.cue)),
    )


def _plain(kind: str) -> str:
    return kind.partition(";")[0]


def _chunks(where: str, read: Sequence[_Chunk]) -> tuple[Chunk, ...]:
    made = tuple(Chunk(at_ns=each.at, size_bytes=each.bytes, every_ns=each.every, count=each.count) for each in read)
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
    least = next((least for start, least in LEAST_BYTES.items() if kind.startswith(start)), 1)
    if size is None or not least <= size <= SIZE_MOST:
        given = "nothing" if size is None else str(size)
        raise ScenarioError(f"{where}: size", given, f"{least} to 64M bytes for {_plain(kind)}")
    return size


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


def _with_small_documents(page: Page) -> Page:
    """Returns a recorded page in which HTML is XHTML if the origin has no room in it for the tags of the resources."""
    small = [each for each in page.resources if each.content_type == HTML and each.size_bytes < _html_bytes(page, each)]
    if not small:
        return page
    note = f"{len(small)} documents are too small for the tags that real browsers need; CLIENT=h2 needs none"
    resources = tuple(replace(each, content_type=_XHTML) if each in small else each for each in page.resources)
    return replace(page, resources=resources, notes=(*page.notes, note))


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
            raise ScenarioError(f"{here}: after", resource.after, _AFTER)
        if resource.depends_on is not None and resource.depends_on not in set(names) - {resource.name}:
            raise ScenarioError(f"{here}: depends_on", resource.depends_on, _DEPENDS_ON)
        seen[resource.name] = resource
        least = 0 if of_site else _html_bytes(page, resource)
        if resource.content_type.startswith(HTML) and resource.size_bytes < least:
            raise ScenarioError(
                f"{here}: size",
                str(resource.size_bytes),
                f"at least {least} bytes, for HTML that loads the resources with the key `after`",
            )
    for resource in page.resources:
        _check_tree(f"{where}: {resource.name}", page, resource)
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
