"""The film of a run's measured load: the recorded data that an animation of the load needs. Pure.

A film has recorded data only, nothing is interpolated: the samples of the front's socket, and the client's arrivals,
which are more frequent than the samples. A position is a number of bytes of the TCP stream
(analysis/loads/byte_positions.py). Position 0 is the end of the bytes that had arrived before the page's request. The
film's *tape* is the list of the TLS records with their payload, so that a position can be converted to bytes of the
important resources and of the others.

Times are milliseconds from the page's request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from priolab.analysis.loads.byte_positions import Whereabouts, whereabouts
from priolab.analysis.loads.metrics import PageLoad, measured_load
from priolab.analysis.records.runs import Evidence, Layers, Run
from priolab.common.formats.events import Event
from priolab.common.formats.page import Resource, called
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import FEWEST_LOOKS, ProcessSample, SocketSample

_US = 1000
_MS = 10**6
_OTHERS, _IMPORTANT = "others", "important"


class NoFilm(Exception):
    """Raised if the run's logs do not suffice for a film. The error message says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Tape:
    """The load's TLS records, in order.

    end: the position in the TCP stream at which each record ends. others, important: the payload bytes of the other and
    of the important resources in each record.
    """

    end: tuple[int, ...]
    others: tuple[int, ...]
    important: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Looks:
    """The samples of the front's socket at which a position has changed.

    t_ms: the samples' times. handed, sent: the end of the bytes that the front had handed to its kernel, and that the
    kernel had sent, as positions in the TCP stream. near_from, far_from: the positions at which the bytes begin in the
    link's two parts: the delay line, which is nearer to the front, and the bottleneck queue.
    """

    t_ms: tuple[float, ...]
    handed: tuple[int, ...]
    sent: tuple[int, ...]
    near_from: tuple[int, ...]
    far_from: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """The arrivals of bytes at the client. end: the position in the TCP stream up to which the client had all bytes."""

    t_ms: tuple[float, ...]
    end: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The request and the delivery of one group of resources: the important resources, or the others.

    stream: `others` or `important`. name: the resource's name, or a count such as `7 others`. sent_ms: the client sent
    the request. received_ms: the origin received the request. available_ms: the origin had the resource. size_bytes:
    the payload of all resources together. If the group has several resources, last_byte_ms is the time of its last
    byte. The other times are those of one resource: of the important ones the focal resource, of the others the one
    that the origin has first.
    """

    stream: str
    name: str
    sent_ms: float
    received_ms: float | None
    available_ms: float | None
    first_byte_ms: float
    last_byte_ms: float
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The arrival of one resource.

    stream: the resource's group: `others`, `important` or `documents`. end, total: when all bytes of the TCP stream up
    to the position `end` have arrived, the client can read `total` bytes of the resource.
    """

    name: str
    stream: str
    content_type: str
    size_bytes: int
    first_byte_ms: float
    last_byte_ms: float
    end: tuple[int, ...]
    total: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The values of TCP_NOTSENT_LOWAT of the front's socket over time. Empty if the socket has no value of its own.

    t_ms: the times from which on the values hold. bytes: the values.
    """

    t_ms: tuple[float, ...] = ()
    bytes: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Film:
    """The film of a load.

    load: the load's number. duration_ms: the time until the load's last stream ended. deliveries: the arrivals of all
    resources, in the page's order. ready: the words that appear when all important resources are complete, such as "the
    map works".
    """

    load: int
    duration_ms: float
    resources: tuple[Asked, ...]
    tape: Tape
    looks: Looks
    arrivals: Arrivals
    deliveries: tuple[Delivery, ...]
    limits: Limits
    ready: str

    def as_document(self) -> dict[str, Any]:
        """Returns the film as a JSON document."""
        return {
            **vars(self),
            **{name: [vars(each) for each in getattr(self, name)] for name in ("resources", "deliveries")},
            **{name: vars(getattr(self, name)) for name in ("tape", "looks", "arrivals", "limits")},
        }


def film_of(run: Run) -> Film:
    """Makes the film of a run that is ok. Raises NoFilm, and FolderError for a damaged folder."""
    file = run.path / "front" / "process.jsonl"
    processes = read_journal(file, ProcessSample) if file.exists() else []
    return film(run.evidence(), run.layers(), processes)


def film(evidence: Evidence, layers: Layers, processes: Sequence[ProcessSample]) -> Film:
    """Makes a film from a run's logs and samples. Raises NoFilm."""
    load = measured_load(evidence)
    looks = [sample for sample in layers.sockets if load.started_ns <= sample.t_ns <= load.finished_ns]
    if not load.page.others:
        raise NoFilm(f"nothing was loaded beside the {load.focal.name}")
    if len(looks) < FEWEST_LOOKS:
        raise NoFilm(f"the front's socket was sampled {len(looks)} times during the load")
    if not layers.arrivals:
        raise NoFilm("the client recorded no arrivals")
    before = [arrival for arrival in layers.arrivals if arrival.t_ns < load.started_ns]
    base = before[-1].tcp_bytes if before else 0
    seen: list[Whereabouts] = []
    at: list[SocketSample] = []
    for sample in looks:  # a sample without a change is left out
        found = whereabouts(sample, layers)
        if not seen or replace(found, arrived_bytes=seen[-1].arrived_bytes) != seen[-1]:
            at.append(sample)
            seen.append(found)
    arrived = [each for each in layers.arrivals if load.started_ns <= each.t_ns <= load.finished_ns]
    tape = _tape(evidence.events, load, base)
    if not tape.end:
        raise NoFilm("the client did not record the positions of its data in the TCP stream")
    return Film(
        load=load.number,
        duration_ms=_ms(load, load.finished_ns),
        resources=(_asked(load, evidence, _OTHERS), _asked(load, evidence, _IMPORTANT)),
        tape=tape,
        looks=Looks(
            t_ms=tuple(_ms(load, sample.t_ns) for sample in at),
            handed=tuple(each.handed_bytes - base for each in seen),
            sent=tuple(each.sent_bytes - base for each in seen),
            near_from=tuple(each.near_from_bytes - base for each in seen),
            far_from=tuple(each.far_from_bytes - base for each in seen),
        ),
        arrivals=Arrivals(
            t_ms=tuple(_ms(load, each.t_ns) for each in arrived),
            end=tuple(each.tcp_bytes - base for each in arrived),
        ),
        deliveries=tuple(_delivery(load, evidence.events, each, base) for each in load.page.resources),
        limits=_limits(load, processes),
        ready=load.page.ready,
    )


