"""The page: the resources that a load requests and the origin serves.

1. A resource is important, or a document, or one of the others. A document is a resource that an important resource
   waits for, also through further resources, and that is not important itself. If a page marks no resource, those for
   which no other waits count as important, and there is no order to judge (`Page.is_judged`).
2. Documents come before the important resources. The others may share the link with them.
3. `after` says when a resource is requested. Its type says what it is. Browsers give a resource its priority by what it
   is, so dialects take HTML for a document, whether others wait for it or not (`Resource.is_html`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

MAPS = "maps"

FILLER = "x-filler"
"""The header field that makes a response's headers larger (`Resource.header_bytes`)."""

_DOCUMENT_TYPES = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A piece of a response: size_bytes that the origin writes at_ns after the request.

    A chunk with a count stands for that many pieces of the same size. The first piece is due at at_ns, and the next
    pieces follow every every_ns.
    """

    at_ns: int
    size_bytes: int
    every_ns: int = 0
    count: int = 1

    @property
    def total_bytes(self) -> int:
        """The bytes of all pieces of the chunk."""
        return self.size_bytes * self.count

    @property
    def last_ns(self) -> int:
        """The time from the request to the last piece of the chunk."""
        return self.at_ns + self.every_ns * (self.count - 1)


@dataclass(frozen=True, kw_only=True)
class Cue:
    """How a probe of several streams treats a resource.

    field: the value of the header field `priority`, as it is; empty for no field. early: the value of a PRIORITY_UPDATE
    frame that the client sends before the request, and for the first such resource that waits for the load's first one,
    while that one's stream is open; None for no frame. at_once: that of a frame that it sends right after the request,
    before the response can begin; None for no frame. updates: the values of PRIORITY_UPDATE frames that it sends when
    all responses have begun. request_step, window_step: the step of the probe in which it makes the
    request, and in which it opens the stream's window. answer: the value of the field `priority` of the origin's
    response, and more: that of a second line of the field; None for none.
    """

    field: str = ""
    early: str | None = None
    at_once: str | None = None
    updates: tuple[str, ...] = ()
    request_step: int = 0
    window_step: int = 0
    answer: str | None = None
    more: str | None = None

    @property
    def text(self) -> str:
        """The last text that states the priority: that of a PRIORITY_UPDATE, or the joined lines of the field."""
        field = self.field if self.more is None else f"{self.field}, {self.more}"
        return [field, *(each for each in (self.early, self.at_once) if each is not None), *self.updates][-1]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of a page.

    delay_ns: the time for which the origin holds the response back. after: the name of the resource that must be
    complete before this one is requested; None to request it when the load begins. wait_ns: the time for which the
    client then waits before it requests this one. chunks: the pieces of a response
    that the origin writes over time; empty if it writes the whole response at once. headers_ns: the time from the
    request until the origin sends the response's headers; None to send them with the first byte.
    header_bytes: the size of the value of a header field FILLER that the origin adds to the response; 0 for none.
    fetchpriority: the value of the HTML attribute of that name, for real browsers; None for no attribute.

    The priority: urgency and incremental are those of RFC 9218, 4. weight (1 to 256) and depends_on (the name of a
    resource) are those of RFC 7540, 5.3. cue: how a probe of several streams treats the resource; None on other pages.
    """

    name: str
    path: str
    content_type: str
    size_bytes: int
    delay_ns: int = 0
    important: bool = False
    urgency: int = 3
    incremental: bool = False
    weight: int
    depends_on: str | None = None
    after: str | None = None
    wait_ns: int = 0
    chunks: tuple[Chunk, ...] = ()
    headers_ns: int | None = None
    header_bytes: int = 0
    fetchpriority: str | None = None
    cue: Cue | None = None

    @property
    def is_html(self) -> bool:
        """True if browsers take the resource for a document: its type is text/html or application/xhtml+xml.

        Parameters of the type and the case of its letters do not count (RFC 9110, 8.3.1). Other types that a browser
        can show by themselves, such as image/svg+xml, application/xml and application/pdf, are no documents: a page has
        them as its parts.
        """
        return self.content_type.partition(";")[0].strip().lower() in _DOCUMENT_TYPES

    @property
    def first_ns(self) -> int:
        """The time from the request until the origin may send the first byte."""
        return self.chunks[0].at_ns if self.chunks else self.delay_ns

    @property
    def early_headers_ns(self) -> int | None:
        """The time from the request until the origin sends headers alone; None if it sends them with the first byte."""
        return None if self.headers_ns is None or self.headers_ns >= self.first_ns else self.headers_ns

    @property
    def last_ns(self) -> int:
        """The time from the request until the origin may send the last byte."""
        return self.chunks[-1].last_ns if self.chunks else self.delay_ns

    @property
    def ends_bytes(self) -> list[int]:
        """The position in the response at which each piece ends, in bytes."""
        ends, at = [], 0
        for chunk in self.chunks:
            for _ in range(chunk.count):
                at += chunk.size_bytes
                ends.append(at)
        return ends


