"""Priority signals: their text in an event, which of two streams they ask to come first, and the shares they ask for.

Rules of the tree (RFC 7540, 5.3):
1. A stream depends on its parent, which is another stream or the root, and waits for the parent. Siblings share the
   bandwidth in proportion to their weights.
2. An exclusive dependency puts the stream between its parent and all other children of the parent.
3. If a stream is to depend on one of its own descendants, this descendant is first moved to the stream's parent.
4. A stream whose request has no signal depends on the root, with weight 16.

Of the streams that have something to send, the most urgent ones get everything (RFC 9218, 10). Incremental ones of one
urgency get equal parts.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from priolab.common.formats.plan import Position

_ROOT = 0
_USUAL_WEIGHT = 16  # RFC 7540, 5.3.5
_USUAL_URGENCY = 3  # RFC 9218, 4.1
_LEAST_LEVEL = 7
_URGENCY = re.compile(r"(?:^|,)\s*u=([0-7])\s*(?=$|[,;])", re.ASCII)
_INCREMENTAL = re.compile(r"(?:^|,)\s*i\s*(=\s*\?0)?\s*(?=$|[,;=])", re.ASCII)
_FIELD = "priority: "
_PLACE = re.compile(r"weight=(\d+)( exclusive)?(?: on (.+))?", re.ASCII)
_STREAM = re.compile(r"stream (\d+)", re.ASCII)
_LEVEL = re.compile(r"priority=([0-7])", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Saying:
    """A priority signal for a stream, sent with the request or later.

    weight: RFC 7540's weight; None if the signal does not change RFC 7540's tree. depends_on: the number of the parent
    stream; 0 is the root. field: the value of RFC 9218's priority field; None if the signal has no such field. level:
    SPDY/3.1's priority, from 0 (the most urgent) to 7; None over other protocols.
    """

    t_ns: int
    stream_id: int
    weight: int | None = None
    depends_on: int = _ROOT
    exclusive: bool = False
    field: str | None = None
    level: int | None = None


def as_text(position: Position | None, field: str | None) -> str | None:
    """Returns a priority signal as text, for the field `detail` of an event; None without a signal."""
    words = []
    if position:
        on = f" on {position.depends_on}" if position.depends_on else ""
        words.append(f"weight={position.weight}{' exclusive' if position.exclusive else ''}{on}")
    if field:
        words.append(f"{_FIELD}{field}")
    return "; ".join(words) or None


def from_text(detail: str | None, stream_id: int, t_ns: int, streams: Mapping[str, int]) -> Saying:
    """Returns the signal that the field `detail` of an event has as text (`as_text`); other texts are no signals.

    streams: the number of the stream of each name on which a stream may depend. A name without a stream is the root.
    """
    place, _, field = (detail or "").partition(_FIELD)
    if found := _LEVEL.fullmatch(place):
        return Saying(t_ns=t_ns, stream_id=stream_id, level=int(found[1]))
    placed = _PLACE.fullmatch(place.removesuffix("; "))
    if placed is None:
        return Saying(t_ns=t_ns, stream_id=stream_id, field=field or None)
    named = placed[3] or ""
    number = _STREAM.fullmatch(named)
    return Saying(
        t_ns=t_ns,
        stream_id=stream_id,
        weight=int(placed[1]),
        depends_on=int(number[1]) if number else streams.get(named, _ROOT),
        exclusive=placed[2] is not None,
        field=field or None,
    )


class Tree:
    """The priority tree (RFC 7540, 5.3) that results from a browser's signals.

    Streams that have ended stay in the tree.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._weights: dict[int, int] = {}

    def place(self, stream_id: int, parent: int, weight: int, *, exclusive: bool) -> None:
        """Adds a stream to the tree, or moves a stream in the tree.

        A parent that is unknown, or the stream itself, counts as the root.
        """
        if parent not in self._parents or parent == stream_id:
            parent = _ROOT
        if stream_id in self._above(parent):
            self._parents[parent] = self._parents[stream_id]
        if exclusive:
            for other, its_parent in self._parents.items():
                if its_parent == parent and other != stream_id:
                    self._parents[other] = stream_id
        self._parents[stream_id] = parent
        self._weights[stream_id] = weight

    def add(self, stream_id: int) -> None:
        """Adds a stream without a signal, unless the tree has it."""
        if stream_id not in self._parents:
            self.place(stream_id, _ROOT, _USUAL_WEIGHT, exclusive=False)

    def first_of(self, one: int, other: int) -> int | None:
        """Returns the stream that comes first by the tree, with the larger share.

        None if the shares are equal, or if the tree lacks one of the two streams.
        """
        share = self.share_of(one, other)
        return None if share is None or share == 0.5 else one if share > 0.5 else other

    def share_of(self, one: int, other: int) -> float | None:
        """Returns the part of all bytes of two streams that `one` gets while both are open, 0 to 1.

        An ancestor gets all, before its descendants. None if the tree lacks one of the two streams.
        """
        if not {one, other} <= self._parents.keys():
            return None
        above_one, above_other = ([stream, *self._above(stream)] for stream in (one, other))
        if one in above_other:
            return 1.0
        if other in above_one:
            return 0.0
        # The streams descend from two different children of their nearest common ancestor, or are these children.
        # They share all that the two streams get by their weights.
        branch = next(stream for stream in above_one if self._parents[stream] in (*above_other, _ROOT))
        against = next(stream for stream in above_other if self._parents[stream] == self._parents[branch])
        return self._weights[branch] / (self._weights[branch] + self._weights[against])

    def shares(self, streams: Collection[int]) -> dict[int, float]:
        """Returns the parts of all bytes that streams get while they, and no others, have something to send.

        The parts add up to 1. Streams that the tree lacks get none.
        """
        children: dict[int, list[int]] = {}
        for stream, parent in self._parents.items():
            children.setdefault(parent, []).append(stream)
        found = dict.fromkeys(streams, 0.0)
        waiting = {above for stream in found for above in (stream, *self._above(stream)) if stream in self._parents}

        def give(stream: int, part: float) -> None:
            if stream in found:
                found[stream] = part
                return
            below = [child for child in children.get(stream, ()) if child in waiting]
            weights = sum(self._weights[child] for child in below)
            for child in below:
                give(child, part * self._weights[child] / weights)

        give(_ROOT, 1.0)
        return found

    def parent_of(self, stream_id: int) -> int:
        """Returns the parent of a stream; 0 is the root."""
        return self._parents[stream_id]

    def _above(self, stream_id: int) -> list[int]:
        """Returns the ancestors of a stream, the parent first, without the root."""
        found = []
        while (stream_id := self._parents.get(stream_id, _ROOT)) != _ROOT:
            found.append(stream_id)
        return found


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The order in which a client asked for two streams.

    by_tree: the stream that comes first in the tree of RFC 7540. by_field: the stream with the more urgent value of
    RFC 9218. by_level: the stream with the more urgent level of SPDY. Each is None if its signals put neither stream
    first, or are absent. spoke_tree: True if the client sent signals of RFC 7540 for one of the streams.
    """

    by_tree: int | None
    by_field: int | None
    by_level: int | None
    spoke_tree: bool

    @property
    def first(self) -> int | None:
        """The stream that the client asked to come first; None if it put neither stream first.

        A front may read the tree, the field, or both. If tree and field disagree, no order was asked for.
        """
        ways = (self.by_tree if self.spoke_tree else None, self.by_field, self.by_level)
        wanted = {stream for stream in ways if stream is not None}
        return wanted.pop() if len(wanted) == 1 else None

    @property
    def disagrees(self) -> bool:
        """True if the tree puts one of the streams first, and the field puts the other first."""
        ways = (self.by_tree if self.spoke_tree else None, self.by_field)
        return None not in ways and ways[0] != ways[1]


class Wishes:
    """The order of all streams of a client, by its signals."""

    def __init__(self, sayings: Sequence[Saying]) -> None:
        """sayings: the signals, in the order in which the client sent them."""
        self._tree = Tree()
        self._in_tree = set[int]()
        self._urgencies: dict[int, int] = {}
        self._incremental = set[int]()
        self._levels: dict[int, int] = {}
        for saying in sayings:
            if saying.weight is not None:
                self._tree.place(saying.stream_id, saying.depends_on, saying.weight, exclusive=saying.exclusive)
                self._in_tree.add(saying.stream_id)
            else:
                self._tree.add(saying.stream_id)
            if saying.field is not None:
                self._urgencies[saying.stream_id] = urgency(saying.field)
                (self._incremental.add if incremental(saying.field) else self._incremental.discard)(saying.stream_id)
            if saying.level is not None:
                self._levels[saying.stream_id] = saying.level

    def said(self, stream_id: int) -> bool:
        """True if the client sent a signal for the stream."""
        return stream_id in self._in_tree or stream_id in self._urgencies or stream_id in self._levels

    def between(self, one: int, other: int) -> Asked:
        """Returns the order in which the signals ask for the streams `one` and `other`."""
        return Asked(
            by_tree=self._tree.first_of(one, other),
            by_field=_least({each: self._urgencies.get(each, _USUAL_URGENCY) for each in (one, other)}),
            by_level=_least({each: self._levels[each] for each in (one, other) if each in self._levels}),
            spoke_tree=not self._in_tree.isdisjoint((one, other)),
        )

    def share(self, some: Collection[int], others: Collection[int]) -> float | None:
        """Returns the part of all bytes that `some` streams get together while they and `others` have bytes to send.

        The signals may be of several kinds, and a front may read any of them: the part is the smallest one for which a
        kind asks. A kind that asks for equal parts counts only if no kind asks for an order. None if the signals leave
        the parts to the server.
        """
        streams = sorted({*some, *others})
        kinds = []
        if not self._in_tree.isdisjoint(streams):
            kinds.append((self._tree.shares(streams), True))
        kinds.append((self._by_field(streams), self._incremental.issuperset(streams)))
        if self._levels:
            kinds.append((self._by_level(streams), False))
        orders = [parts for parts, _ in kinds if len(set(parts.values())) > 1]
        equals = [parts for parts, asks_for_equal in kinds if asks_for_equal]
        return min((sum(parts[stream] for stream in some) for parts in orders or equals), default=None)

    def _by_field(self, streams: Sequence[int]) -> dict[int, float]:
        """Returns the parts by RFC 9218; equal parts also if all have one urgency and none is incremental."""
        urgencies = {stream: self._urgencies.get(stream, _USUAL_URGENCY) for stream in streams}
        return _to_the_first(urgencies)

    def _by_level(self, streams: Sequence[int]) -> dict[int, float]:
        return _to_the_first({stream: self._levels.get(stream, _LEAST_LEVEL) for stream in streams})


def _to_the_first(values: Mapping[int, int]) -> dict[int, float]:
    """Returns equal parts of all bytes for the streams with the smallest value."""
    first = [stream for stream, value in values.items() if value == min(values.values())]
    return {stream: 1 / len(first) if stream in first else 0.0 for stream in values}


def _least(values: Mapping[int, int]) -> int | None:
    """Returns the stream with the smaller of two values; None if the values are equal or one is missing."""
    if len(set(values.values())) < 2:
        return None
    return min(values, key=lambda stream: values[stream])


def urgency(field: str) -> int:
    """Returns the urgency in a value of the header field `priority`: from 0 (the most urgent) to 7; 3 by default."""
    found = _URGENCY.findall(field)
    return int(found[-1]) if found else _USUAL_URGENCY  # the last of equal keys counts (RFC 8941, 3.2)


def incremental(field: str) -> bool:
    """Returns the flag `incremental` in a value of the header field `priority`; False by default (RFC 9218, 4.2)."""
    found = _INCREMENTAL.findall(field)
    return bool(found) and not found[-1]
