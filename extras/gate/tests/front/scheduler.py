"""The order in which the front of these tests sends its streams: RFC 9218, and faults. Pure.

Rules of the sound scheduler:
1. The stream with the smallest urgency is next. Only streams that have data and room in their windows count.
2. Of the streams of one urgency, those without `incremental` come first, one after the other, in the order of their
   numbers.
3. The incremental streams of one urgency take turns, frame by frame.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

_MEMBER = re.compile(r"\s*([a-z*][a-z0-9_.*-]*)(?:=([^;,\s]+))?((?:;[^,]*)?)\s*")
_LENIENT = re.compile(r"(?:^|[^a-z])(u|i)(?:=([0-9](?![0-9.])|\?[01]))?")
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
    """Half a megabyte of frames is chosen ahead of the network."""
    HEADERS_LAST = "headers-last"
    """HEADERS of a response are sent when no DATA can be."""
    BY_STREAM_ID = "by-stream-id"
    LOST_BY_RESET = "lost-by-reset"
    """After a RST_STREAM of the client, all streams of the connection have the usual priority."""
    MIXES_CONNECTIONS = "mixes-connections"
    """The priorities of all connections are in one table, by the number of the stream."""
    ONLY_FIRST_LOAD = "only-first-load"
    """Later priorities are not read, once the first streams that were open together have ended."""
    BY_WEIGHT = "by-weight"
    """Urgencies are taken for weights."""
    ZERO_IS_DEFAULT = "zero-is-default"
    SEVEN_IS_DEFAULT = "seven-is-default"
    DEFAULT_IS_ZERO = "default-is-zero"
    DEFAULT_IS_SEVEN = "default-is-seven"
    DEFAULT_IS_FOUR = "default-is-four"
    THREE_LEVELS = "three-levels"
    """Above, at and below the default are all that the scheduler knows."""
    EARLY_UPDATE = "early-update"
    """A PRIORITY_UPDATE before its request is dropped."""
    SECOND_UPDATE = "second-update"
    MERGES_UPDATES = "merges-updates"
    CLAMPS = "clamps"
    """An urgency above 7 is taken for 7."""
    NO_NUMBER = "no-number"
    """An urgency that is no number is taken for 0."""
    UNKNOWN_PARAMETER = "unknown-parameter"
    """A field with an unknown parameter does not count."""
    LENIENT = "lenient"
    """The parameters are found anywhere in a field, which may be malformed."""
    ITS_PARAMETERS = "its-parameters"
    """A value with parameters does not count."""
    FALSE_IS_TRUE = "false-is-true"
    NUMBER_IS_TRUE = "number-is-true"
    BREAKS_OFF = "breaks-off"
    """The connection ends at a malformed field."""
    WAITS_FOR_BLOCKED = "waits-for-blocked"
    FORGETS_BLOCKED = "forgets-blocked"
    """A stream that was blocked for long goes to the end of the queue."""
    SHARES_EQUALS = "shares-equals"
    LAST_FIRST = "last-first"
    UNFAIR = "unfair"
    """The first of the incremental streams has three of four turns."""
    FEW_STREAMS = "few-streams"
    """Only ten streams have priorities."""
    NO_PREEMPTION = "no-preemption"
    """A stream that has begun is sent to its end, while it has data and room."""
    LATER_REQUESTS = "later-requests"
    """Priorities of requests do not count, once a response has ended."""
    INCREMENTAL_LAST = "incremental-last"
    """Incremental streams have a queue of their own, behind that of all others."""
    NO_SPACE = "no-space"
    """Members of a field are split at a comma and a space."""
    BREAKS_AT_ENDED = "breaks-at-ended"
    """A PRIORITY_UPDATE of a stream that has ended ends the connection."""
    FIRST_CONNECTION = "first-connection"
    """The priorities of all connections are in one table, and the first one for a number stays."""
    IGNORES_RESPONSE = "ignores-response"
    """The field `priority` of a response does not count."""
    REPLACES_BY_RESPONSE = "replaces-by-response"
    BITS = "bits"
    TEXT = "text"
    """The texts of the fields are compared."""
    AGES = "ages"
    """A stream that was passed over 32 times is one step more urgent."""
    SMALL_FIRST = "small-first"
    ENDS_LATE = "ends-late"
    """END_STREAM has a frame of its own, behind all DATA."""
    STALE = "stale"
    """A request without the field has the priority of the last stream that ended."""
    ONE_LINE = "one-line"
    """Of several lines of the field the first one counts."""
    REQUEUES = "requeues"
    """A stream whose window opens goes behind those of its urgency."""
    LATE_CHOICE = "late-choice"
    """A stream is chosen for sixteen frames."""
    AFTER_WINDOW = "after-window"
    """A stream that was blocked once has the usual urgency."""
    FOUR = "four"
    """Only four streams at a time take part."""
    FIELD_FIRST = "field-first"
    """The field of a request counts, and not a PRIORITY_UPDATE that came before it."""
    FOUR_LEVELS = "four-levels"
    """The lowest bit of the urgency is lost."""
    SEVEN_IS_SIX = "seven-is-six"
    TRUE_IS_FALSE = "true-is-false"
    """`i=?1` does not count."""
    FIRST_OF_KEY = "first-of-key"
    """Of a repeated parameter the first value counts."""
    BREAKS_AT_RESET = "breaks-at-reset"
    TEN_IS_ONE = "ten-is-one"
    PARTS_COUNT = "parts-count"
    """`u=1.5` is read as `u=1`."""
    NO_FIELD_SHARES = "no-field-shares"
    """A request without the field is incremental."""
    SHORTEST_FIRST = "shortest-first"
    """Of streams of one urgency the shortest comes first."""
    UPPERCASE = "uppercase"
    """`U=1` is read as `u=1`."""
    NEWEST = "newest"
    """An update of a stream that has ended counts for the newest one."""
    BEFORE_RESPONSE = "before-response"
    """A PRIORITY_UPDATE between a request and its response is dropped."""
    RESET_HEAD = "reset-head"
    """A RST_STREAM takes the first stream of its urgency out of the queue, whichever it is."""
    RING_WAITS = "ring-waits"
    """Incremental streams wait if the next one of them has no window."""
    SKIPS_LEVEL = "skips-level"
    """Streams of the urgency of a blocked stream are passed over."""
    INVERTS_INCREMENTAL = "inverts-incremental"
    IDLE_UNREAD = "idle-unread"
    """The field of a request that comes while no stream is open does not count."""
    BUFFERS_LITTLE = "buffers-little"
    """128 KiB of frames are chosen ahead of the network. A gate without limits lets this pass."""
    DIES = "dies"
    """The process ends after some frames. This is no fault of the scheduler."""


@dataclass(frozen=True)
class Priority:
    """The priority of a stream (RFC 9218, 4)."""

    urgency: int = _USUAL_URGENCY
    incremental: bool = False

    @classmethod
    def of(cls, text: str, fault: Fault = Fault.NONE, base: "Priority | None" = None) -> "Priority":
        """Returns the priority that a field value such as `u=2, i` states. What it does not state has the default.

        base: the priority that has the values of what is not stated. Raises ValueError for what breaks the front.
        """
        text = text.lower() if fault is Fault.UPPERCASE else text
        usual = base or cls(_DEFAULTS.get(fault, _USUAL_URGENCY))
        members = (
            [_MEMBER.fullmatch(each) for each in text.split(", " if fault is Fault.NO_SPACE else ",")] if text else []
        )
        if fault is Fault.LENIENT:
            members = [*_LENIENT.finditer(text)]
        if not all(members):
            if fault is Fault.BREAKS_OFF:
                raise ValueError(text)
            return usual
        found = {each[1]: each[2] or "?1" for each in members if each}
        if fault is Fault.FIRST_OF_KEY:
            found = {each[1]: each[2] or "?1" for each in reversed(members) if each}
        if fault is Fault.UNKNOWN_PARAMETER and found.keys() - {"u", "i"}:
            return usual
        if fault is Fault.ITS_PARAMETERS:
            found = {each[1]: each[2] or "?1" for each in members if each and not each[3]}
        urgency, incremental = found.get("u", ""), found.get("i")
        given = int(urgency) if re.fullmatch("[0-7]", urgency) else usual.urgency
        if fault is Fault.CLAMPS and urgency.isdigit():
            given = min(int(urgency), 7)
        if (fault, urgency) in _READ:
            given = _READ[fault, urgency]
        if fault is Fault.NO_NUMBER and urgency.isalpha():
            given = 0
        if fault is Fault.BITS:
            given &= 3
        if fault is Fault.FOUR_LEVELS:
            given //= 2
        if fault is Fault.THREE_LEVELS:
            given = 2 if given < _USUAL_URGENCY else 4 if given > _USUAL_URGENCY else given
        if fault is Fault.TRUE_IS_FALSE and "i=?1" in text:
            incremental = None
        trues = {Fault.FALSE_IS_TRUE: ("?0",), Fault.NUMBER_IS_TRUE: ("1",)}.get(fault, ())
        return cls(given, usual.incremental if incremental is None else incremental in ("?1", *trues))


_DEFAULTS = {Fault.DEFAULT_IS_ZERO: 0, Fault.DEFAULT_IS_SEVEN: 7, Fault.DEFAULT_IS_FOUR: 4}
_READ = {
    (Fault.ZERO_IS_DEFAULT, "0"): _USUAL_URGENCY,
    (Fault.SEVEN_IS_DEFAULT, "7"): _USUAL_URGENCY,
    (Fault.SEVEN_IS_SIX, "7"): 6,
    (Fault.TEN_IS_ONE, "10"): 1,
    (Fault.PARTS_COUNT, "1.5"): 1,
}
USUAL = Priority()

_FEW, _LONG, _LAST, _SMALL = 10, 32, 8, 16_384


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
    _has_ended: bool = False
    _counts: Counter[int] = field(default_factory=Counter)
    _changed: set[int] = field(default_factory=set)
    _blocked: Counter[int] = field(default_factory=Counter)
    _current: int | None = None
    _passed: Counter[int] = field(default_factory=Counter)
    _texts: dict[int, str] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)
    _last: Priority = USUAL
    _run: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    ending: set[int] = field(default_factory=set)
    _gone: set[int] = field(default_factory=set)

    @property
    def _table(self) -> dict[int, Priority]:
        return self.shared if self.fault in (Fault.MIXES_CONNECTIONS, Fault.FIRST_CONNECTION) else self._own

    def opened(self, stream_id: int, text: str | None) -> None:
        """Notes a request. text: the value of its header field `priority`. Raises ValueError, as Priority.of."""
        self.window_opened(stream_id)
        self._texts[stream_id] = text or "u=3"
        if self.fault in (Fault.STALE, Fault.NO_FIELD_SHARES) and text is None and stream_id not in self._changed:
            self._table[stream_id] = self._last if self.fault is Fault.STALE else Priority(incremental=True)
        self._counts[stream_id] = min((self._counts[each] for each in self._open), default=0)
        self._open.add(stream_id)
        self._had_company = self._had_company or len(self._open) > 1
        if self.fault is Fault.ONLY_FIRST_LOAD and self._first_is_over:
            return
        if self.fault is Fault.LATER_REQUESTS and self._has_ended:
            return
        if self.fault is Fault.IDLE_UNREAD and len(self._open) == 1:
            return
        if self.fault is Fault.FEW_STREAMS and len(self._table) >= _FEW:
            return
        if self.fault is Fault.FIRST_CONNECTION and stream_id in self._table:
            return
        if text is not None and (stream_id not in self._changed or self.fault is Fault.FIELD_FIRST):
            self._table[stream_id] = Priority.of(text, self.fault)

    def window_opened(self, stream_id: int) -> None:
        """Notes that a stream's window was opened further, or that the stream is new."""
        self._places[stream_id] = len(self._places) + max(self._places.values(), default=0)

    def answered(self, stream_id: int, text: str) -> None:
        """Notes the value of the field `priority` of a response. What it leaves out keeps the client's value."""
        if self.fault is not Fault.IGNORES_RESPONSE:
            self._texts[stream_id] = text
            base = None if self.fault is Fault.REPLACES_BY_RESPONSE else self._table.get(stream_id)
            self._table[stream_id] = Priority.of(text, self.fault, base)

    def updated(self, stream_id: int, text: str) -> None:
        """Notes a PRIORITY_UPDATE frame."""
        if self.fault is Fault.FORGETS_UPDATES or (self.fault is Fault.EARLY_UPDATE and stream_id not in self._open):
            return
        if self.fault is Fault.SECOND_UPDATE and stream_id in self._changed:
            return
        if stream_id not in self._open and stream_id <= max(self._open, default=0):  # it has ended
            if self.fault is Fault.BREAKS_AT_ENDED:
                raise ValueError(stream_id)
            if self.fault is not Fault.NEWEST:
                return
            stream_id = max(self._open)
        if self.fault is Fault.BEFORE_RESPONSE and stream_id in self._open and stream_id not in self.sizes:
            return
        self._changed.add(stream_id)
        self._texts[stream_id] = text
        base = self._table.get(stream_id) if self.fault is Fault.MERGES_UPDATES else None
        self._table[stream_id] = Priority.of(text, self.fault, base)

    def was_reset(self, stream_id: int) -> None:
        """Notes a RST_STREAM of the client. Raises ValueError for what breaks the front."""
        if self.fault is Fault.BREAKS_AT_RESET:
            raise ValueError(stream_id)
        if self.fault is Fault.LOST_BY_RESET:
            self._own.clear()
        if self.fault is Fault.RESET_HEAD:
            self._gone.add(min(self._most_urgent([stream_id, *self._same(stream_id)])))
        self.closed(stream_id)

    def closed(self, stream_id: int) -> None:
        """Notes the end of a stream."""
        self._has_ended = True
        self._open.discard(stream_id)
        self._last = self._own.pop(stream_id, USUAL)
        if not self._open and self._had_company:
            self._first_is_over = True

    def next(self, ready: Collection[int], blocked: Collection[int] = ()) -> int | None:
        """Returns the stream to send a frame of; None if there is none.

        ready: the streams that have data and room. blocked: those that have data, and no room in their own windows.
        """
        if self.fault is Fault.BY_STREAM_ID:
            return min(ready, default=None)
        if self.fault is Fault.SKIPS_LEVEL:
            ready = [each for each in ready if self._urgency(each) not in map(self._urgency, blocked)]
        if self.fault is Fault.RESET_HEAD:
            ready = [each for each in ready if each not in self._gone]
        if self.fault is Fault.NO_PREEMPTION and self._current in ready:
            return self._current
        if self.fault is Fault.BY_WEIGHT and ready:
            return min(ready, key=lambda each: self._counts[each] * (self._urgency(each) + 1))
        if self.fault is Fault.LATE_CHOICE and self._current in ready and self._run % 16:
            return self._current
        if self.fault is Fault.FOUR:
            ready = [each for each in ready if each in sorted(self._open)[:4]]
        candidates = self._most_urgent(ready)
        if self.fault is Fault.STARVES and ready:
            first = self._urgency(min(self._open, key=self._urgency))
            candidates = [each for each in candidates if self._urgency(each) == first]
        most_urgent = min(map(self._urgency, blocked), default=_LAST)
        waits = self.fault is Fault.WAITS_FOR_BLOCKED and bool(ready) and most_urgent < self._urgency(candidates[0])
        if waits or not candidates:
            return None
        one_by_one = [each for each in candidates if not self._is_incremental(each)]
        if one_by_one and self.fault is not Fault.SHARES_EQUALS:
            if self.fault is Fault.REQUEUES:
                return min(one_by_one, key=lambda each: self._places[each])
            if self.fault is Fault.SHORTEST_FIRST:
                return min(one_by_one, key=lambda each: (self.sizes.get(each, 0), each))
            return max(one_by_one) if self.fault is Fault.LAST_FIRST else min(one_by_one)
        if self.fault is Fault.UNFAIR and self._turn % 4:
            return min(candidates)
        if self.fault is Fault.RING_WAITS:
            candidates += (each for each in blocked if each in self._same(candidates[0]) and self._is_incremental(each))
        first = min(candidates, key=lambda each: (self._served.get(each, 0), each))
        return first if first in ready else None

    def _same(self, stream_id: int) -> list[int]:
        return [each for each in self._open if self._urgency(each) == self._urgency(stream_id)]

    def served(self, stream_id: int, blocked: Collection[int] = ()) -> None:
        """Notes that a frame of the stream was chosen, so that other incremental streams have their turn."""
        self._turn += 1
        self._run = self._run + 1 if stream_id == self._current else 1
        self._passed.update(self._open - {stream_id})
        self._served[stream_id] = self._turn
        self._counts[stream_id] += 1
        self._current = stream_id
        self._blocked.update(blocked)

    def _most_urgent(self, ready: Iterable[int]) -> list[int]:
        streams = list(ready)
        least = min(map(self._urgency, streams), default=0)
        return [each for each in streams if self._urgency(each) == least]

    def _urgency(self, stream_id: int) -> int:
        found = self._table.get(stream_id, Priority.of("", self.fault)).urgency
        if self.fault is Fault.FORGETS_BLOCKED and self._blocked[stream_id] > _LONG:
            return _LAST
        if self.fault is Fault.IGNORES_URGENCY or (self.fault is Fault.AFTER_WINDOW and self._blocked[stream_id]):
            return _USUAL_URGENCY
        if self.fault is Fault.TEXT:
            return int.from_bytes(self._texts[stream_id].encode()[:8].ljust(8, b"\0"))
        if self.fault is Fault.AGES:
            return max(0, found - self._passed[stream_id] // _LONG)
        if stream_id in self.ending:
            return _LAST
        if self.fault is Fault.SMALL_FIRST and self.sizes.get(stream_id, _SMALL) < _SMALL:
            return -1
        if self.fault is Fault.INCREMENTAL_LAST and self._is_incremental(stream_id):
            return _LAST
        if self.fault is Fault.INVERTS_INCREMENTAL and self._is_incremental(stream_id):
            return 7 - found
        return -found if self.fault is Fault.INVERTS else found

    def _is_incremental(self, stream_id: int) -> bool:
        return self.fault is not Fault.IGNORES_INCREMENTAL and self._table.get(stream_id, USUAL).incremental
