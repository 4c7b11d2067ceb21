"""The order that a browser's signals ask for between two streams: the tree of RFC 7540 and urgencies of RFC 9218.

Rules of the tree (RFC 7540, 5.3):
1. A stream depends on another stream or on the root, and waits for it. Siblings share by weight.
2. An exclusive dependency puts the stream between its parent and all other children of the parent.
3. If a stream is to depend on one of its own descendants, the two first change places.
"""

import re
from dataclasses import dataclass

_ROOT = 0
_USUAL_URGENCY = 3  # RFC 9218, 4.1
_URGENCY = re.compile(r"(?:^|,)\s*u=(\d)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Saying:
    """A signal for a stream, with its request or later. weight: None if it has no place in the tree.

    depends_on: a stream, 0 is the root. field: RFC 9218's, None if it was not said.
    """

    t_ns: int
    stream_id: int
    weight: int | None = None
    depends_on: int = _ROOT
    exclusive: bool = False
    field: str | None = None


class Tree:
    """The tree of RFC 7540 as the server should have it; streams that ended are kept."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._weights: dict[int, int] = {}

    def place(self, stream_id: int, parent: int, weight: int, *, exclusive: bool) -> None:
        """Puts a stream into the tree, or moves it."""
        if parent not in self._parents:
            parent = _ROOT
        if stream_id in self._above(parent):
            self._parents[parent] = self._parents[stream_id]
        if exclusive:
            for other, its_parent in self._parents.items():
                if its_parent == parent and other != stream_id:
                    self._parents[other] = stream_id
        self._parents[stream_id] = parent
        self._weights[stream_id] = weight

    def first_of(self, one: int, other: int) -> int | None:
        """The stream that comes before the other or has the larger share; None if neither."""
        if not {one, other} <= self._parents.keys():
            return None
        above_one, above_other = ([stream, *self._above(stream)] for stream in (one, other))
        if one in above_other:
            return one
        if other in above_one:
            return other
        # Of the two branches that they are on below what they have in common.
        branch = next(stream for stream in above_one if self._parents[stream] in (*above_other, _ROOT))
        against = next(stream for stream in above_other if self._parents[stream] == self._parents[branch])
        weights = self._weights[branch], self._weights[against]
        return None if weights[0] == weights[1] else one if weights[0] > weights[1] else other

    def _above(self, stream_id: int) -> list[int]:
        """The streams that a stream depends on, the nearest first, without the root."""
        found = []
        while (stream_id := self._parents.get(stream_id, _ROOT)) != _ROOT:
            found.append(stream_id)
        return found


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The stream asked to come first, by the tree and by urgencies; None: neither, or no signal.

    by_tree: RFC 7540. by_field: RFC 9218, by urgency alone. spoke_tree: whether the first was spoken at all.
    """

    by_tree: int | None
    by_field: int | None
    spoke_tree: bool

    @property
    def first(self) -> int | None:
        """The first stream by the tree, if the browser uses one."""
        return self.by_tree if self.spoke_tree else self.by_field


def asked(sayings: list[Saying], one: int, other: int) -> Asked:
    """Evaluates all signals, in their order, for these two streams."""
    tree = Tree()
    urgencies = {one: _USUAL_URGENCY, other: _USUAL_URGENCY}
    for said in sayings:
        if said.weight is not None:
            tree.place(said.stream_id, said.depends_on, said.weight, exclusive=said.exclusive)
        if said.field is not None and said.stream_id in urgencies:
            urgencies[said.stream_id] = urgency(said.field)
    by_field = None if urgencies[one] == urgencies[other] else min(urgencies, key=lambda stream: urgencies[stream])
    return Asked(
        by_tree=tree.first_of(one, other),
        by_field=by_field,
        spoke_tree=any(said.weight is not None for said in sayings if said.stream_id in (one, other)),
    )


def urgency(field: str) -> int:
    """The urgency in a value of the header field `priority`; 0 is the most urgent of 0 to 7."""
    found = _URGENCY.search(field)
    return int(found[1]) if found else _USUAL_URGENCY
