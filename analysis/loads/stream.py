"""Converts positions in the TCP stream to payload: how much of a resource comes before a position. Pure.

For each piece of payload the client records the position in the stream at which the piece's TLS record ended. The
front's kernel counts in the same stream the bytes written, sent and acknowledged. So the same position tells at the
client and at the front how much of a resource has passed.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable
from itertools import accumulate

from priolab.common.formats.events import Event


class Payload:
    """The payload of some resources in one load, by position in the TCP stream.

    Payload counts as spread evenly over its TLS record. A record holds at most 16 KiB (RFC 8446, 5.1). So the payload
    before a position is exact at the end of a record, and otherwise wrong by less than 16 KiB.
    """

    def __init__(self, events: Iterable[Event], load: int, resources: Container[str | None]) -> None:
        """events: all events of the connection, in order. load: the load's number. resources: the resources' names."""
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
        """The number of payload bytes."""
        return self._totals[-1] if self._totals else 0

    def before(self, position: int) -> int:
        """Returns the number of payload bytes before a position of the TCP stream."""
        index = bisect_left(self._ends, position)
        if index == len(self._ends):
            return self.size_bytes
        start, already = (self._ends[index - 1], self._totals[index - 1]) if index else (0, 0)
        inside = self._totals[index] - already
        return already + inside * max(0, position - start) // (self._ends[index] - start)

    def first(self) -> int:
        """Returns the position at which the first payload byte's TLS record begins; ValueError if it is unknown."""
        for index, total in enumerate(self._totals):
            if total:
                return self._ends[index - 1] if index else 0
        raise ValueError("no payload has a known position in the TCP stream")
