"""Finds a sample by its time."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol, TypeVar


class Timed(Protocol):
    """A record with a time."""

    @property
    def t_ns(self) -> int:
        """The time, in nanoseconds of CLOCK_MONOTONIC."""


_TIME = attrgetter("t_ns")  # a lambda takes twice as long
S = TypeVar("S", bound=Timed)


def latest(samples: Sequence[S], t_ns: int) -> S | None:
    """Returns the last sample that is not later than `t_ns`; None if all are later. samples: in order of time."""
    index = bisect_right(samples, t_ns, key=_TIME)
    return samples[index - 1] if index else None


def earliest(samples: Sequence[S], t_ns: int) -> S | None:
    """Returns the first sample that is not earlier than `t_ns`; None if all are earlier. samples: in order of time."""
    index = bisect_left(samples, t_ns, key=_TIME)
    return samples[index] if index < len(samples) else None
