"""The packets of a run: from the captures of its hosts, and from what its links counted."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import NamedTuple

from priolab.netem.link import Link
from priolab.testbed.sandbox.cut_times import CutTimes
from priolab.testbed.sandbox.dissection import ACK, FIN, FLAGS, ICMP, ICMPV6, SYN, TCP, UDP, sightings
from priolab.testbed.sandbox.journeys import Journey, Way, by_waiting, journeys
from priolab.testbed.sandbox.outcome import Direction, Outcome
from priolab.testbed.sandbox.packet import Cause, Endpoint, Loss, Packet
from priolab.testbed.sandbox.spec import CLIENT, SandboxSpec
from priolab.testbed.sandbox.timeline import Event, Timeline
from priolab.testbed.topology.topology import ipv6_of

_PROTOCOLS = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMPV6: "icmpv6"}
_NS = 10**9
_SEQUENCES = 2**32
_CAPTURED_ON_NS = 1_500_000_000
"""The time for which packets are captured after the end of the programs."""

_Stage = tuple[str, str]
"""The direction of a link: the name of its host; `down` toward it, `up` from it."""


def counts(outcome: Outcome) -> dict[_Stage, Direction]:
    """Returns what each direction of each link has counted."""
    found = {(CLIENT, "down"): outcome.down, (CLIENT, "up"): outcome.up}
    for name, each in outcome.beside.items():
        found |= {(name, "down"): each.down, (name, "up"): each.up}
    return found


def losses(outcome: Outcome, trace: "PacketTrace | None") -> Counter[Loss]:
    """Returns how many packets did not arrive, by cause and place: as the links counted them, and from a trace those
    of other causes.
    """
    found: Counter[Loss] = Counter()
    for (link, way), each in counts(outcome).items():
        found[Loss(cause=Cause.QUEUE, link=link, way=way)] = each.dropped
        found[Loss(cause=Cause.LOSS, link=link, way=way)] = each.lost
    seen = (each.lost for each in trace.sent if each.lost) if trace else ()
    found.update(each for each in seen if each.cause not in (Cause.QUEUE, Cause.LOSS))
    return +found


@dataclass(frozen=True, kw_only=True)
class PacketTrace:
    """The captures of a run, as pcap files by the names of hosts.

    outcome: with what was counted until their end. hosts: what each saw. routers: what the router saw at each one's
    link.
    """

    spec: SandboxSpec
    outcome: Outcome
    hosts: Mapping[str, bytes]
    routers: Mapping[str, bytes]

    def of(self, host: str) -> Sequence[Packet]:
        """Returns the packets that a host has sent and received, in order of time."""
        return self._by_host[host]

    def timeline(
        self, *, begin_s: float | None = None, end_s: float | None = None, events: Sequence[Event] = ()
    ) -> Timeline:
        """Returns a picture of the packets of all hosts, as `Timeline` says, with the events of the schedule, too."""
        first, last, *others = self.spec.numbers
        marked = [*((each.at_ns / _NS, each.event) for each in self.outcome.events), *events]
        return Timeline(packets=self.sent, hosts=[first, *others, last], events=marked, begin_s=begin_s, end_s=end_s)

    @cached_property
    def sent(self) -> Sequence[Packet]:
        """The packets of all hosts in order of time, each where it was sent. One that no host has sent, or that came
        a second time, is where it arrived.
        """
        every = [each for of_host in self._by_host.values() for each in of_host]
        once = [each for each in every if each.direction == "out" or each.sent_ns is None or each.duplicate]
        return sorted(once, key=lambda each: each.at_ns)

    @cached_property
    def _names(self) -> Mapping[bytes, str]:
        names = {inet_pton(AF_INET, address): name for name, address in self.spec.addresses.items()}
        return names | {inet_pton(AF_INET6, ipv6_of(address)): name for name, address in self.spec.addresses.items()}

    @cached_property
    def _by_host(self) -> Mapping[str, Sequence[Packet]]:
        seen = {name: [*sightings(capture)] for name, capture in self.hosts.items()}
        of_routers = {name: [*sightings(capture)] for name, capture in self.routers.items()}
        found = journeys(seen, self._names, of_routers, self._least_ns)
        last_ns = max((each.at_ns for of_host in seen.values() for each in of_host), default=0)
        end_ns = max(last_ns, self.outcome.clock_ns + self.outcome.duration_ns + _CAPTURED_ON_NS)
        losses = {id(journey): loss for journey, loss in self._losses(found, end_ns)}
        made: dict[str, list[Packet]] = {name: [] for name in self.hosts}
        for journey, numbers in _with_numbers(found):
            for packet in self._views(journey, losses.get(id(journey)), numbers):
                made[packet.host].append(packet)
        return {name: sorted(each, key=lambda packet: packet.at_ns) for name, each in made.items()}

    def _stages(self, journey: Journey) -> list[_Stage]:
        """Returns the directions of links that a packet passes."""
        source, destination = self._ends(journey.way)
        return [stage for stage in ((source, "up"), (destination, "down")) if stage[0] in self.spec.ways]

    def _last_stage(self, journey: Journey) -> _Stage | None:
        """Returns the direction of a link in which a packet ended that did not arrive; None if it was none."""
        stages = self._stages(journey)
        if not self.spec.is_pair:
            stages = [stage for stage in stages if stage[1] == ("up" if journey.passed_ns is None else "down")]
        return stages[0] if stages else None

    def _least_ns(self, way: Way) -> tuple[int, int]:
        """Returns the shortest delays of a way, from its sender and toward its receiver."""
        up, down = (self._links.get(name, ()) for name in self._ends(way))
        return min((link.delay_up_ns for _, link in up), default=0), min((link.delay_ns for _, link in down), default=0)

    def _ends(self, way: Way) -> tuple[str, str]:
        """Returns the names of sender and receiver, empty for none."""
        source, destination = way
        return self._names.get(source, ""), self._names.get(destination, "")

    @cached_property
    def _links(self) -> Mapping[str, Sequence[tuple[float, Link]]]:
        """The settings of each link over time, by the names of their hosts, with the time of each change."""
        later = [*zip(self.outcome.events, self.spec.links_over_time.later, strict=False)]
        return {
            name: [(-inf, each.link), *((told.at_ns, links[name]) for told, links in later if name in links)]
            for name, each in self.spec.ways.items()
        }

    def _is_too_big(self, journey: Journey, stage: _Stage | None) -> bool:
        """True if a packet that ended in a direction of a link was larger than the link's MTU, also if nobody told."""
        if journey.too_big or stage is None:
            return journey.too_big
        at_ns = (journey.seen.at_ns if journey.passed_ns is None else journey.passed_ns) - self.outcome.clock_ns
        link = [link for begin_ns, link in self._links[stage[0]] if begin_ns <= at_ns][-1]
        return link.mtu_bytes is not None and journey.seen.size > link.mtu_bytes

    def _losses(self, found: Sequence[Journey], end_ns: int) -> Iterator[tuple[Journey, Loss]]:
        """Yields the packets that did not arrive, with what became of them."""
        arrived: defaultdict[_Stage | None, list[Journey]] = defaultdict(list)
        missing: defaultdict[_Stage | None, list[Journey]] = defaultdict(list)
        slowest_ns: dict[Way, int] = {}
        cuts = CutTimes(self.spec.steps, self.outcome.events)
        for each in found:
            if each.took_ns is not None:
                if not cuts.has_waited(self._ends(each.way), self._at_ns(each)):
                    slowest_ns[each.way] = max(each.took_ns, slowest_ns.get(each.way, 0))
                for passed in self._stages(each):
                    arrived[passed].append(each)
        for each in found:
            if each.arrivals_ns or each.divided or each.seen.destination not in self._names:
                continue
            if cause := cuts.cause(self._ends(each.way), self._at_ns(each)):
                yield each, Loss(cause=cause)
                continue
            longest_ns = slowest_ns.get(each.way, sum(self._least_ns(each.way)))
            stage = self._last_stage(each)
            if self._is_too_big(each, stage):
                yield each, _at(stage, Cause.MTU)
            elif each.seen.at_ns + longest_ns < end_ns:
                missing[stage].append(each)
        counted = counts(self.outcome)
        for at, of_stage in missing.items():
            count = counted.get(at, Direction()) if at else Direction()
            yield from _causes(at, of_stage, arrived[at], count)

    def _at_ns(self, journey: Journey) -> int:
        """Returns when a packet was seen first, from the client's start."""
        return journey.seen.at_ns - self.outcome.clock_ns

    def _views(self, journey: Journey, loss: Loss | None, numbers: "_Numbers") -> Iterator[Packet]:
        """Yields a packet as each host saw it."""
        seen = journey.seen
        from_port, to_port = seen.ports or (None, None)
        source, destination = self._endpoint(seen.source, from_port), self._endpoint(seen.destination, to_port)
        arrivals = [at_ns - self.outcome.clock_ns for at_ns in journey.arrivals_ns]
        packet = Packet(
            at_ns=self._at_ns(journey),
            host=source.host,
            direction="out",
            protocol=_PROTOCOLS.get(seen.protocol, str(seen.protocol)),
            source=source,
            destination=destination,
            flags=tuple(name for bit, name in FLAGS if seen.flags & bit),
            sequence=numbers.sequence,
            acknowledgment=numbers.acknowledgment,
            length=seen.length,
            sent_ns=self._at_ns(journey) if journey.sent else None,
            arrived_ns=arrivals[0] if arrivals else None,
            lost=loss,
            retransmission=numbers.again,
        )
        if journey.sent:
            yield packet
        for number, at_ns in enumerate(arrivals):
            yield replace(packet, at_ns=at_ns, host=destination.host, direction="in", duplicate=number > 0)

    def _endpoint(self, address: bytes, port: int | None) -> Endpoint:
        text = inet_ntop(AF_INET if len(address) == 4 else AF_INET6, address)
        return Endpoint(host=self._names.get(address, text), address=text, port=port)