def _cue(document: Mapping[str, Any]) -> Cue:
    return Cue(**{**document, "updates": tuple(document["updates"])})


def called(resources: Sequence[Resource], several: str) -> str:
    """Returns the words for resources in a text: the name if there is one resource, otherwise `several`.

    several: words such as "3 images".
    """
    return resources[0].name if len(resources) == 1 else several


def check_order(resources: Sequence[Resource]) -> None:
    """Raises ValueError if a resource waits for one that does not stand before it."""
    before: set[str] = set()
    for each in resources:
        if each.after is not None and each.after not in before:
            raise ValueError(f"resources: {each.name!r} is after {each.after!r}, which does not stand before it")
        before.add(each.name)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page. resources: in the order of their requests; a resource can wait only for a resource listed before it.

    parameters: the names of the knobs that set sizes or delays of the page. ready: the words for the moment at which
    all important resources are complete, such as "the map works". notes: sentences about what the page's file cannot
    tell.
    """

    name: str
    title: str
    ready: str = "the page is ready"
    parameters: tuple[str, ...] = ()
    resources: tuple[Resource, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Resource:
        """Returns the resource with this name. Raises KeyError."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> Mapping[str, Resource]:
        return {resource.name: resource for resource in self.resources}

    @cached_property
    def documents(self) -> tuple[Resource, ...]:
        """The resources that important resources wait for, without the important resources."""
        awaited = {each.name for important in self.important for each in self.before(important)}
        return tuple(each for each in self.resources if each.name in awaited and each not in self.important)

    @cached_property
    def important(self) -> tuple[Resource, ...]:
        """The important resources: those that the page marks or, if it marks none, those for which no other waits."""
        if self.is_judged:
            return tuple(each for each in self.resources if each.important)
        awaited = {each.after for each in self.resources}
        return tuple(each for each in self.resources if each.name not in awaited)

    @property
    def is_judged(self) -> bool:
        """True if the page marks a resource as important, so that the order of its resources can be judged."""
        return any(each.important for each in self.resources)

    @property
    def is_sequence(self) -> bool:
        """True if the page is for a probe of several streams: the first resource uses up the connection's window."""
        return any(each.cue for each in self.resources)

    @cached_property
    def others(self) -> tuple[Resource, ...]:
        """The resources that are neither important nor documents."""
        return tuple(each for each in self.resources if each not in (*self.important, *self.documents))

    @property
    def contents(self) -> tuple[Resource, ...]:
        """All resources except the documents."""
        return tuple(each for each in self.resources if each not in self.documents)

    @property
    def total_bytes(self) -> int:
        """The bytes of all resources."""
        return sum(each.size_bytes for each in self.resources)

    @property
    def contents_bytes(self) -> int:
        """The bytes of all resources except the documents."""
        return sum(each.size_bytes for each in self.contents)

    @property
    def largest_bytes(self) -> int:
        """The size of the largest resource in bytes."""
        return max(each.size_bytes for each in self.resources)

    @cached_property
    def longest_ns(self) -> int:
        """The time that the page's delays and waits alone add to a load: their sum over the slowest chain."""
        ends_ns: dict[str, int] = {}
        for each in self.resources:
            ends_ns[each.name] = (ends_ns[each.after] if each.after else 0) + each.wait_ns + each.last_ns
        return max(ends_ns.values())

    def before(self, resource: Resource) -> tuple[Resource, ...]:
        """Returns the resources that must be complete before `resource` is requested, in order."""
        chain: list[Resource] = []
        while resource.after is not None:
            resource = self[resource.after]
            chain.insert(0, resource)
        return tuple(chain)

    def as_document(self) -> dict[str, Any]:
        """Returns the page for a JSON document: without notes, and what is optional only if set."""
        document = asdict(self)
        del document["notes"]
        for resource in document["resources"]:
            if resource["headers_ns"] is None:
                del resource["headers_ns"]
            for name in ("header_bytes", "cue"):
                if not resource[name]:
                    del resource[name]
            for name in ("answer", "more", "at_once"):
                if "cue" in resource and resource["cue"][name] is None:
                    del resource["cue"][name]
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Returns the page that a document made by `as_document` describes. Raises TypeError, KeyError."""
        resources = (
            Resource(
                **{
                    **each,
                    "chunks": tuple(Chunk(**chunk) for chunk in each["chunks"]),
                    "cue": _cue(each["cue"]) if "cue" in each else None,
                }
            )
            for each in document["resources"]
        )
        named = {name: document[name] for name in ("name", "title", "ready") if name in document}
        named["parameters"] = tuple(document["parameters"])
        return cls(**named, resources=tuple(resources))
