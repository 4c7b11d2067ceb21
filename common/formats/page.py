"""The page: what a load asks for, and what the origin serves.

1. A resource that others wait for is a document. The others are important, or they are not.
2. The verdict is about the important resources against the other ones; documents come before both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

MAPS = "maps"


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A piece of a response: size_bytes that the origin writes at_ns after the request.

    With every_ns and count it stands for so many pieces, the first of them at_ns after the request.
    """

    at_ns: int
    size_bytes: int
    every_ns: int
    count: int

    @property
    def total_bytes(self) -> int:
        """The bytes of all its pieces."""
        return self.size_bytes * self.count

    @property
    def last_ns(self) -> int:
        """The instant of its last piece, after the request."""
        return self.at_ns + self.every_ns * (self.count - 1)


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of a page.

    delay_ns: the time for which the origin holds it back. after: the resource that must be complete before this one is
    requested; None for the start of the load. chunks: pieces over time; none for a response that is there at once.

    Its priority: urgency and incremental (RFC 9218, 4); weight, 1 to 256, and depends_on, a resource's name (RFC 7540,
    5.3).
    """

    name: str
    path: str
    content_type: str
    size_bytes: int
    delay_ns: int
    important: bool
    urgency: int
    incremental: bool
    weight: int
    depends_on: str | None
    after: str | None
    chunks: tuple[Chunk, ...]

    @property
    def first_ns(self) -> int:
        """The time from its request until the origin has the first byte to give."""
        return self.chunks[0].at_ns if self.chunks else self.delay_ns

    @property
    def last_ns(self) -> int:
        """The time from its request until the origin has the last byte to give."""
        return self.chunks[-1].last_ns if self.chunks else self.delay_ns

    @property
    def ends_bytes(self) -> list[int]:
        """The position in the response at which each piece ends."""
        ends, at = [], 0
        for chunk in self.chunks:
            for _ in range(chunk.count):
                at += chunk.size_bytes
                ends.append(at)
        return ends


@dataclass(frozen=True, kw_only=True)
class Page:
    """Resources in the order in which they are requested; each waits, if it does, for one that stands before it.

    parameters: names of the knobs that a size or a delay was taken from.
    """

    name: str
    title: str
    parameters: tuple[str, ...] = ()
    resources: tuple[Resource, ...]

    def __getitem__(self, name: str) -> Resource:
        """Returns the resource of that name. Raises KeyError."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> Mapping[str, Resource]:
        return {resource.name: resource for resource in self.resources}

    @cached_property
    def documents(self) -> tuple[Resource, ...]:
        """The resources that others wait for, unless they are important."""
        awaited = {resource.after for resource in self.resources}
        return tuple(each for each in self.resources if each.name in awaited and not each.important)

    @cached_property
    def important(self) -> tuple[Resource, ...]:
        """The important resources."""
        return tuple(each for each in self.resources if each.important)

    @cached_property
    def others(self) -> tuple[Resource, ...]:
        """The resources that are neither important nor documents."""
        return tuple(each for each in self.resources if not each.important and each not in self.documents)

    @property
    def contents(self) -> tuple[Resource, ...]:
        """All but the documents."""
        return tuple(each for each in self.resources if each not in self.documents)

    @property
    def contents_bytes(self) -> int:
        """The bytes of all but the documents."""
        return sum(each.size_bytes for each in self.contents)

    @property
    def largest_bytes(self) -> int:
        """The bytes of the largest resource."""
        return max(each.size_bytes for each in self.resources)

    @cached_property
    def longest_ns(self) -> int:
        """The time that the origin alone takes for a load: of the chain of resources that takes longest."""
        ends_ns: dict[str, int] = {}
        for each in self.resources:
            ends_ns[each.name] = (ends_ns[each.after] if each.after else 0) + each.last_ns
        return max(ends_ns.values())

    def before(self, resource: Resource) -> tuple[Resource, ...]:
        """Returns the resources that must be complete before that one is requested, in order."""
        chain: list[Resource] = []
        while resource.after is not None:
            resource = self[resource.after]
            chain.insert(0, resource)
        return tuple(chain)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Returns the page in a document that `dataclasses.asdict` made. Raises TypeError, KeyError."""
        resources = (
            Resource(**{**each, "chunks": tuple(Chunk(**chunk) for chunk in each["chunks"])})
            for each in document["resources"]
        )
        named = {"name": document["name"], "title": document["title"], "parameters": tuple(document["parameters"])}
        return cls(**named, resources=tuple(resources))
