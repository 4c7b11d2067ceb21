"""The times at which a schedule's events cut hosts off from each other, and so the fate of packets. Pure.

A cut acts where packets leave their host, so the time at which one left it decides.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from priolab.testbed.sandbox.outcome import Happened
from priolab.testbed.sandbox.packet import Cause
from priolab.testbed.sandbox.schedule import HostEvent, Partition, Step, Verb

_CAUSES = {Verb.PARTITION: Cause.PARTITION, Verb.HOLD: Cause.HOLD}
_ENDS = {Verb.HEAL: Cause.PARTITION, Verb.RELEASE: Cause.HOLD, Verb.UP: Cause.DOWN}


@dataclass
class _Cut:
    """A cut. hosts: a sender and a receiver, or the one host that is down. end_ns: None for one that does not end."""

    cause: Cause
    hosts: Sequence[str]
    begin_ns: int
    end_ns: int | None = None

    def has(self, way: tuple[str, str], at_ns: int) -> bool:
        """True if it concerns a packet that left its host at this time."""
        is_there = self.begin_ns <= at_ns and (self.end_ns is None or at_ns <= self.end_ns)
        return is_there and (way == self.hosts or (len(self.hosts) == 1 and self.hosts[0] in way))


class CutTimes:
    """The cuts of a run. Times are in ns from the client's start."""

    def __init__(self, steps: Iterable[Step], happened: Iterable[Happened]) -> None:
        """steps: those of the schedule. happened: what happened of them, in the same order."""
        self._cuts: list[_Cut] = []
        for step, told in zip(steps, happened, strict=False):
            match step.event:
                case Partition(verb=verb, ways=ways):
                    self._cuts += [_Cut(_CAUSES[verb], way, told.at_ns) for way in ways]
                case HostEvent(verb=Verb.DOWN, hosts=hosts):
                    self._cuts.append(_Cut(Cause.DOWN, tuple(hosts), told.at_ns))
                case HostEvent(verb=verb, hosts=hosts) if verb in _ENDS:
                    for cut in self._open(_ENDS[verb]):
                        if {*hosts} <= {*cut.hosts}:
                            cut.end_ns = told.done_ns

    def _open(self, cause: Cause) -> Iterator[_Cut]:
        return (each for each in self._cuts if each.cause is cause and each.end_ns is None)

    def cause(self, way: tuple[str, str], at_ns: int) -> Cause | None:
        """Returns why a packet from a sender to a receiver did not get beyond its host; None if it did."""
        found = (each for each in self._cuts if each.has(way, at_ns))
        return next((each.cause for each in found if each.cause is not Cause.HOLD or each.end_ns is None), None)

    def has_waited(self, way: tuple[str, str], at_ns: int) -> bool:
        """True if a packet from a sender to a receiver was held."""
        return any(each.cause is Cause.HOLD and each.has(way, at_ns) for each in self._cuts)
