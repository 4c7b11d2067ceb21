"""Competition of two sides of a load while the front had bytes of both: the shares that came and were asked for. Pure.

The client asked for the *high* side before the *low* side, or for a larger share of it.

Rules:
1. Bytes count from the place on up to which the front had written when the origin handed a resource over; for the high
   side from a packet buffer and a TLS record later, because a front may have prepared so much. They count while a
   resource of each side has bytes that are handed over and not written, and no flow-control window keeps the front from
   writing the high one. So a response in chunks counts only from the hand-over of a chunk until it is written. If the
   client later asked for another share, bytes count from when this signal was at the front.
2. Of the low side's bytes in each such time, those of one TLS record do not count: the front had begun it.
3. The low side may get the share that was asked for, and a tenth more; but not more than half of what even sharing
   would give it beyond that share. So the weights 183 and 147 tell a server that reads them from one that does not.
4. If a resource was requested after all of the low side, a server that ignores the order must fail on the same bytes,
   whether it shares evenly or serves the first request first. Otherwise sharing cannot be seen. It cannot be seen
   either if the kernel may take the whole resource at once: then the front never had to choose. A response in chunks is
   exempt from even sharing and from the kernel: it has less to send than its even share.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from priolab.analysis.loads.interleaving import Interleaving
from priolab.analysis.loads.metrics import ResourceTimes
from priolab.analysis.loads.requested_order import AskedOrder

_TENTH = 0.1


def most_share(asked: float, even: float) -> float:
    """Returns the largest share of the low side that is in order, 0 to 1.

    asked: its share that was asked for. even: its share if all streams share evenly.
    """
    return asked + (_TENTH if even <= asked else min(_TENTH, (even - asked) / 2))


@dataclass(frozen=True, kw_only=True)
class Competition:
    """The bytes of two sides while the front had bytes of both.

    high_bytes, low_bytes: what the sides got. behind_bytes: the part of low_bytes before the high side's first byte.
    counted_bytes: low_bytes without those of begun records. asked: the high side's share that was asked for, 0 to 1.
    most: the low side's largest share that is in order. is_small: True if the kernel may have taken the high resource,
    which was requested last, at once. is_short: True if a server that ignores the order would have been in order.
    """

    high_bytes: int
    low_bytes: int
    behind_bytes: int
    counted_bytes: int
    asked: float
    most: float
    is_small: bool = False
    is_short: bool = False

    @property
    def share(self) -> float:
        """The high side's share of the bytes, 0 to 1."""
        both = self.high_bytes + self.low_bytes
        return self.high_bytes / both if both else 1.0

    @property
    def share_afterwards(self) -> float:
        """The high side's share of the bytes from its first byte on, 0 to 1."""
        both = self.high_bytes + self.low_bytes - self.behind_bytes
        return self.high_bytes / both if both else 1.0

    @property
    def is_in_order(self) -> bool:
        """True if the low side got no more than it may."""
        return _allows(self.most, self.high_bytes, self.counted_bytes)


def _allows(most: float, high_bytes: float, low_bytes: float) -> bool:
    return low_bytes <= most * (high_bytes + low_bytes)


class _Side:
    """The resources of a side: which of them have bytes that the front may write at a place of the load."""

    def __init__(self, steps: Sequence[tuple[int, str, int]]) -> None:
        """steps: place, name, and the total of the resource's bytes that the front may write from there on."""
        self._steps = sorted(steps)
        self._next = 0
        names = {name for _, name, _ in steps}
        self._may, self.written = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        self.waiting = frozenset[str]()

    def reach(self, place: int) -> None:
        """The front has written the load up to a place."""
        while self._next < len(self._steps) and self._steps[self._next][0] <= place:
            _, name, total = self._steps[self._next]
            self._may[name] = max(total, self._may[name])
            self._next += 1
            self._update(name)

    def write(self, name: str, size_bytes: int) -> None:
        """The front writes bytes of a resource."""
        self.written[name] += size_bytes
        self._update(name)

    def _update(self, name: str) -> None:
        is_waiting = self.written[name] < self._may[name]
        if is_waiting != (name in self.waiting):
            self.waiting = self.waiting ^ {name}


