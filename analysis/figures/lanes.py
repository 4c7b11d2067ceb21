"""Lanes of the timeline: how much of the link each resource had, and when. Pure.

Rules:
1. A lane begins with its resource's first byte and ends with the last. One shorter than a step is one whole step that
   ends with the last byte, if there is room before it: too short to tell its part of the link, but seen.
2. Payload is drawn where it crossed the link. A TLS record is readable when its last byte is here, and after a loss
   many records are readable at once; both crossed before.
3. So the record that makes the first byte crossed before the lane begins. It is drawn only where nothing else would
   show the first byte.
4. A step that carried anything is thick enough to be seen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from analysis.loads.metrics import IMAGE, SCRIPT, PageLoad, ResourceTimes
from analysis.records.rate import Rate

# Frames, records, TCP, IP and Ethernet around a full-size packet's payload.
_OVERHEAD = 1514 / 1440
_THINNEST = 0.03


@dataclass(frozen=True, kw_only=True)
class Step:
    """From start_s to end_s after the page's request the resource had this part of the link, 0 to 1.

    On a link without a rate: of what it carried when it was busiest.
    """

    start_s: float
    end_s: float
    height: float


@dataclass(frozen=True, kw_only=True)
class _Burst:
    """Payload of one stream that became readable together, and the time in which it crossed the link."""

    start_s: float
    end_s: float
    size_bytes: int


def lanes(load: PageLoad, rate: Rate | None, step_s: float) -> dict[str, list[Step]]:
    """The lane of each resource, without gaps, in steps of about step_s. rate: its times count from the page's request.

    Where the rate changes, the part is of what the link could carry then.
    """
    resources = {IMAGE: load.image, SCRIPT: load.script}
    bursts = _bursts(load, resources, rate)
    cuts = {name: _cut(load, times, bursts[name], step_s) for name, times in resources.items()}
    if rate is None:
        most_s = max(size / (end_s - start_s) for start_s, end_s, size in chain(*cuts.values()))

        def full_bytes(start_s: float, end_s: float) -> float:
            return most_s * (end_s - start_s)
    else:

        def full_bytes(start_s: float, end_s: float) -> float:
            return rate.carried_bytes(start_s * 10**9, end_s * 10**9) / _OVERHEAD

    return {name: _lane(cut, full_bytes) for name, cut in cuts.items()}


_Cut = list[tuple[float, float, float]]
"""(start, end, bytes) of each step of a lane."""


def _lane(cut: _Cut, full_bytes: Callable[[float, float], float]) -> list[Step]:
    thinnest = _THINNEST if len(cut) > 1 else 1.0
    steps = []
    for start_s, end_s, size_bytes in cut:
        part = min(1.0, round(size_bytes / full_bytes(start_s, end_s), 2))
        steps.append(Step(start_s=start_s, end_s=end_s, height=max(thinnest, part) if size_bytes >= 1 else 0.0))
    return steps


def _bursts(load: PageLoad, resources: dict[str, ResourceTimes], rate: Rate | None) -> dict[str, list[_Burst]]:
    readable: dict[int, dict[str, int]] = {}
    for name, times in resources.items():
        for piece in times.pieces:
            sizes = readable.setdefault(piece.t_ns, {})
            sizes[name] = sizes.get(name, 0) + piece.size_bytes
    bursts: dict[str, list[_Burst]] = {name: [] for name in resources}
    before_s = 0.0
    for t_ns, sizes in sorted(readable.items()):
        end_s = load.ms(t_ns) / 1000
        start_s = max(before_s, _begun_s(end_s, sum(sizes.values()) * _OVERHEAD, rate))
        for name, size_bytes in sizes.items():
            if rate is None or t_ns > resources[name].first_byte_ns:
                bursts[name].append(_Burst(start_s=start_s, end_s=end_s, size_bytes=size_bytes))
        before_s = end_s
    return bursts


def _begun_s(end_s: float, frames_bytes: float, rate: Rate | None) -> float:
    return end_s if rate is None else rate.begun_ns(end_s * 10**9, frames_bytes) / 10**9


def _cut(load: PageLoad, times: ResourceTimes, bursts: list[_Burst], step_s: float) -> _Cut:
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
    """(index of a step, part of the burst that falls into it)."""
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
