"""Finds which of two streams a browser's signals ask to come first, by RFC 7540's tree and by RFC 9218's urgencies.

Rules of the tree (RFC 7540, 5.3):
1. A stream depends on its parent, which is another stream or the root, and waits for the parent. Siblings share the
   bandwidth in proportion to their weights.
2. An exclusive dependency puts the stream between its parent and all other children of the parent.
3. If a stream is to depend on one of its own descendants, this descendant is first moved to the stream's parent.
4. A stream whose request has no signal depends on the root, with weight 16.
"""

import re
from dataclasses import dataclass

_ROOT = 0
_USUAL_WEIGHT = 16  # RFC 7540, 5.3.5
_USUAL_URGENCY = 3  # RFC 9218, 4.1
_URGENCY = re.compile(r"(?:^|,)\s*u=(\d)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Saying:
    """A priority signal for a stream, sent with the request or later.

    weight: RFC 7540's weight; None if the signal does not change RFC 7540's tree. depends_on: the number of the parent
    stream; 0 is the root. field: the value of RFC 9218's priority field; None if the signal has no such field.
    """

    t_ns: int
    stream_id: int
    weight: int | None = None
    depends_on: int = _ROOT
    exclusive: bool = False
    field: str | None = None


class Tree:
    """The priority tree (RFC 7540, 5.3) that results from a browser's signals.

    Streams that have ended stay in the tree.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._weights: dict[int, int] = {}

    def place(self, stream_id: int, parent: int, weight: int, *, exclusive: bool) -> None:
        """Adds a stream to the tree, or moves a stream in the tree. An unknown parent counts as the root."""
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

    def add(self, stream_id: int) -> None:
        """Adds a stream without a signal, unless the tree has it."""
        if stream_id not in self._parents:
            self.place(stream_id, _ROOT, _USUAL_WEIGHT, exclusive=False)

    def first_of(self, one: int, other: int) -> int | None:
        """Returns the stream that comes first by the tree; None if the tree lacks one of the two streams.

        An ancestor comes before its descendants. Of two other streams, the stream with the larger share of the
        bandwidth comes first; the result is None if the shares are equal.
        """
        if not {one, other} <= self._parents.keys():
            return None
        above_one, above_other = ([stream, *self._above(stream)] for stream in (one, other))
        if one in above_other:
            return one
        if other in above_one:
            return other
        # The streams descend from two different children of their nearest common ancestor, or are these children.
        # Compares the weights of the two children.
        branch = next(stream for stream in above_one if self._parents[stream] in (*above_other, _ROOT))
        against = next(stream for stream in above_other if self._parents[stream] == self._parents[branch])
        weights = self._weights[branch], self._weights[against]
        return None if weights[0] == weights[1] else one if weights[0] > weights[1] else other

    def _above(self, stream_id: int) -> list[int]:
        """Returns the ancestors of a stream, the parent first, without the root."""
        found = []
        while (stream_id := self._parents.get(stream_id, _ROOT)) != _ROOT:
            found.append(stream_id)
        return found


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The order in which the browser asked for two streams.

    by_tree: the stream that comes first in the tree of RFC 7540. by_field: the stream with the more urgent value of
    RFC 9218. by_tree and by_field are None if the signals of their RFC put neither stream first, or are absent.
    spoke_tree: True if the browser sent signals of RFC 7540 for one of the streams.
    """

    by_tree: int | None
    by_field: int | None
    spoke_tree: bool

    @property
    def first(self) -> int | None:
        """The stream that the browser asked to come first; None if it put neither stream first.

        A browser that uses a tree asks by its tree, every other browser by the urgency.
        """
        return self.by_tree if self.spoke_tree else self.by_field


def asked(sayings: list[Saying], one: int, other: int) -> Asked:
    """Returns the order in which the signals ask for the streams `one` and `other`.

    sayings: the signals, in the order in which the browser sent them.
    """
    tree = Tree()
    urgencies = {one: _USUAL_URGENCY, other: _USUAL_URGENCY}
    for said in sayings:
        if said.weight is not None:
            tree.place(said.stream_id, said.depends_on, said.weight, exclusive=said.exclusive)
        else:
            tree.add(said.stream_id)
        if said.field is not None and said.stream_id in urgencies:
            urgencies[said.stream_id] = urgency(said.field)
    by_field = None if urgencies[one] == urgencies[other] else min(urgencies, key=lambda stream: urgencies[stream])
    return Asked(
        by_tree=tree.first_of(one, other),
        by_field=by_field,
        spoke_tree=any(said.weight is not None for said in sayings if said.stream_id in (one, other)),
    )


def urgency(field: str) -> int:
    """Returns the urgency in a value of the header field `priority`: from 0 (the most urgent) to 7; 3 by default."""
    found = _URGENCY.search(field)
    return int(found[1]) if found else _USUAL_URGENCY