def competition(
    scene: Interleaving, high: Sequence[ResourceTimes], low: Sequence[ResourceTimes], order: AskedOrder
) -> Competition:
    """Returns what two sides got while the front had bytes of both. order: what the client asked for."""
    begins = _begins(scene, [*high, *low])
    highs, lows = (
        _Side([step for each in side for step in _steps(each, begins[each.name], scene, later_bytes)])
        for side, later_bytes in ((high, scene.ahead_bytes), (low, 0))
    )
    shares: dict[tuple[frozenset[str], frozenset[str]], float | None] = {}
    high_bytes = low_bytes = behind_bytes = counted_bytes = 0
    asked = most = even = 0.0
    begun_bytes, left_bytes = scene.record_bytes, 0
    high_left_bytes = sum(each.size_bytes for each in high)
    settled_ns = order.settled_ns([each.name for each in high], [each.name for each in low])
    from_place = 0 if settled_ns is None else scene.place_at(settled_ns + scene.up_ns)
    for piece in scene.pieces:
        name, size_bytes = piece.resource, piece.size_bytes
        if name not in begins:
            continue
        highs.reach(piece.begin)
        lows.reach(piece.begin)
        waiting = highs.waiting
        if waiting and scene.may_be_closed:
            waiting = frozenset(each for each in waiting if not scene.is_closed(piece, each))
        is_high = name in highs.written
        if not waiting:
            begun_bytes = scene.record_bytes
        elif lows.waiting and piece.begin >= from_place:
            both = waiting, lows.waiting
            if both not in shares:
                shares[both] = order.share(*both)
            if (share := shares[both]) is not None:
                left_bytes = left_bytes or sum(each.size_bytes for each in low) - sum(lows.written.values())
                even_share = len(lows.waiting) / (len(waiting) + len(lows.waiting))
                asked += share * size_bytes
                most += most_share(1 - share, even_share) * size_bytes
                if is_high:
                    high_bytes += size_bytes
                    even += size_bytes * len(lows.waiting) / len(waiting)
                else:
                    begun = min(begun_bytes, size_bytes)
                    begun_bytes -= begun
                    low_bytes += size_bytes
                    counted_bytes += size_bytes - begun
                    behind_bytes += 0 if any(highs.written.values()) else size_bytes
        (highs if is_high else lows).write(name, size_bytes)
        high_left_bytes -= size_bytes if is_high else 0
        if not high_left_bytes:
            break
    all_bytes = high_bytes + low_bytes
    found = Competition(
        high_bytes=high_bytes,
        low_bytes=low_bytes,
        behind_bytes=behind_bytes,
        counted_bytes=counted_bytes,
        asked=asked / all_bytes if all_bytes else 1.0,
        most=most / all_bytes if all_bytes else 0.0,
    )
    only = high[0]
    if (
        scene.burst_bytes is None
        or len(high) > 1
        or any(order.number(each.name) > order.number(only.name) for each in low)
    ):
        return found
    is_short = _waiting_bytes(scene, only, low, begins) <= scene.ahead_bytes + scene.record_bytes
    if only.resource.chunks:
        return replace(found, is_short=is_short)
    # Sharing ends when one of the sides has no more bytes. A second record: an even server must not be just in order.
    even_bytes = min(even, left_bytes)
    beside_bytes = high_bytes * even_bytes / even if even else 0
    is_short = is_short or _allows(found.most, beside_bytes, even_bytes - 2 * scene.record_bytes)
    return replace(found, is_short=is_short, is_small=only.size_bytes <= scene.burst_bytes)


_Begins = Mapping[str, Sequence[tuple[int, int]]]
"""For each resource the place of each piece, and the bytes of the resource before the piece."""


def _begins(scene: Interleaving, resources: Sequence[ResourceTimes]) -> _Begins:
    begins: dict[str, list[tuple[int, int]]] = {each.name: [] for each in resources}
    before = dict.fromkeys(begins, 0)
    for piece in scene.pieces:
        if piece.resource in begins:
            begins[piece.resource].append((piece.begin, before[piece.resource]))
            before[piece.resource] += piece.size_bytes
    return begins


def _steps(
    times: ResourceTimes, begins: Sequence[tuple[int, int]], scene: Interleaving, later_bytes: int
) -> list[tuple[int, str, int]]:
    """Returns the steps of a resource, for _Side. later_bytes: what the front may write before it is waiting."""
    already = [before for _, before in begins]
    began_ns = times.available_ns - times.resource.first_ns
    steps, total = [], 0
    chunks = [
        (began_ns + chunk.at_ns + number * chunk.every_ns, chunk.size_bytes)
        for chunk in times.resource.chunks
        for number in range(chunk.count)
    ]
    for t_ns, size_bytes in chunks or [(times.available_ns, times.size_bytes)]:
        known = begins[bisect_right(already, total) - 1][0]  # the piece that has the step's first byte
        total += size_bytes
        steps.append((min(known, scene.place_at(t_ns) + later_bytes), times.name, total))
    return steps


def _waiting_bytes(scene: Interleaving, high: ResourceTimes, low: Sequence[ResourceTimes], begins: _Begins) -> int:
    """Returns the low side's bytes that the front had not written when the origin handed the high resource over."""
    place = min(begins[high.name][0][0], scene.place_at(high.available_ns))
    waiting_bytes = 0
    for each in low:
        if each.available_ns <= high.available_ns:
            written = bisect_right(begins[each.name], (place, 0))
            before = begins[each.name][written][1] if written < len(begins[each.name]) else each.size_bytes
            waiting_bytes += each.size_bytes - before
    return waiting_bytes
