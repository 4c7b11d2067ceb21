"""Samples in order of time."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Timed(Protocol):
    """A record with an instant."""

    @property
    def t_ns(self) -> int:
        """The instant, CLOCK_MONOTONIC."""


S = TypeVar("S", bound=Timed)


def latest(samples: Sequence[S], t_ns: int) -> S | None:
    """Returns the last sample, of samples in order of time, that is not later; None if all are."""
    index = bisect_right(samples, t_ns, key=lambda sample: sample.t_ns)
    return samples[index - 1] if index else None
