"""Computes the measures of page loads from the logs of client and origin. Pure.

Goodput is payload by time. Payload that waited at the client for a lost packet, or for the rest of a TLS record, can be
read all at once. So the time begins, if this is earlier, when the link must have begun to carry the payload: no goodput
is more than the link can carry.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import quantiles

from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Evidence
from priolab.common.formats.events import Event
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import LoadRecord, ResourceRecord
from priolab.common.formats.samples import OriginRequest
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import framed

_PATHS_SHOWN = 3
"""The number of paths of the origin's log that an error shows."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """DATA payload that the client received at one instant."""

    t_ns: int
    size_bytes: int


class Traffic:
    """The payload of one or several resources over time. pieces: in order of time."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._times_ns = [piece.t_ns for piece in pieces]
        totals, total = [0], 0
        for piece in pieces:
            total += piece.size_bytes
            totals.append(total)
        self._totals = totals

    @property
    def size_bytes(self) -> int:
        """The payload bytes received."""
        return self._totals[-1]

    @property
    def first_byte_ns(self) -> int:
        """The instant at which the client received the first payload."""
        return self._times_ns[0]

    @property
    def last_byte_ns(self) -> int:
        """The instant at which the client received the last payload."""
        return self._times_ns[-1]

    def bytes_before(self, t_ns: int) -> int:
        """Returns the payload bytes received before an instant."""
        return self._totals[bisect_left(self._times_ns, t_ns)]

    def bytes_until(self, t_ns: int) -> int:
        """Returns the payload bytes received before or at an instant."""
        return self._totals[bisect_right(self._times_ns, t_ns)]

    def goodput_bit_s(self, from_ns: int, rate: Rate | None) -> int | None:
        """Returns the payload received after an instant, over the time to the last payload; None without time.

        rate: the link's, in absolute times; None if it is unlimited, or not known.
        """
        last_ns, size_bytes = self.last_byte_ns, self.size_bytes - self.bytes_until(from_ns)
        if last_ns <= from_ns:
            return None
        began_ns = from_ns if rate is None else min(from_ns, rate.begun_ns(last_ns, framed(size_bytes)))
        return round(size_bytes * 8 * 10**9 / (last_ns - began_ns))

    def reached_ns(self, size_bytes: int) -> int:
        """Returns when `size_bytes` of payload had been received. Raises IndexError if less was received in all."""
        return self._times_ns[bisect_left(self._totals, size_bytes) - 1]


@dataclass(frozen=True, kw_only=True)
class ResourceTimes:
    """The times of one resource in one load, in nanoseconds of CLOCK_MONOTONIC.

    available_ns: the time from which on the origin could send the response, or its first chunk. headers_ns: arrival of
    the response's HEADERS. pieces: all DATA payload, in order. The first byte of a resource is its first byte of
    payload, not of HEADERS.
    """

    resource: Resource
    requested_ns: int
    available_ns: int
    headers_ns: int
    pieces: tuple[Piece, ...]

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.resource.name

    @cached_property
    def traffic(self) -> Traffic:
        """The payload of the resource over time."""
        return Traffic(self.pieces)

    @property
    def first_byte_ns(self) -> int:
        """The instant at which the client received the first payload."""
        return self.pieces[0].t_ns

    @property
    def last_byte_ns(self) -> int:
        """The instant at which the client received the last payload."""
        return self.pieces[-1].t_ns

    @property
    def size_bytes(self) -> int:
        """The payload bytes received."""
        return self.traffic.size_bytes

    @property
    def gaps_ms(self) -> Mapping[str, float]:
        """The median, the 99th percentile and the maximum of the times between the arrivals of the response's chunks.

        The keys are field names of ResourceRecord. The mapping is empty if the response has fewer than two chunks, or
        did not arrive completely.
        """
        ends = self.resource.ends_bytes
        if len(ends) < 2 or ends[-1] > self.size_bytes:
            return {}
        came_ns = [self.traffic.reached_ns(end) for end in ends]
        gaps_ns = [later - earlier for earlier, later in pairwise(came_ns)]
        percentiles = quantiles(gaps_ns, n=100, method="inclusive") if len(gaps_ns) > 1 else [float(gaps_ns[0])] * 99
        found_ns = {"gap_p50_ms": percentiles[49], "gap_p99_ms": percentiles[98], "gap_longest_ms": max(gaps_ns)}
        return {name: gap_ns / 10**6 for name, gap_ns in found_ns.items()}


@dataclass(frozen=True, kw_only=True)
class PageLoad:
    """A page load.

    started_ns: the time of the load's first request. finished_ns: the time at which the load's last stream ended.
    resources: the times of each resource by name, in the page's order. focal_name: the name of the important resource
    that the verdict is about; None before the verdict. rate: the link's, in absolute times; None if it is unlimited, or
    not known.
    """

    number: int
    started_ns: int
    finished_ns: int
    page: Page
    resources: Mapping[str, ResourceTimes]
    focal_name: str | None = None
    rate: Rate | None = None

    def ms(self, t_ns: float) -> float:
        """Converts a time to milliseconds since the load's first request."""
        return (t_ns - self.started_ns) / 10**6

    @cached_property
    def focal(self) -> ResourceTimes:
        """The important resource that the verdict is about; before the verdict, the one that the origin had last."""
        if self.focal_name is not None:
            return self.resources[self.focal_name]
        return max((self.resources[each.name] for each in self.page.important), key=lambda times: times.available_ns)

    @cached_property
    def important(self) -> Traffic:
        """Payload of the important resources."""
        return self.traffic(each.name for each in self.page.important)

    @cached_property
    def others(self) -> Traffic:
        """Payload of the other resources, documents excluded."""
        return self.traffic(each.name for each in self.page.others)

    def traffic(self, names: Iterable[str]) -> Traffic:
        """Returns the payload of the named resources together."""
        pieces = [piece for name in names for piece in self.resources[name].pieces]
        return Traffic(sorted(pieces, key=lambda piece: piece.t_ns))

    @property
    def complete_ns(self) -> int:
        """The instant at which the last byte of all resources arrived, documents excluded."""
        return max(self.resources[each.name].last_byte_ns for each in self.page.contents)

    @property
    def other_bytes_before(self) -> int:
        """Payload of the others that arrived before the focal resource's first byte."""
        return self.others.bytes_before(self.focal.first_byte_ns)

    @property
    def other_bytes_during(self) -> int:
        """Payload of the others that arrived from the focal resource's first byte to its last."""
        return self.others.bytes_until(self.focal.last_byte_ns) - self.other_bytes_before

    def as_record(self) -> LoadRecord:
        """Returns the load's record for run.json: milliseconds from the load's first request, and bytes."""
        return LoadRecord(
            load=self.number,
            resources={name: self._times(times) for name, times in self.resources.items()},
            focal=self.focal.name,
            available_ms=self.ms(self.focal.available_ns),
            first_byte_ms=self.ms(self.focal.first_byte_ns),
            important_last_byte_ms=self.ms(self.important.last_byte_ns),
            others_first_byte_ms=self.ms(self.others.first_byte_ns) if self.page.others else None,
            others_last_byte_ms=self.ms(self.others.last_byte_ns) if self.page.others else None,
            other_bytes_before=self.other_bytes_before,
            other_bytes_during=self.other_bytes_during,
        )

    def _times(self, times: ResourceTimes) -> ResourceRecord:
        return ResourceRecord(
            available_ms=self.ms(times.available_ns),
            headers_ms=self.ms(times.headers_ns),
            first_byte_ms=self.ms(times.first_byte_ns),
            last_byte_ms=self.ms(times.last_byte_ns),
            size_bytes=times.size_bytes,
            important=times.resource.important,
            goodput_bit_s=times.traffic.goodput_bit_s(times.first_byte_ns, self.rate),
            **times.gaps_ms,
        )


