"""The rate of a run's link over time, according to the run's scenario. Pure.

A scenario's `rate_bit_s` holds until the first of its `rate_steps`, which is a text such as
`10240000bit@2000000000ns+1024000bit@6000000000ns`. Times in this text count from the start of the measured load. In
this module the rate changes at exactly the time in the text. A real link first finishes the packet that it is sending,
so its change may be late by the transmission time of one packet.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from common.formats.scenario import ScenarioRecord

_STEP = re.compile(r"(\d+)bit@(\d+)ns")
_NS = 10**9
_BYTE_BITS = 8
_EVER_NS = 2**63


def steps_of(scenario: ScenarioRecord) -> list[tuple[int, int]]:
    """Returns the rate steps of a scenario, each as (nanoseconds after the measured load began, bits per second)."""
    return [(int(at_ns), int(rate)) for rate, at_ns in _STEP.findall(scenario.rate_steps or "")]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A link's rate over time.

    pieces: (time in nanoseconds from which on a rate holds, bits per second), in order of time. The first piece begins
    long before the run.
    """

    pieces: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, scenario: ScenarioRecord, began_ns: int = 0) -> Self | None:
        """Returns the rate of a scenario; None if the rate is unlimited. began_ns: the start of the measured load."""
        if scenario.rate_bit_s is None:
            return None
        steps = ((began_ns + at_ns, rate_bit_s) for at_ns, rate_bit_s in steps_of(scenario))
        return cls(pieces=((-_EVER_NS, scenario.rate_bit_s), *steps))

    def without(self, crossed: Sequence[tuple[int, int]]) -> Self:
        """Returns the rate that other traffic leaves.

        crossed: (time, bytes of the other traffic that have left the link so far), in order of time. The rate between
        two of these times is what the link could carry minus what the other traffic carried. It is never 0.
        """
        pieces = [piece for piece in self.pieces if piece[0] < crossed[0][0]]
        for (from_ns, earlier), (until_ns, later) in pairwise(crossed):
            if until_ns > from_ns:
                left_bytes = self.carried_bytes(from_ns, until_ns) - (later - earlier)
                pieces.append((from_ns, max(1, round(left_bytes * _BYTE_BITS * _NS / (until_ns - from_ns)))))
        last_ns = crossed[-1][0]
        pieces.append((last_ns, self.at_bit_s(last_ns)))
        pieces += [piece for piece in self.pieces if piece[0] > last_ns]
        return type(self)(pieces=tuple(pieces))

    @property
    def slowest_bit_s(self) -> int:
        """The lowest rate."""
        return min(rate_bit_s for _, rate_bit_s in self.pieces)

    def at_bit_s(self, t_ns: float) -> int:
        """Returns the rate at an instant."""
        return self.pieces[max(0, bisect_right(self.pieces, t_ns, key=lambda piece: piece[0]) - 1)][1]

    def changes(self, from_ns: float, until_ns: float) -> bool:
        """True if the rate changes between two instants."""
        return any(from_ns < at_ns <= until_ns for at_ns, _ in self.pieces)

    def carried_bytes(self, from_ns: float, until_ns: float) -> float:
        """Returns the most bytes that the link can carry between two instants."""
        edges = [*self.pieces, (_EVER_NS, 0)]
        bits = sum(
            rate_bit_s * max(0.0, min(until_ns, end_ns) - max(from_ns, start_ns))
            for (start_ns, rate_bit_s), (end_ns, _) in pairwise(edges)
        )
        return bits / (_BYTE_BITS * _NS)

    def through_ns(self, begins_ns: float, size_bytes: float) -> float:
        """Returns the time at which `size_bytes` are transmitted, if their transmission begins at `begins_ns`."""
        left = size_bytes * _BYTE_BITS * _NS
        at_ns = begins_ns
        for (start_ns, rate_bit_s), (end_ns, _) in pairwise([*self.pieces, (_EVER_NS, 0)]):
            room = rate_bit_s * (end_ns - max(at_ns, start_ns))
            if end_ns <= at_ns:
                continue
            if left <= room:
                return at_ns + left / rate_bit_s
            left -= room
            at_ns = end_ns
        return at_ns

    def begun_ns(self, through_ns: float, size_bytes: float) -> float:
        """Returns the time at which the transmission of `size_bytes` began, if it ended at `through_ns`."""
        left = size_bytes * _BYTE_BITS * _NS
        at_ns = through_ns
        for start_ns, rate_bit_s in reversed(self.pieces):
            if start_ns >= at_ns:
                continue
            room = rate_bit_s * (at_ns - start_ns)
            if left <= room:
                return at_ns - left / rate_bit_s
            left -= room
            at_ns = start_ns
        return at_ns
