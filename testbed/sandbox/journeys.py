"""Follows packets from host to host by comparing the captures of the hosts. Pure.

Rules:
1. A packet of segmentation offload, up to 64 KiB, is taken as the packets into which it is cut: here or on its way.
   So are those that a receiver takes together.
2. A packet is known by its flow, its identification in IPv4, and its numbers and times of TCP, or else by its payload.
   Of equal packets the one that arrives is the last that was sent the least time of this way before.
3. A packet that arrives though all its equals have arrived is a duplicate.
4. A packet of which a piece arrives that nobody sent was divided on its way, as routers of IPv4 do.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from priolab.testbed.sandbox.dissection import ACK, FIN, PSH, RST, SYN, TCP, UDP, Sighting, quotation

_IPV4_BYTES = 4
_IPV4_HEADER_BYTES = 20
_IDENTS = 2**16
_SEQUENCES = 2**32
_MSS = {_IPV4_BYTES: 1460, 16: 1440}
"""The bytes of data in a packet of Ethernet, after the headers of IP and TCP, by the bytes of an address."""
_UDP_BYTES = {_IPV4_BYTES: 1472, 16: 1452}
_LAST_ALONE, _FIRST_ALONE = FIN | PSH | RST, 128  # CWR

_Key = tuple[object, ...]
Way = tuple[bytes, bytes]
"""The addresses of sender and receiver."""


@dataclass(kw_only=True)
class Journey:
    """A packet's way. seen: as its sender saw it, or as it arrived if no capture has its sender. sent: True if it has.

    passed_ns: when the router between two links saw it; None if it did not. arrivals: when it came to its receiver,
    each time. too_big: True if its sender was told so. divided: True if pieces of it arrived instead.
    """

    seen: Sighting
    sent: bool = True
    passed_ns: int | None = None
    arrivals_ns: list[int] = field(default_factory=list)
    too_big: bool = False
    divided: bool = False

    @property
    def way(self) -> Way:
        """The addresses of sender and receiver."""
        return self.seen.source, self.seen.destination

    @property
    def took_ns(self) -> int | None:
        """The time of its way; None if it did not arrive, or was not seen before."""
        return self.arrivals_ns[0] - self.seen.at_ns if self.sent and self.arrivals_ns else None


def journeys(
    captures: Mapping[str, Sequence[Sighting]],
    names: Mapping[bytes, str],
    routers: Mapping[str, Sequence[Sighting]],
    least_ns: Callable[[Way], tuple[int, int]],
) -> list[Journey]:
    """Returns the journeys of all packets from a host's address or to it, in the order in which they began.

    captures: by the hosts' names what each saw. names: the hosts by their addresses. routers: by a host's name what the
    router saw at this host's link. least_ns: the time of a way at least, before the router and after it, where no
    packet shows it.
    """
    here = [each for of_host in captures.values() for each in of_host]
    cut = _Cut([*here, *(each for of_router in routers.values() for each in of_router)])
    sent, passed, arrived = _Seen(), _Seen(), _Seen()
    for host, seen in captures.items():
        for whole in seen:
            if names.get(whole.source) == host:
                sent.add(cut.pieces(whole))
            elif names.get(whole.destination) == host:
                arrived.add(cut.pieces(whole))
    for host, seen in routers.items():
        for whole in seen:
            if host == _tap(whole, names, routers):
                passed.add(cut.pieces(whole))
    first, second, whole_way = sent.fastest(passed), passed.fastest(arrived), sent.fastest(arrived)
    found: list[Journey] = []
    for key in {**sent.by_key, **arrived.by_key}:
        made = [Journey(seen=each) for each in sent.by_key.get(key, ())]
        came = arrived.by_key.get(key, [])
        one = made[0].seen if made else came[0]
        way = one.source, one.destination
        before_ns, after_ns = least_ns(way)
        times = [(each.seen.at_ns, each) for each in made]
        least = whole_way.get(way, before_ns + after_ns)
        if made and _tap(one, names, routers) is not None:
            for journey, router_ns in _assigned(times, passed.times(key), first.get(way, before_ns)):
                if journey:
                    journey.passed_ns = router_ns
            times = sorted(((at, each) for each in made if (at := each.passed_ns) is not None), key=itemgetter(0))
            least = second.get(way, after_ns)
        for journey, came_ns in _assigned(times, arrived.times(key), least):
            if journey:
                journey.arrivals_ns.insert(0, came_ns)
            else:
                found.append(Journey(seen=came[0]._replace(at_ns=came_ns), sent=False, arrivals_ns=[came_ns]))
        found += made
    told = {_reference(part) for each in here if (part := quotation(each))}
    _mark_divided(found)
    for journey in found:
        journey.too_big = not journey.arrivals_ns and _reference(journey.seen) in told
    return sorted(found, key=lambda journey: journey.seen.at_ns)


class _Seen:
    """The packets seen at one place of each way."""

    def __init__(self) -> None:
        self.by_key: defaultdict[_Key, list[Sighting]] = defaultdict(list)

    def add(self, pieces: Iterable[Sighting]) -> None:
        """Adds the next packets."""
        for each in pieces:
            self.by_key[_key(each)].append(each)

    def times(self, key: _Key) -> list[int]:
        """Returns when the packets of a key were seen."""
        return [each.at_ns for each in self.by_key.get(key, ())]

    def fastest(self, later: "_Seen") -> dict[Way, int]:
        """Returns the shortest time of each way from here to a later place, by the packets that have no equals."""
        found: dict[Way, int] = {}
        for key, (first, *others) in self.by_key.items():
            if not others and (there := later.by_key.get(key)):
                way, took_ns = (first.source, first.destination), there[0].at_ns - first.at_ns
                found[way] = min(took_ns, found.get(way, took_ns))
        return found


def _tap(seen: Sighting, names: Mapping[bytes, str], routers: Container[str]) -> str | None:
    """Returns the host at whose link the router's sight of a packet counts, better its receiver's; None without."""
    ends = (names.get(seen.destination, ""), names.get(seen.source, ""))
    return next((name for name in ends if name in routers), None)


def _assigned(
    begun: Sequence[tuple[int, Journey]], came_ns: Sequence[int], least_ns: int
) -> Iterator[tuple[Journey | None, int]]:
    """Yields for each arrival of equal packets, the last first, whose it is; None for nobody's.

    begun: when each set out, in order of time.
    """
    times = [at for at, _ in begun]
    free = len(begun)
    for at_ns in reversed(came_ns):
        before = bisect_right(times, at_ns - least_ns) or bisect_right(times, at_ns)
        free = min(free, before)
        if free:
            free -= 1
            yield begun[free][1], at_ns
        else:
            yield begun[before - 1][1] if before else None, at_ns


def by_waiting(missing: Sequence[Journey], arrived: Sequence[Journey]) -> list[Journey]:
    """Returns packets in the order of how many others were still to arrive when they came to the queue of their link.

    The most come first. arrived: the packets that passed this link.
    """
    sent, came = sorted(each.seen.at_ns for each in arrived), sorted(each.arrivals_ns[0] for each in arrived)
    least_ns = min((each.took_ns for each in arrived if each.took_ns is not None), default=0)

    def waiting(journey: Journey) -> int:
        at_ns = journey.seen.at_ns
        return bisect_right(sent, at_ns) - bisect_right(came, at_ns + least_ns)

    return sorted(missing, key=waiting, reverse=True)


class _Cut:
    """The sizes into which packets of segmentation offload are cut."""

    def __init__(self, everywhere: Sequence[Sighting]) -> None:
        self._mss = {each.reverse: each.mss for each in everywhere if each.flags & SYN and each.mss}
        self._sizes: dict[_Key, int] = {}
        for each in everywhere:
            if each.length and each.ports:
                start = _start(each)
                self._sizes[start] = min(each.length, self._sizes.get(start, _SEQUENCES))

    def pieces(self, whole: Sighting) -> Iterator[Sighting]:
        """Yields the packets on the wire."""
        size = self._size(whole)
        if whole.length <= size:
            yield whole
            return
        count = -(-whole.length // size)
        for number in range(count):
            flags = whole.flags & ~(_LAST_ALONE if number < count - 1 else 0) & ~(_FIRST_ALONE if number else 0)
            yield whole._replace(
                length=min(size, whole.length - number * size),
                payload=whole.payload[number * size : (number + 1) * size],
                ident=None if whole.ident is None else (whole.ident + number) % _IDENTS,
                sequence=(whole.sequence + number * size) % _SEQUENCES if whole.protocol == TCP else 0,
                flags=flags,
            )

    def _size(self, whole: Sighting) -> int:
        length, family = whole.length, len(whole.source)
        if not whole.ports or whole.fragment:
            return length
        if whole.protocol == UDP:
            return length if length <= _UDP_BYTES[family] else self._sizes.get(_start(whole), length)
        mss = min(_MSS[family], self._mss.get(whole.flow, _SEQUENCES)) - whole.options
        return max(1, min(mss, self._sizes.get(_start(whole), mss)))


def _start(seen: Sighting) -> _Key:
    """Returns what a packet and the first of its pieces have in common."""
    return (*seen.flow, seen.ident, seen.sequence, seen.acknowledgment, seen.stamp)


def _key(seen: Sighting) -> _Key:
    """Returns what tells a packet from others, on all its way."""
    payload = b"" if seen.protocol == TCP or seen.ident else seen.payload
    return (*_start(seen), seen.fragment, seen.flags & (SYN | FIN | RST | ACK), seen.length, payload)


def _mark_divided(found: Sequence[Journey]) -> None:
    """Marks packets that did not arrive, and of which pieces arrived."""
    starts: defaultdict[_Key, list[int]] = defaultdict(list)
    for each in found:
        if not each.sent and each.seen.ident:
            starts[_datagram(each.seen)].append(each.seen.fragment)
    for each in found:
        if not each.arrivals_ns and each.seen.ident:
            within = range(each.seen.fragment, each.seen.fragment + each.seen.size - _IPV4_HEADER_BYTES)
            each.divided = any(start in within for start in starts.get(_datagram(each.seen), ()))


def _datagram(seen: Sighting) -> _Key:
    """Returns what all pieces of a packet of IP have in common."""
    return seen.source, seen.destination, seen.protocol, seen.ident


def _reference(seen: Sighting) -> _Key:
    """Returns what an error of ICMP tells of a packet."""
    return (*seen.flow, seen.ident, seen.sequence)