def page_loads(evidence: Evidence) -> list[PageLoad]:
    """Returns every complete load, the measured one last. Raises FolderError if a complete load lacks an event."""
    by_load: dict[int, list[Event]] = {}
    for event in evidence.events:
        by_load.setdefault(event.load, []).append(event)
    complete = [events for events in by_load.values() if any(event.kind == "load-finished" for event in events)]
    return [_page_load(_Load(events, evidence.source), evidence) for events in complete]


def with_rate(loads: Sequence[PageLoad], scenario: ScenarioRecord) -> list[PageLoad]:
    """Returns the loads with the rate of the scenario's link. loads: at least one, the measured one last."""
    rate = Rate.of(scenario, loads[-1].started_ns)
    return [replace(load, rate=rate) for load in loads]


def measured_load(evidence: Evidence) -> PageLoad:
    """Returns the measured load. Raises FolderError if there is none."""
    return loads_of_good_run(evidence)[-1]


def loads_of_good_run(evidence: Evidence) -> list[PageLoad]:
    """Returns every complete load of a run that is ok. Raises FolderError if there is none."""
    loads = page_loads(evidence)
    if not loads:
        raise FolderError(f"{evidence.source}: the run is ok, but its log has no complete load")
    return loads


class _Load:
    """The events of one load."""

    def __init__(self, events: list[Event], source: str) -> None:
        self.events = events
        self.number = events[0].load
        self._source = source
        self.pieces: dict[str | None, list[Piece]] = {}
        for event in events:
            if event.kind == "data":
                piece = Piece(t_ns=event.t_ns, size_bytes=event.size_bytes or 0)
                self.pieces.setdefault(event.resource, []).append(piece)

    def first_ns(self, kind: str, resource: str | None = None) -> int:
        for event in self.events:
            if event.kind == kind and resource in (None, event.resource):
                return event.t_ns
        raise self.lacks(f"{kind} of {resource}" if resource else kind)

    def lacks(self, what: str) -> FolderError:
        return FolderError(f"{self._source}: load {self.number} lacks {what}")


def _page_load(load: _Load, evidence: Evidence) -> PageLoad:
    started_ns, finished_ns = load.first_ns("load-started"), load.first_ns("load-finished")
    requests = [each for each in evidence.requests if started_ns <= each.received_ns <= finished_ns]
    return PageLoad(
        number=load.number,
        started_ns=started_ns,
        finished_ns=finished_ns,
        page=evidence.page,
        resources={each.name: _resource(load, each, requests) for each in evidence.page.resources},
        focal_name=evidence.focal,
    )


def _resource(load: _Load, resource: Resource, requests: Sequence[OriginRequest]) -> ResourceTimes:
    name = resource.name
    pieces = tuple(load.pieces.get(name, ()))
    if not pieces:
        raise load.lacks(f"data of {name}")
    answers = (each.available_ns for each in requests if each.path == resource.path)
    available_ns = next(filter(None, answers), None)  # an abandoned request has no such time
    if available_ns is None:
        logged = list(dict.fromkeys(each.path for each in requests))
        has = ", ".join(logged[:_PATHS_SHOWN]) or "no request"
        rule = "a front must ask the origin for each request's path and query"
        raise load.lacks(f"a request for {resource.path} in the origin's log, which has {has}: {rule}")
    return ResourceTimes(
        resource=resource,
        requested_ns=load.first_ns("request-sent", name),
        available_ns=available_ns,
        headers_ns=load.first_ns("headers", name),
        pieces=pieces,
    )
