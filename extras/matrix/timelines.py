"""Draws the small timelines of the matrix's page as SVG. Equal pictures are drawn once, and referred to. Pure."""

from collections.abc import Iterable, Iterator
from statistics import median

from priolab.analysis.figures.palette import RESOURCES
from priolab.analysis.loads.probe import Probe
from priolab.extras.matrix.crossing import SILENCE_MS, Crossing

_WIDTH, _STRIPE, _GAP, _LABEL = 150, 12, 4, 46
_BINS = 50

Mark = tuple[str, str]
"""A rectangle: its colour, and its outline as an SVG path."""


class Timelines:
    """The pictures of a page. longest_ms: the length of the time axis."""

    def __init__(self, longest_ms: int) -> None:
        self.longest_ms = longest_ms
        self._numbers: dict[str, int] = {}

    def picture(self, probe: Probe, crossings: Iterable[tuple[str, Crossing]]) -> str:
        """Returns an SVG element with a stripe for a probe and one for each load. crossings: loads with their names."""
        stripes = [("window", self._reference(_of_probe(probe)))]
        stripes += [(name, self._reference(_of_link(each, self.longest_ms))) for name, each in crossings]
        drawn = "".join(
            f'<text x="0" y="{row * (_STRIPE + _GAP) + _STRIPE - 3}">{name}</text>'
            f'<use href="#s{number}" x="{_LABEL}" y="{row * (_STRIPE + _GAP)}"/>'
            for row, (name, number) in enumerate(stripes)
        )
        width, height = _LABEL + _WIDTH, len(stripes) * (_STRIPE + _GAP)
        names = ", ".join(name for name, _ in stripes)
        return f'<svg width="{width}" height="{height}" role="img" aria-label="timelines: {names}">{drawn}</svg>'

    def definitions(self) -> str:
        """Returns a hidden SVG element with everything that the pictures refer to."""
        groups = "".join(f'<g id="s{number}">{drawn}</g>' for drawn, number in self._numbers.items())
        return f'<svg width="0" height="0" aria-hidden="true" class="hidden"><defs>{groups}</defs></svg>'

    def _reference(self, marks: Iterable[Mark]) -> int:
        return self._numbers.setdefault(_drawn(marks), len(self._numbers))


def _of_probe(probe: Probe) -> Iterator[Mark]:
    """Yields the rectangles of a probe. A probe shows the order only, so a rectangle's width is bytes, not time."""
    total, x = sum(size for _, size in probe.served), 0.0
    for name, size in probe.served:
        width = size / total * _WIDTH
        yield _mark(x, width, _STRIPE, RESOURCES[name])
        x += width


def _of_link(crossing: Crossing, longest_ms: int) -> Iterator[Mark]:
    """Yields the rectangles of a load: in each bin of time, one per resource, as high as its share of the link."""
    bins: list[dict[str, float]] = [{} for _ in range(_BINS)]
    for number, resource, size_bytes in _binned(crossing, longest_ms):
        bins[number][resource] = bins[number].get(resource, 0) + size_bytes
    usual = median([sum(own.values()) for own in bins if own])
    width = _WIDTH / _BINS
    for number, own in enumerate(bins):
        y, full = float(_STRIPE), max(usual, sum(own.values()))
        for resource, colour in RESOURCES.items():
            if height := own.get(resource, 0) / full * _STRIPE:
                y -= height
                yield _mark(number * width, width, height, colour, y)


def _binned(crossing: Crossing, longest_ms: int) -> Iterator[tuple[int, str, float]]:
    """Yields parts of spans: the number of the bin, the resource, bytes. A span's bytes are spread over its time.

    A span's first piece has been arriving since the span before it ended, unless nothing arrived for long.
    """
    before_ms = 0
    for span in crossing.spans:
        since_ms = before_ms if span.first_ms - before_ms <= SILENCE_MS else span.first_ms
        before_ms = span.last_ms
        first, last = (min(_BINS - 1, at_ms * _BINS // longest_ms) for at_ms in (since_ms, span.last_ms))
        if first == last:
            yield first, span.resource, span.size_bytes
            continue
        for number in range(first, last + 1):
            ends = ((number + 1) * longest_ms / _BINS, number * longest_ms / _BINS)
            part_ms = min(span.last_ms, ends[0]) - max(since_ms, ends[1])
            yield number, span.resource, span.size_bytes * part_ms / (span.last_ms - since_ms)


def _mark(x: float, width: float, height: float, colour: str, y: float = 0.0) -> Mark:
    right, bottom = x + width, y + height
    return colour, f"M{x:.1f} {y:.1f}H{right:.1f}V{bottom:.1f}H{x:.1f}z"


def _drawn(marks: Iterable[Mark]) -> str:
    outlines: dict[str, str] = {}
    for colour, outline in marks:
        outlines[colour] = outlines.get(colour, "") + outline
    return "".join(f'<path fill="{colour}" d="{outline}"/>' for colour, outline in outlines.items())