def _ms(load: PageLoad, t_ns: int) -> float:
    """Returns milliseconds from the page's request, rounded down to the microsecond."""
    return (t_ns - load.started_ns) // _US * _US / _MS


def _tape(events: Sequence[Event], load: PageLoad, base: int) -> Tape:
    ends: list[int] = []
    streams = {each.name: stream for stream in (_OTHERS, _IMPORTANT) for each in _resources(load, stream)}
    sizes: dict[str, list[int]] = {_OTHERS: [], _IMPORTANT: []}
    for event in events:
        if event.load != load.number or event.tcp_bytes is None:
            continue
        if not ends or event.tcp_bytes - base > ends[-1]:
            ends.append(event.tcp_bytes - base)
            for column in sizes.values():
                column.append(0)
        if event.kind == "data" and event.resource in streams:
            sizes[streams[event.resource]][-1] += event.size_bytes or 0
    return Tape(end=tuple(ends), others=tuple(sizes[_OTHERS]), important=tuple(sizes[_IMPORTANT]))


def _delivery(load: PageLoad, events: Sequence[Event], resource: Resource, base: int) -> Delivery:
    ends: list[int] = []
    totals: list[int] = []
    total = 0
    for event in events:
        if event.load != load.number or event.kind != "data" or event.resource != resource.name or not event.size_bytes:
            continue
        total += event.size_bytes
        end = (event.tcp_bytes or 0) - base
        if ends and ends[-1] == end:
            totals[-1] = total
        else:
            ends.append(end)
            totals.append(total)
    times = load.resources[resource.name]
    return Delivery(
        name=resource.name,
        stream="documents" if resource in load.page.documents else _IMPORTANT if resource.important else _OTHERS,
        content_type=resource.content_type.partition(";")[0],
        size_bytes=total,
        first_byte_ms=_ms(load, times.first_byte_ns),
        last_byte_ms=_ms(load, times.last_byte_ns),
        end=tuple(ends),
        total=tuple(totals),
    )


def _limits(load: PageLoad, processes: Sequence[ProcessSample]) -> Limits:
    changes: list[tuple[float, int]] = []
    for sample in processes:
        if sample.lowat_bytes and sample.t_ns <= load.finished_ns:
            at_ms = max(0.0, _ms(load, sample.t_ns))
            if changes and changes[-1][0] == at_ms:
                changes.pop()
            if not changes or changes[-1][1] != sample.lowat_bytes:
                changes.append((at_ms, sample.lowat_bytes))
    return Limits(t_ms=tuple(at for at, _ in changes), bytes=tuple(size for _, size in changes))


def _resources(load: PageLoad, stream: str) -> tuple[Resource, ...]:
    return load.page.important if stream == _IMPORTANT else load.page.others


def _asked(load: PageLoad, evidence: Evidence, stream: str) -> Asked:
    resources = _resources(load, stream)
    first = min((load.resources[each.name] for each in resources), key=lambda each: each.available_ns)
    times = load.focal if stream == _IMPORTANT else first
    traffic = load.important if stream == _IMPORTANT else load.others
    received_ns = next(
        (
            each.received_ns
            for each in evidence.requests
            if each.path == times.resource.path and each.received_ns >= times.requested_ns
        ),
        None,
    )
    return Asked(
        stream=stream,
        name=called(resources, f"{len(resources)} {stream}"),
        sent_ms=_ms(load, times.requested_ns),
        received_ms=None if received_ns is None else _ms(load, received_ns),
        available_ms=_ms(load, times.available_ns),
        first_byte_ms=_ms(load, times.first_byte_ns),
        last_byte_ms=_ms(load, traffic.last_byte_ns),
        size_bytes=traffic.size_bytes,
    )
