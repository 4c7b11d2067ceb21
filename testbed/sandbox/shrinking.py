"""Makes a failing schedule of faults simpler: fewer faults, shorter ones, rounder times. Pure.

Rules:
1. The order of all tries is fixed, and of several that fail the first one counts. So the result does not depend on how
   many are tried side by side.
2. Only what fails in the same way is taken, so the result is a schedule that fails.
3. There are at most MOST_TRIES tries.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from priolab.testbed.sandbox.faults import Fault

MOST_TRIES = 150
"""The most schedules that are tried."""

_LENGTHS_MS = tuple(number * 10**power for power in range(1, 6) for number in (1, 2, 5))
_ROUND_MS = (1000, 500, 100, 50, 10)

FirstFailing = Callable[[Sequence[Sequence[Fault]]], int | None]
"""Tries schedules; returns the number of the first one that fails, None if none does."""


def shrunk(
    faults: Sequence[Fault], possible: Callable[[Sequence[Fault]], bool], first_failing: FirstFailing
) -> Sequence[Fault]:
    """Returns simpler faults that fail, or the same. possible: returns whether faults can happen together."""
    tries = _Tries(possible, first_failing)
    simplest = tuple(faults)
    while True:
        before = simplest
        while (found := tries.first(_fewer(simplest))) is not None:
            simplest = found
        for at in range(len(simplest)):
            simplest = _with_shorter(simplest, at, tries)
        while (found := tries.first(_rounder(simplest))) is not None:
            simplest = found
        if simplest == before or tries.left == 0:
            return simplest


class _Tries:
    """left: how many schedules may still be tried."""

    def __init__(self, possible: Callable[[Sequence[Fault]], bool], first_failing: FirstFailing) -> None:
        self.left = MOST_TRIES
        self._possible = possible
        self._first_failing = first_failing
        self._passed: set[tuple[Fault, ...]] = set()

    def first(self, candidates: Iterator[tuple[Fault, ...]]) -> tuple[Fault, ...] | None:
        """Returns the first candidate that fails, of those that have not been tried."""
        untried = (each for each in candidates if each not in self._passed and self._possible(each))
        new = [*islice(untried, self.left)]
        if not new:
            return None
        number = self._first_failing(new)
        tried = new if number is None else new[: number + 1]
        self.left -= len(tried)
        if number is None:
            self._passed |= {*new}
            return None
        self._passed |= {*new[:number]}
        return new[number]


def _fewer(faults: tuple[Fault, ...]) -> Iterator[tuple[Fault, ...]]:
    """Yields none of the faults, each alone, each half, and all but one."""
    if faults:
        yield ()
    if len(faults) > 1:
        yield from ((each,) for each in faults)
    if len(faults) > 2:
        half = len(faults) // 2
        yield faults[:half]
        yield faults[half:]
        yield from (faults[:at] + faults[at + 1 :] for at in range(len(faults)))


def _with_shorter(faults: tuple[Fault, ...], at: int, tries: _Tries) -> tuple[Fault, ...]:
    """Returns the faults, one of them with a shorter length that is round, found by halving the range."""
    lengths_ms = [each for each in _LENGTHS_MS if each < faults[at].length_ms]
    while lengths_ms:
        middle = len(lengths_ms) // 2
        shorter = _with(faults, at, replace(faults[at], length_ms=lengths_ms[middle]))
        if tries.first(iter([shorter])) is None:
            lengths_ms = lengths_ms[middle + 1 :]
        else:
            faults, lengths_ms = shorter, lengths_ms[:middle]
    return faults


def _rounder(faults: tuple[Fault, ...]) -> Iterator[tuple[Fault, ...]]:
    """Yields for each fault rounder times at which it begins, 0 before all others, and rounder lengths."""
    for at, fault in enumerate(faults):
        for step_ms in (fault.at_ms + 1, *_ROUND_MS):
            if fault.at_ms % step_ms:
                yield _with(faults, at, replace(fault, at_ms=fault.at_ms - fault.at_ms % step_ms))
            if step_ms < fault.length_ms and fault.length_ms % step_ms:
                yield _with(faults, at, replace(fault, length_ms=fault.length_ms - fault.length_ms % step_ms))


def _with(faults: tuple[Fault, ...], at: int, fault: Fault) -> tuple[Fault, ...]:
    return (*faults[:at], fault, *faults[at + 1 :])
