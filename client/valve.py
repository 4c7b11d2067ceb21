"""The valve of a probe: opens windows in an order in which the front has to choose. Pure.

Rules:
1. Streams are parked: each has a window for its beginning only, until all have begun. Without one nginx would not send
   headers either.
2. The connection's window cannot be closed, so it is used up: the resource that was asked for first gets just as much.
   What is left may be less than a step: lighttpd makes no frame of a few bytes. Where more is left and nothing comes,
   turn after turn, that front leaves more.
3. Then every stream has more window than it needs, and the connection gets it step by step. Whose bytes come is the
   front's choice, each time between streams that it has had time to fill.
4. When one of them has ended there is nothing left to choose, and the rest may come; so it may after so many steps that
   what the front does has been seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

PARKED_BYTES = 1024
"""A stream's window at first."""

WIDE_BYTES = 2**29
"""More than is left of any stream, and small enough that windows, which must stay below 2**31, can take several."""

MOST_STEPS = 256
"""More than the lab's resources take, and at 8 KiB each 2 MiB of those that are larger."""

_PATIENCE = 5
"""Turns in which nothing comes though there is window."""


@dataclass(frozen=True)
class Opening:
    """A window grows. stream_id: 0 is the connection."""

    stream_id: int
    size_bytes: int


class _Stage(Enum):
    PARKED = auto()
    PLUGGED = auto()
    STEPPING = auto()
    OPEN = auto()


class Valve:
    """The valve of a page load. leave: True to end when all has been seen."""

    def __init__(self, step_bytes: int, *, leave: bool = False) -> None:
        self._step_bytes = step_bytes
        self._leave = leave
        self._stage = _Stage.PARKED
        self._asked = 0
        self._steps = 0
        self._left_bytes, self._still = 0, 0

    @property
    def is_left(self) -> bool:
        """True if all has been seen, and the rest of the load is not waited for."""
        return self._leave and self._stage is _Stage.OPEN

    def turn(self, streams: Sequence[int], *, begun: bool, left_bytes: int) -> list[Opening]:
        """Returns the windows to open now, as nothing has arrived for a while.

        streams: those of the resources that are open, in the order in which they were asked for. begun: whether each
        is being answered. left_bytes: of the connection's window.
        """
        self._still = self._still + 1 if left_bytes == self._left_bytes else 0
        self._left_bytes = left_bytes
        match self._stage:
            case _Stage.PARKED if begun and streams:
                self._stage = _Stage.PLUGGED
                self._asked, self._still = len(streams), 0
                return [Opening(streams[0], max(1, left_bytes))]
            case _Stage.PLUGGED if len(streams) < self._asked:  # it was too small
                self._stage = _Stage.OPEN
                return [*(Opening(stream, WIDE_BYTES) for stream in streams), Opening(0, WIDE_BYTES)]
            case _Stage.PLUGGED if left_bytes < self._step_bytes or self._still >= _PATIENCE:
                self._stage = _Stage.STEPPING
                self._steps = 1
                return [*(Opening(stream, WIDE_BYTES) for stream in streams), Opening(0, self._step_bytes)]
            case _Stage.STEPPING if len(streams) == self._asked and self._steps < MOST_STEPS:
                self._steps += 1
                return [Opening(0, self._step_bytes)]
            case _Stage.STEPPING:
                self._stage = _Stage.OPEN
                return [Opening(0, WIDE_BYTES)]
        return []
