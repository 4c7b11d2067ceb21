"""Maps positions in the TCP stream to payload: how much of each resource is before a position. Pure.

For each piece of payload the client records the position in the stream at which its TLS record ended. The front's
kernel counts the same positions for bytes written, sent and acknowledged. So at either end a position determines how
much of a resource has passed.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable
from itertools import accumulate

from common.formats.events import Event


class Payload:
    """Payload of resources of one load, by position in the TCP stream.

    Within a record it counts as spread evenly: a record holds 16 KiB at most (RFC 8446, 5.1), so no answer is further
    off than that, and none at all at a record's end.
    """

    def __init__(self, events: Iterable[Event], load: int, resources: Container[str | None]) -> None:
        """events: of the whole connection, in order. resources: names."""
        ends: list[int] = []
        sizes: list[int] = []
        for event in events:
            if event.tcp_bytes is None:
                continue
            if not ends or event.tcp_bytes > ends[-1]:
                ends.append(event.tcp_bytes)
                sizes.append(0)
            if (event.kind, event.load) == ("data", load) and event.resource in resources:
                sizes[-1] += event.size_bytes or 0
        self._ends = ends
        self._totals = list(accumulate(sizes))

    @property
    def size_bytes(self) -> int:
        """All payload bytes."""
        return self._totals[-1] if self._totals else 0

    def before(self, position: int) -> int:
        """Payload bytes before a position."""
        index = bisect_left(self._ends, position)
        if index == len(self._ends):
            return self.size_bytes
        start, already = (self._ends[index - 1], self._totals[index - 1]) if index else (0, 0)
        inside = self._totals[index] - already
        return already + inside * max(0, position - start) // (self._ends[index] - start)

    def first(self) -> int:
        """The position where the record begins that holds its first byte. Raises ValueError if there is none."""
        for index, total in enumerate(self._totals):
            if total:
                return self._ends[index - 1] if index else 0
        raise ValueError("no payload whose position is known")
