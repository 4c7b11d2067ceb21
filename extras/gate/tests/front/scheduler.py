"""The order in which the front of these tests sends its streams: RFC 9218, and faults. Pure.

Rules of the sound scheduler:
1. The stream with the smallest urgency is next. Only streams that have data and room in their windows count.
2. Of the streams of one urgency, those without `incremental` come first, one after the other, in the order of their
   numbers.
3. The incremental streams of one urgency take turns, frame by frame.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

_URGENCY = re.compile(r"(?:^|,)\s*u=([0-7])\s*(?:$|,)")
_INCREMENTAL = re.compile(r"(?:^|,)\s*i(?:=\?1)?\s*(?:$|,)")
_USUAL_URGENCY = 3  # RFC 9218, 4.1


class Fault(StrEnum):
    """The faults that can be planted; NONE is the sound front."""

    NONE = "none"
    IGNORES_URGENCY = "ignores-urgency"
    IGNORES_INCREMENTAL = "ignores-incremental"
    INVERTS = "inverts"
    STARVES = "starves"
    """A stream waits as long as a more urgent stream is open, even if that stream has no data."""
    FORGETS_UPDATES = "forgets-updates"
    BUFFERS = "buffers"
    """A megabyte of frames is chosen ahead of the network."""
    BY_STREAM_ID = "by-stream-id"
    LOST_BY_RESET = "lost-by-reset"
    """After a RST_STREAM of the client, all streams of the connection have the usual priority."""
    MIXES_CONNECTIONS = "mixes-connections"
    """The priorities of all connections are in one table, by the number of the stream."""
    ONLY_FIRST_LOAD = "only-first-load"
    """Later priorities are not read, once the first streams that were open together have ended."""
    DIES = "dies"
    """The process ends after some frames. This is no fault of the scheduler."""


@dataclass(frozen=True)
class Priority:
    """The priority of a stream (RFC 9218, 4)."""

    urgency: int = _USUAL_URGENCY
    incremental: bool = False

    @classmethod
    def of(cls, text: str) -> "Priority":
        """Returns the priority that a field value such as `u=2, i` states. What it does not state has the default."""
        urgency = _URGENCY.search(text)
        return cls(int(urgency[1]) if urgency else _USUAL_URGENCY, bool(_INCREMENTAL.search(text)))


USUAL = Priority()


@dataclass
class Scheduler:
    """The scheduler of a connection. shared: the table of a front that mixes up its connections."""

    fault: Fault
    shared: dict[int, Priority]
    _own: dict[int, Priority] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    _served: dict[int, int] = field(default_factory=dict)
    _turn: int = 0
    _had_company: bool = False
    _first_is_over: bool = False

    @property
    def _table(self) -> dict[int, Priority]:
        return self.shared if self.fault is Fault.MIXES_CONNECTIONS else self._own

    def opened(self, stream_id: int, text: str | None) -> None:
        """Notes a request. text: the value of its header field `priority`."""
        self._open.add(stream_id)
        self._had_company = self._had_company or len(self._open) > 1
        if self.fault is Fault.ONLY_FIRST_LOAD and self._first_is_over:
            return
        if text is not None:
            self._table[stream_id] = Priority.of(text)

    def updated(self, stream_id: int, text: str) -> None:
        """Notes a PRIORITY_UPDATE frame."""
        if self.fault is not Fault.FORGETS_UPDATES:
            self._table[stream_id] = Priority.of(text)

    def was_reset(self, stream_id: int) -> None:
        """Notes a RST_STREAM of the client."""
        if self.fault is Fault.LOST_BY_RESET:
            self._own.clear()
        self.closed(stream_id)

    def closed(self, stream_id: int) -> None:
        """Notes the end of a stream."""
        self._open.discard(stream_id)
        self._own.pop(stream_id, None)
        if not self._open and self._had_company:
            self._first_is_over = True

    def next(self, ready: Collection[int]) -> int | None:
        """Returns the stream to send a frame of; None if there is none. ready: the streams that have data and room."""
        if self.fault is Fault.BY_STREAM_ID:
            return min(ready, default=None)
        candidates = self._most_urgent(ready)
        if self.fault is Fault.STARVES and ready:
            first = self._urgency(min(self._open, key=self._urgency))
            candidates = [each for each in candidates if self._urgency(each) == first]
        if not candidates:
            return None
        one_by_one = [each for each in candidates if not self._is_incremental(each)]
        return min(one_by_one) if one_by_one else min(candidates, key=lambda each: (self._served.get(each, 0), each))

    def served(self, stream_id: int) -> None:
        """Notes that a frame of the stream was chosen, so that other incremental streams have their turn."""
        self._turn += 1
        self._served[stream_id] = self._turn

    def _most_urgent(self, ready: Iterable[int]) -> list[int]:
        streams = list(ready)
        least = min(map(self._urgency, streams), default=0)
        return [each for each in streams if self._urgency(each) == least]

    def _urgency(self, stream_id: int) -> int:
        found = self._table.get(stream_id, USUAL).urgency
        if self.fault is Fault.IGNORES_URGENCY:
            return _USUAL_URGENCY
        return -found if self.fault is Fault.INVERTS else found

    def _is_incremental(self, stream_id: int) -> bool:
        return self.fault is not Fault.IGNORES_INCREMENTAL and self._table.get(stream_id, USUAL).incremental
