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
from math import ceil
from typing import Self

from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import ACKNOWLEDGMENT_BYTES, PACKET_BYTES
from priolab.common.trace import Trace

_STEP = re.compile(r"(\d+)bit@(\d+)ns")
_NS = 10**9
_BYTE_BITS = 8
_EVER_NS = 2**63


def steps_of(scenario: ScenarioRecord) -> list[tuple[int, int]]:
    """Returns the rate steps of a scenario, each as (nanoseconds after the measured load began, bits per second)."""
    return [(int(at_ns), int(rate)) for rate, at_ns in _STEP.findall(scenario.rate_steps or "")]


def most_wait_up_ns(scenario: ScenarioRecord) -> int:
    """Returns the longest time that a packet toward the front waits for others, and for its own transmission.

    With RATE_UP the queue toward the front holds at most QUEUE acknowledgments, or QUEUE bytes of them, and a full
    packet for each request.
    With TRACE_UP a packet may share an opportunity with packets that wait before it, and use the next one, too.
    """
    if scenario.rate_up_bit_s is not None:
        most_bytes = scenario.most_acknowledgment_bytes + len(scenario.resources) * PACKET_BYTES
        return ceil(most_bytes * _BYTE_BITS * _NS / scenario.rate_up_bit_s)
    return 0 if scenario.trace_up is None else 2 * Trace.unpack(scenario.trace_up).longest_gap_ns


def may_drop_up(scenario: ScenarioRecord) -> bool:
    """True if acknowledgments may fill the queue toward the front: one for each packet is more than RATE_UP lets by."""
    if scenario.rate_up_bit_s is None:
        return False
    rate = Rate.of(scenario)
    fastest_bit_s = max((rate_bit_s for _, rate_bit_s in rate.pieces), default=0) if rate else None
    return fastest_bit_s is None or fastest_bit_s * ACKNOWLEDGMENT_BYTES > scenario.rate_up_bit_s * PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A link's rate over time.

    pieces: (time in nanoseconds from which on a rate holds, bits per second), in order of time. The first piece begins
    long before the run.
    """

    pieces: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, scenario: ScenarioRecord, began_ns: int = 0) -> "Rate | None":
        """Returns the rate of a scenario; None if the rate is unlimited. began_ns: the start of the measured load."""
        if scenario.rate_bit_s is None:
            return None
        if scenario.trace is not None:
            return TraceRate.of_trace(Trace.unpack(scenario.trace), scenario.rate_bit_s, began_ns)
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

    def longest_wait_s(self, packets: int) -> float:
        """Returns the longest time, in seconds, that the link needs for so many full packets."""
        return packets * PACKET_BYTES * _BYTE_BITS / self.slowest_bit_s

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


@dataclass(frozen=True, kw_only=True)
class TraceRate(Rate):
    """The rate of a link that replays a trace from began_ns on. Before that, it is the rate of `pieces`.

    The bytes of an opportunity count as transmitted evenly since the opportunity before. So the rate is right at every
    opportunity, and between two of them it is at most one packet off. A time without opportunities has a low rate.
    """

    trace: Trace
    began_ns: int

    @classmethod
    def of_trace(cls, trace: Trace, before_bit_s: int, began_ns: int) -> Self:
        """Returns the rate of a trace. before_bit_s: the rate until began_ns."""
        return cls(pieces=((-_EVER_NS, before_bit_s),), trace=trace, began_ns=began_ns)

    @property
    def slowest_bit_s(self) -> int:
        """The lowest rate: one packet in the longest time between two opportunities."""
        return min(self.pieces[0][1], max(1, PACKET_BYTES * _BYTE_BITS * _NS // self.trace.longest_gap_ns))

    def longest_wait_s(self, packets: int) -> float:
        """Returns the longest time, in seconds, that the link needs for so many full packets."""
        before_s = packets * PACKET_BYTES * _BYTE_BITS / self.pieces[0][1]
        return max(before_s, self.trace.longest_wait_ns(packets) / _NS)

    def at_bit_s(self, t_ns: float) -> int:
        """Returns the rate at an instant: that of the next opportunities, whose bytes are being transmitted."""
        if t_ns < self.began_ns:
            return self.pieces[0][1]
        before_ns, after_ns, count = self._gap(t_ns)
        return max(1, round(count * PACKET_BYTES * _BYTE_BITS * _NS / (after_ns - before_ns)))

    def changes(self, from_ns: float, until_ns: float) -> bool:
        """True if the replay begins between two instants. `carried_bytes` knows all changes after that."""
        return from_ns < self.began_ns <= until_ns

    def carried_bytes(self, from_ns: float, until_ns: float) -> float:
        """Returns the most bytes that the link can carry between two instants."""
        return self._position(until_ns) - self._position(from_ns)

    def through_ns(self, begins_ns: float, size_bytes: float) -> float:
        """Returns the time at which `size_bytes` are transmitted, if their transmission begins at `begins_ns`."""
        return max(begins_ns, self._time(self._position(begins_ns) + size_bytes))

    def begun_ns(self, through_ns: float, size_bytes: float) -> float:
        """Returns the time at which the transmission of `size_bytes` began, if it ended at `through_ns`."""
        return min(through_ns, self._time(self._position(through_ns) - size_bytes))

    def _position(self, t_ns: float) -> float:
        """Returns the bytes that the link can carry from began_ns until an instant; below 0 before began_ns."""
        if t_ns <= self.began_ns:
            return (t_ns - self.began_ns) * self.pieces[0][1] / (_BYTE_BITS * _NS)
        before_ns, after_ns, count = self._gap(t_ns)
        done = self._done(before_ns)
        return PACKET_BYTES * (done + count * (t_ns - before_ns) / (after_ns - before_ns))

    def _time(self, position: float) -> float:
        """Returns the instant at which the link can have carried so many bytes since began_ns."""
        if position <= 0:
            return self.began_ns + position * _BYTE_BITS * _NS / self.pieces[0][1]
        number = ceil(position / PACKET_BYTES) - 1 + self.trace.opportunities_until(0)
        before_ns, after_ns, count = self._gap(self.began_ns + self.trace.opportunity_ns(number))
        done = self._done(before_ns)
        return before_ns + (position / PACKET_BYTES - done) / count * (after_ns - before_ns)

    def _done(self, t_ns: int) -> int:
        """Returns the number of opportunities after began_ns until t_ns, which is included."""
        return self.trace.opportunities_until(t_ns - self.began_ns) - self.trace.opportunities_until(0)

    def _gap(self, t_ns: float) -> tuple[int, int, int]:
        """Returns the instants before and after t_ns at which there are opportunities, and their number after it.

        An instant after t_ns may be t_ns itself. The first gap begins at began_ns. t_ns: later than began_ns, or equal.
        """
        trace, at_ns = self.trace, max(1.0, t_ns - self.began_ns)
        first = trace.opportunities_until(at_ns - 1)
        after_ns = trace.opportunity_ns(first)
        before_ns = trace.opportunity_ns(first - 1) if first else 0
        count = trace.opportunities_until(after_ns) - first
        return self.began_ns + before_ns, self.began_ns + after_ns, count
