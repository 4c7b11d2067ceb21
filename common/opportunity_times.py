"""The times of a trace's opportunities: a sequence that is as long as they are many, and as large as they differ."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise, repeat
from typing import overload


class OpportunityTimes(Sequence[int]):
    """Times in milliseconds, in order. Equal times are several opportunities at once."""

    __slots__ = ("_instants", "_until")

    def __init__(self, runs: Iterable[tuple[int, int]]) -> None:
        """Takes (time in milliseconds, number of opportunities at that time). Raises ValueError if times decrease."""
        self._instants, self._until = array("q"), array("q")
        total = 0
        for time_ms, count in runs:
            if self._instants and time_ms <= self._instants[-1]:
                if time_ms < self._instants[-1]:
                    raise ValueError("the times of a trace do not decrease")
                total += count
                self._until[-1] = total
                continue
            total += count
            self._instants.append(time_ms)
            self._until.append(total)

    @classmethod
    def of(cls, times_ms: Iterable[int]) -> "OpportunityTimes":
        """Returns the sequence of these times. Raises ValueError if they decrease."""
        return cls((time_ms, sum(1 for _ in group)) for time_ms, group in groupby(times_ms))

    @property
    def runs(self) -> Iterator[tuple[int, int]]:
        """The times that differ, each with its number of opportunities."""
        counts = (later - earlier for earlier, later in pairwise(chain((0,), self._until)))
        return zip(self._instants, counts, strict=True)

    def longest_wait_ms(self, further: int) -> int:
        """Returns the longest time from an opportunity until so many further ones have come.

        After the last time they begin again, at that time. further: from 0, fewer than there are.
        """
        longest_ms = at = round_ms = passed = 0
        for time_ms, last in zip(self._instants, self._until, strict=True):  # the last of equal times waits longest
            while last - 1 + further >= passed + self._until[at]:
                at += 1
                if at == len(self._until):
                    at, round_ms, passed = 0, self._instants[-1], len(self)
            longest_ms = max(longest_ms, round_ms + self._instants[at] - time_ms)
        return longest_ms

    def until(self, time_ms: float) -> int:
        """Returns the number of opportunities until a time, which is included."""
        at = bisect_right(self._instants, time_ms)
        return self._until[at - 1] if at else 0

    def __len__(self) -> int:
        """Returns the number of opportunities."""
        return self._until[-1] if self._until else 0

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        """Returns the time of an opportunity, or the times of several."""
        if isinstance(at, slice):
            return tuple(self)[at]
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(at)
        return self._instants[bisect_right(self._until, place)]

    def __iter__(self) -> Iterator[int]:
        """Yields the time of each opportunity."""
        return chain.from_iterable(repeat(time_ms, count) for time_ms, count in self.runs)

    def __eq__(self, other: object) -> bool:
        """True if the other one is a sequence of the same times."""
        if isinstance(other, OpportunityTimes):
            return self._instants == other._instants and self._until == other._until
        return isinstance(other, tuple) and len(other) == len(self) and tuple(self) == other

    def __hash__(self) -> int:
        """Returns a hash that equal times have, too."""
        return hash((self._instants.tobytes(), self._until.tobytes()))

    def __repr__(self) -> str:
        """Returns the times in words, without all of them."""
        return f"{len(self)} times from {self[0]} to {self[-1]} ms" if self else "no times"