class _Numbers(NamedTuple):
    """The numbers of a packet of TCP from the beginning of its connection. again: True for data sent before."""

    sequence: int = 0
    acknowledgment: int = 0
    again: bool = False


def _with_numbers(found: Sequence[Journey]) -> Iterator[tuple[Journey, _Numbers]]:
    """Yields journeys, which are in order of time, with the numbers of their packets."""
    first: dict[object, int] = {}
    ends: dict[object, int] = {}
    for each in found:
        seen = each.seen
        if seen.protocol != TCP:
            yield each, _Numbers()
            continue
        if seen.flow not in first or (seen.flags & SYN and first[seen.flow] != seen.sequence):
            first[seen.flow], ends[seen.flow] = seen.sequence, 0
        position = (seen.sequence - first[seen.flow]) % _SEQUENCES
        end = position + seen.length + bool(seen.flags & SYN) + bool(seen.flags & FIN)
        answered = first.get(seen.reverse, seen.acknowledgment)
        acknowledged = (seen.acknowledgment - answered) % _SEQUENCES if seen.flags & ACK else 0
        yield each, _Numbers(position, acknowledged, end > position and position < ends[seen.flow])
        ends[seen.flow] = max(end, ends[seen.flow])


def _causes(
    stage: _Stage | None, missing: Sequence[Journey], arrived: Sequence[Journey], counted: Direction
) -> Iterator[tuple[Journey, Loss]]:
    """Yields what became of packets that ended in a direction of a link, from what it has counted.

    If its queue has dropped some and it has lost some at random, those that found the most packets in the queue are the
    dropped ones. If more ended than it has counted, the others are unknown.
    """
    if counted.dropped and (counted.lost or len(missing) > counted.dropped):
        missing = by_waiting(missing, arrived)
    dropped = min(counted.dropped, max(len(missing) - counted.lost, 0))
    known = len(missing) <= counted.dropped + counted.lost
    other = _at(stage, Cause.LOSS) if known else Loss(cause=Cause.UNKNOWN)
    yield from ((each, _at(stage, Cause.QUEUE)) for each in missing[:dropped])
    yield from ((each, other) for each in missing[dropped:])


def _at(stage: _Stage | None, cause: Cause) -> Loss:
    link, way = stage or (None, None)
    return Loss(cause=cause, link=link, way=way)
