"""A load over the slow link, as the matrix uses it: which bytes of image and script arrived when."""

from dataclasses import dataclass
from functools import cached_property

from analysis.loads.metrics import measured_load
from analysis.records.runs import Run

SCRIPT, IMAGE = "script", "image"

Lane = tuple[int, str, int]
"""A piece of a response: microseconds since the page's request, the resource, payload bytes."""


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """A load over the slow link. lanes: the pieces of image and script in order of time; each has at least one."""

    lanes: tuple[Lane, ...]

    @cached_property
    def before(self) -> float:
        """The fraction of the image that arrived before the script's first byte."""
        first_us = self._times_us(SCRIPT)[0]
        early = sum(size for t_us, name, size in self.lanes if name == IMAGE and t_us < first_us)
        return early / sum(size for _, name, size in self.lanes if name == IMAGE)

    @property
    def script_first_ms(self) -> float:
        """The time of the script's first byte."""
        return self._times_us(SCRIPT)[0] / 1000

    @property
    def script_last_ms(self) -> float:
        """The time of the script's last byte."""
        return self._times_us(SCRIPT)[-1] / 1000

    @property
    def image_last_ms(self) -> float:
        """The time of the image's last byte."""
        return self._times_us(IMAGE)[-1] / 1000

    @property
    def lead(self) -> float:
        """The time by which the script is complete before the image, as a fraction of the load's duration.

        Negative if the script is complete after the image.
        """
        return (self.image_last_ms - self.script_last_ms) / max(self.image_last_ms, self.script_last_ms)

    def _times_us(self, resource: str) -> list[int]:
        return [t_us for t_us, name, _ in self.lanes if name == resource]


def crossing(run: Run) -> Crossing:
    """Reads a run's measured load, which went over the slow link. Raises FolderError."""
    load = measured_load(run.evidence())
    arrived: dict[tuple[int, str], int] = {}
    for name, times in load.resources.items():
        if times.resource in load.page.contents:
            for piece in times.pieces:
                at = ((piece.t_ns - load.started_ns) // 1000, name)
                arrived[at] = arrived.get(at, 0) + piece.size_bytes
    return Crossing(lanes=tuple((t_us, name, size) for (t_us, name), size in sorted(arrived.items())))
