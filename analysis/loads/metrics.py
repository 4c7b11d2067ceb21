"""What a page load amounted to, from what client and origin wrote down. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from analysis.records.runs import Evidence
from common.formats.events import Event
from common.formats.reading import FolderError
from common.formats.samples import OriginRequest

PAGE, IMAGE, SCRIPT = "page", "image", "script"
PATHS: Mapping[str, str] = MappingProxyType({PAGE: "/", IMAGE: "/image.jpg", SCRIPT: "/script.js"})
"""Of the resources, as the origin's log has them."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """DATA payload that arrived together."""

    t_ns: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class ResourceTimes:
    """One resource of one load; nanoseconds of CLOCK_MONOTONIC.

    first_byte_ns: first DATA payload, not HEADERS and not a frame's header. pieces: all DATA payload, in order.
    """

    requested_ns: int
    headers_ns: int
    first_byte_ns: int
    last_byte_ns: int
    pieces: tuple[Piece, ...]

    @property
    def size_bytes(self) -> int:
        """Payload received."""
        return sum(piece.size_bytes for piece in self.pieces)

    def bytes_before(self, t_ns: int) -> int:
        """Payload received before an instant."""
        return sum(piece.size_bytes for piece in self.pieces[: bisect_left(self.pieces, t_ns, key=_time)])

    def bytes_until(self, t_ns: int) -> int:
        """Payload received up to and at an instant."""
        return sum(piece.size_bytes for piece in self.pieces[: bisect_right(self.pieces, t_ns, key=_time)])


@dataclass(frozen=True, kw_only=True)
class PageLoad:
    """One page load. started_ns: the page's request; finished_ns: the last stream has ended.

    page_bytes: payload of the page itself. script_available_ns: the origin had the script to give.
    """

    number: int
    started_ns: int
    finished_ns: int
    page_bytes: int
    script_available_ns: int
    image: ResourceTimes
    script: ResourceTimes

    def ms(self, t_ns: int) -> float:
        """Milliseconds since the page was asked for."""
        return (t_ns - self.started_ns) / 10**6

    @property
    def image_bytes_before_script(self) -> int:
        """Image payload that arrived before the script's first byte."""
        return self.image.bytes_before(self.script.first_byte_ns)

    @property
    def image_bytes_during_script(self) -> int:
        """Image payload that arrived from the script's first byte to its last."""
        return self.image.bytes_until(self.script.last_byte_ns) - self.image_bytes_before_script

    def as_document(self) -> dict[str, Any]:
        """The load as run.json keeps it: milliseconds from the page's request, and bytes."""

        def times(resource: ResourceTimes) -> dict[str, float]:
            return {
                "headers_ms": self.ms(resource.headers_ns),
                "first_byte_ms": self.ms(resource.first_byte_ns),
                "last_byte_ms": self.ms(resource.last_byte_ns),
            }

        return {
            "load": self.number,
            "script_available_ms": self.ms(self.script_available_ns),
            "script": times(self.script),
            "image": times(self.image),
            "image_bytes_before_script": self.image_bytes_before_script,
            "image_bytes_during_script": self.image_bytes_during_script,
        }


def page_loads(evidence: Evidence) -> list[PageLoad]:
    """Every complete load, the measured one last. Raises FolderError if one that ended lacks what it must have had."""
    by_load: dict[int, list[Event]] = {}
    for event in evidence.events:
        by_load.setdefault(event.load, []).append(event)
    complete = [events for events in by_load.values() if any(event.kind == "load-finished" for event in events)]
    return [_page_load(_Load(events, evidence.source), evidence.requests) for events in complete]


def measured_load(evidence: Evidence) -> PageLoad:
    """The load that counts. Raises FolderError if there is none."""
    return loads_of_good_run(evidence)[-1]


def loads_of_good_run(evidence: Evidence) -> list[PageLoad]:
    """Every complete load. Raises FolderError if there is none, as there is in every run that is ok."""
    loads = page_loads(evidence)
    if not loads:
        raise FolderError(f"{evidence.source}: no load is complete, though the run is ok")
    return loads


def _time(piece: Piece) -> int:
    return piece.t_ns


class _Load:
    """The events of one load."""

    def __init__(self, events: list[Event], source: str) -> None:
        self.events = events
        self.number = events[0].load
        self._source = source

    def first_ns(self, kind: str, resource: str | None = None) -> int:
        for event in self.events:
            if event.kind == kind and resource in (None, event.resource):
                return event.t_ns
        raise self.lacks(f"{kind} of {resource}" if resource else kind)

    def payload_bytes(self, resource: str) -> int:
        return sum(event.size_bytes or 0 for event in self.events if (event.kind, event.resource) == ("data", resource))

    def lacks(self, what: str) -> FolderError:
        return FolderError(f"{self._source}: load {self.number} is without {what}")


def _page_load(load: _Load, requests: Iterable[OriginRequest]) -> PageLoad:
    started_ns, finished_ns = load.first_ns("load-started"), load.first_ns("load-finished")
    for request in requests:
        is_of_load = started_ns <= request.received_ns <= finished_ns
        if request.path == PATHS[SCRIPT] and request.available_ns and is_of_load:
            return PageLoad(
                number=load.number,
                started_ns=started_ns,
                finished_ns=finished_ns,
                page_bytes=load.payload_bytes(PAGE),
                script_available_ns=request.available_ns,
                image=_resource(load, IMAGE),
                script=_resource(load, SCRIPT),
            )
    raise load.lacks(f"a request of {PATHS[SCRIPT]} in the origin's log")


def _resource(load: _Load, name: str) -> ResourceTimes:
    pieces = tuple(
        Piece(t_ns=event.t_ns, size_bytes=event.size_bytes or 0)
        for event in load.events
        if event.resource == name and event.kind == "data"
    )
    if not pieces:
        raise load.lacks(f"data of {name}")
    return ResourceTimes(
        requested_ns=load.first_ns("request-sent", name),
        headers_ns=load.first_ns("headers", name),
        first_byte_ns=pieces[0].t_ns,
        last_byte_ns=pieces[-1].t_ns,
        pieces=pieces,
    )
