"""Computes the timeline's lanes: each resource's share of the link over time. Pure.

A lane consists of short intervals of time, its steps. The lane is drawn with constant thickness during a step.

Rules:
1. A lane begins with the first byte of its resources, and ends with the last byte. A lane shorter than a step would be
   invisible. Such a lane is drawn as a whole step, whose thickness has no meaning. The step ends with the last byte,
   but never begins before the page's request.
2. Payload is drawn at the time at which it crossed the link. The client can read it later: when the last byte of its
   TLS record has arrived and, after a loss, together with many records.
3. So the TLS record with the first byte crossed the link before the lane begins. This record is drawn only if the
   lane's first step would be empty otherwise.
4. A step with any payload is thick enough to be visible.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from priolab.analysis.figures.palette import IMPORTANT, OTHERS
from priolab.analysis.loads.metrics import PageLoad, Piece, Traffic
from priolab.analysis.records.rate import Rate
from priolab.common.formats.page import Page, Resource

# Overhead of frames, records, TCP, IP and Ethernet around a full-size packet's payload.
_OVERHEAD = 1514 / 1440
_THINNEST = 0.03


@dataclass(frozen=True, kw_only=True)
class Step:
    """A part of a lane, from start_s to end_s after the page's request.

    height: the lane's share of the link, 0 to 1. On a link with unlimited rate, 1 is the busiest step of all lanes.
    """

    start_s: float
    end_s: float
    height: float


@dataclass(frozen=True, kw_only=True)
class _Burst:
    """Payload of a lane that became readable at one instant, and the time in which this payload crossed the link."""

    start_s: float
    end_s: float
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A lane of one or several resources. name: the resource's name, or a count such as `7 others`."""

    name: str
    colour: str
    resources: tuple[str, ...]

    def pieces(self, load: PageLoad) -> list[Piece]:
        """Returns the payload of the lane's resources in a load, in order of time."""
        pieces = [piece for name in self.resources for piece in load.resources[name].pieces]
        return sorted(pieces, key=lambda piece: piece.t_ns)


_MOST_LANES = 6


def lanes_of(page: Page) -> list[Lane]:
    """Returns the lanes of a page, from the lowest to the highest: the important resources, and above them the others.

    The demo's film has the same order.

    Each resource gets a lane if the page has at most six resources besides documents. On a larger page the others share
    a lane, and six or more important resources share another lane.
    """
    others, important = page.others, page.important
    if len(others) + len(important) <= _MOST_LANES:
        return [*_own(important, IMPORTANT), *_own(others, OTHERS)]
    return [
        *(
            [_shared(important, "important", IMPORTANT)]
            if len(important) >= _MOST_LANES
            else _own(important, IMPORTANT)
        ),
        *([_shared(others, "others", OTHERS)] if len(others) > 1 else _own(others, OTHERS)),
    ]


def _shared(resources: Sequence[Resource], words: str, colours: Sequence[str]) -> Lane:
    names = tuple(each.name for each in resources)
    return Lane(name=f"{len(resources)} {words}", colour=colours[0], resources=names)


def _own(resources: Sequence[Resource], colours: Sequence[str]) -> list[Lane]:
    return [
        Lane(name=each.name, colour=colours[index % len(colours)], resources=(each.name,))
        for index, each in enumerate(resources)
    ]


def lanes(load: PageLoad, rate: Rate | None, step_s: float) -> dict[str, list[Step]]:
    """Returns the steps of each lane, without gaps, each about step_s long.

    rate: the link's rate, with times in nanoseconds after the page's request; None if the rate is unlimited. A step's
    bytes are compared with the bytes that the link can carry during this step.
    """
    pieces = {lane.name: lane.pieces(load) for lane in lanes_of(load.page)}
    bursts = _bursts(load, pieces, rate)
    cuts = {name: _cut(load, Traffic(own), bursts[name], step_s) for name, own in pieces.items()}
    if rate is None:
        most_s = max(size / (end_s - start_s) for start_s, end_s, size in chain(*cuts.values()))

        def full_bytes(start_s: float, end_s: float) -> float:
            return most_s * (end_s - start_s)
    else:

        def full_bytes(start_s: float, end_s: float) -> float:
            return rate.carried_bytes(start_s * 10**9, end_s * 10**9) / _OVERHEAD

    return {name: _lane(cut, full_bytes) for name, cut in cuts.items()}


_Cut = list[tuple[float, float, float]]
"""The steps of a lane, each as (start in seconds, end in seconds, bytes)."""


def _lane(cut: _Cut, full_bytes: Callable[[float, float], float]) -> list[Step]:
    thinnest = _THINNEST if len(cut) > 1 else 1.0
    steps = []
    for start_s, end_s, size_bytes in cut:
        part = min(1.0, round(size_bytes / full_bytes(start_s, end_s), 2))
        steps.append(Step(start_s=start_s, end_s=end_s, height=max(thinnest, part) if size_bytes >= 1 else 0.0))
    return steps


def _bursts(load: PageLoad, pieces: dict[str, list[Piece]], rate: Rate | None) -> dict[str, list[_Burst]]:
    readable: dict[int, dict[str, int]] = {}
    for name, own in pieces.items():
        for piece in own:
            sizes = readable.setdefault(piece.t_ns, {})
            sizes[name] = sizes.get(name, 0) + piece.size_bytes
    bursts: dict[str, list[_Burst]] = {name: [] for name in pieces}
    before_s = 0.0
    for t_ns, sizes in sorted(readable.items()):
        end_s = load.ms(t_ns) / 1000
        start_s = max(before_s, _begun_s(end_s, sum(sizes.values()) * _OVERHEAD, rate))
        for name, size_bytes in sizes.items():
            if rate is None or t_ns > pieces[name][0].t_ns:
                bursts[name].append(_Burst(start_s=start_s, end_s=end_s, size_bytes=size_bytes))
        before_s = end_s
    return bursts


def _begun_s(end_s: float, frames_bytes: float, rate: Rate | None) -> float:
    return end_s if rate is None else rate.begun_ns(end_s * 10**9, frames_bytes) / 10**9


def _cut(load: PageLoad, times: Traffic, bursts: list[_Burst], step_s: float) -> _Cut:
    first_s, last_s = (load.ms(t_ns) / 1000 for t_ns in (times.first_byte_ns, times.last_byte_ns))
    if last_s - first_s < step_s:
        first_s = max(0.0, last_s - step_s)
        last_s = first_s + step_s
    steps = round((last_s - first_s) / step_s)
    edges = [first_s + (last_s - first_s) * index / steps for index in range(steps)] + [last_s]
    sizes = [0.0] * steps
    for burst in bursts:
        for index, part in _parts(burst, edges):
            sizes[index] += burst.size_bytes * part
    if sizes[0] < 1:
        sizes[0] = times.bytes_until(times.first_byte_ns)
    return list(zip(edges, edges[1:], sizes, strict=False))


def _parts(burst: _Burst, edges: list[float]) -> list[tuple[int, float]]:
    """Returns (index of the step, fraction of the burst in the step) for each step that the burst touches."""
    width_s = (edges[-1] - edges[0]) / (len(edges) - 1)
    first, last = (
        min(len(edges) - 2, max(0, int((at_s - edges[0]) / width_s))) for at_s in (burst.start_s, burst.end_s)
    )
    if first == last:
        return [(first, 1.0)]
    length_s = burst.end_s - burst.start_s
    return [
        (index, max(0.0, min(burst.end_s, edges[index + 1]) - max(burst.start_s, edges[index])) / length_s)
        for index in range(first, last + 1)
    ]
