"""A load over the slow link, as the matrix uses it: which bytes of image and script arrived when."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from msgspec import Struct, structs

from priolab.analysis.judgement.layers import own_order_on_link
from priolab.analysis.judgement.order import OwnOrder
from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import Run

SCRIPT, IMAGE = "script", "image"

_STEP_MS, _STEP_NS = 10, 10**7
SILENCE_MS = 250
"""A span ends when nothing of its resource has arrived for longer than this."""


class Span(Struct, frozen=True, kw_only=True, array_like=True):
    """Bytes of one resource that arrived one after the other, with no bytes of the other resource between them.

    first_ms, last_ms: the times of the first and the last of these bytes since the page's request, to 10 ms. Runs with
    programs that read the processor's clock repeat to some microseconds, and their spans should repeat exactly.
    """

    resource: str
    first_ms: int
    last_ms: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """A load over the slow link. spans: in order of time. Image and script have at least one each."""

    spans: tuple[Span, ...]

    @cached_property
    def before(self) -> float:
        """The fraction of the image that arrived before the script's first byte."""
        first = next(number for number, span in enumerate(self.spans) if span.resource == SCRIPT)
        early = sum(span.size_bytes for span in self.spans[:first])
        return early / sum(span.size_bytes for span in self.spans if span.resource == IMAGE)

    @property
    def script_first_ms(self) -> int:
        """The time of the script's first byte."""
        return self._of(SCRIPT)[0].first_ms

    @property
    def script_last_ms(self) -> int:
        """The time of the script's last byte."""
        return self._of(SCRIPT)[-1].last_ms

    @property
    def image_last_ms(self) -> int:
        """The time of the image's last byte."""
        return self._of(IMAGE)[-1].last_ms

    @property
    def lead(self) -> float:
        """The time by which the script is complete before the image, as a fraction of the load's duration.

        Negative if the script is complete after the image.
        """
        return (self.image_last_ms - self.script_last_ms) / max(self.image_last_ms, self.script_last_ms)

    @property
    def own_order(self) -> OwnOrder:
        """The server's own order, in a load without priorities in which the image is requested first."""
        return own_order_on_link(self.before, self.lead)

    def _of(self, resource: str) -> list[Span]:
        return [span for span in self.spans if span.resource == resource]


def crossing(run: Run) -> Crossing:
    """Reads a run's measured load, which went over the slow link. Raises FolderError."""
    load = measured_load(run.evidence())
    pieces = [
        (piece.t_ns - load.started_ns, name, piece.size_bytes)
        for name, times in load.resources.items()
        if times.resource in load.page.contents
        for piece in times.pieces
    ]
    return Crossing(spans=tuple(spans(sorted(pieces))))


def spans(pieces: Iterable[tuple[int, str, int]]) -> Iterator[Span]:
    """Yields the spans of pieces: (nanoseconds since the page's request, resource, bytes), in order of time."""
    span: Span | None = None
    for t_ns, resource, size_bytes in pieces:
        t_ms = round(t_ns / _STEP_NS) * _STEP_MS
        if span and resource == span.resource and t_ms - span.last_ms <= SILENCE_MS:
            span = structs.replace(span, last_ms=t_ms, size_bytes=span.size_bytes + size_bytes)
            continue
        if span:
            yield span
        span = Span(resource=resource, first_ms=t_ms, last_ms=t_ms, size_bytes=size_bytes)
    if span:
        yield span
