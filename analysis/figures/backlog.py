"""Computes the socket's lane of the timeline: bytes in the front's kernel and on the way to the client, by time. Pure.

1. unsent: bytes in the front's kernel that have never been sent. TCP_NOTSENT_LOWAT bounds these bytes.
2. in flight: bytes sent that the client cannot read yet. A lost byte, and all bytes behind it, count until the
   lost byte arrives.
3. queue: the part of the bytes in flight that is in the bottleneck queue.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import FEWEST_LOOKS, SocketSample
from priolab.common.packets import unframed

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Look:
    """A sample of the front's socket and the queue, at_s seconds after the page's request."""

    at_s: float
    unsent_bytes: int
    in_flight_bytes: int
    queue_bytes: int


def backlog(load: PageLoad, layers: Layers, until_s: float) -> list[Look]:
    """Returns the samples up to until_s seconds after the page's request.

    The list is empty if there are too few samples for a figure, or if no sample has bytes unsent or in flight.
    """
    looks = [_look(load, layers, sample) for sample in layers.sockets if 0 <= load.ms(sample.t_ns) / 1000 <= until_s]
    is_telling = any(look.unsent_bytes or look.in_flight_bytes for look in looks)
    return looks if is_telling and len(looks) >= FEWEST_LOOKS else []


def _look(load: PageLoad, layers: Layers, sample: SocketSample) -> Look:
    in_flight = max(0, sample.sent_bytes - layers.arrived_bytes(sample))
    held = layers.held(sample.t_ns)
    return Look(
        at_s=load.ms(sample.t_ns) / 1000,
        unsent_bytes=sample.notsent_bytes,
        in_flight_bytes=in_flight,
        queue_bytes=min(in_flight, round(unframed(held.bytes if held else 0, sample.mss_bytes))),
    )


def columns(items: Iterable[T], width: float, place: Callable[[T], float], size: Callable[[T], float]) -> list[T]:
    """Divides a drawing's width into columns, and returns the largest item of each column, from left to right.

    So the drawing shows every peak. width: the width of a column. place: returns an item's position. size: returns an
    item's size.
    """
    largest: dict[int, T] = {}
    for item in items:
        column = int(place(item) / width)
        if column not in largest or size(item) > size(largest[column]):
            largest[column] = item
    return [largest[column] for column in sorted(largest)]


def bends(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the points of a line without the points inside its horizontal pieces."""
    return [
        point
        for index, point in enumerate(points)
        if not 0 < index < len(points) - 1 or not points[index - 1][1] == point[1] == points[index + 1][1]
    ]


_STEPS = [digit * 10.0**power for power in range(-4, 12) for digit in (1, 2, 5)]


def ticks(most: float, least_step: float) -> list[float]:
    """Returns evenly spaced round numbers above 0 and up to most.

    Candidates for the step are 1, 2 and 5 times a power of ten. The step is the smallest candidate that is at least
    least_step. If this candidate is above `most`, the step is the largest candidate up to `most`.
    """
    steps = [step for step in _STEPS if step <= most]
    step = next((step for step in steps if step >= least_step), steps[-1])
    return [step * count for count in range(1, int(most / step) + 1)]
