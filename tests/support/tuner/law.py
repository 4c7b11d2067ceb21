"""The tuner's law in Python, with which tests compare law.h. law.h has the reasons of its rules."""

from dataclasses import dataclass, field
from typing import NamedTuple

from priolab.common.formats.decisions import Decision, Why

PACKET_BUFFER_BYTES = 65536
FLOOR_BYTES = 4096
CEILING_BYTES = 64 * 2**20

_WINDOW_SAYS_NOTHING_SEGMENTS = 4
_RELEASED_SEGMENTS = 6
_REACTION_US = 1000
_MOST = 2**64 - 1
_LONGEST_US = 2**31 - 1
_US_PER_S = 10**6
_RATE_NS = 10**8
_HIGHEST_NS = 10**9
_WORD = 2**32


class Seen(NamedTuple):
    """`struct seen`."""

    delivery_rate_bytes_s: int
    acked_rate_bytes_s: int
    highest_rate_bytes_s: int
    cwnd_segments: int
    mss_bytes: int
    rtt_us: int


class Aim(NamedTuple):
    """`struct aim`, with the usual values."""

    target_us: int = 50_000
    floor_bytes: int = FLOOR_BYTES
    ceiling_bytes: int = CEILING_BYTES


class Choice(NamedTuple):
    """`struct choice`."""

    rate_bytes_s: int
    lowat_bytes: int
    why: Why


@dataclass(kw_only=True)
class Acked:
    """`struct acked`. Numbers of bytes are modulo 2^32."""

    span_ns: list[int] = field(default_factory=lambda: [0, 0, 0])
    since_ns: int = 0
    rate_bytes_s: int = 0
    highest_bytes_s: int = 0
    before_bytes_s: int = 0
    span_bytes: list[int] = field(default_factory=lambda: [0, 0, 0])
    all_bytes: int = 0

    def begin(self, all_bytes: int, now_ns: int) -> None:
        """Begin the measurement, when the client has acknowledged all_bytes."""
        self.span_ns, self.since_ns = [now_ns] * 3, now_ns
        self.span_bytes, self.all_bytes = [all_bytes] * 3, all_bytes
        self.rate_bytes_s = self.highest_bytes_s = self.before_bytes_s = 0

    def note(self, all_bytes: int, now_ns: int) -> None:
        """Note the end of a round trip."""
        if 0 < (all_bytes - self.all_bytes) % _WORD < _WORD // 2:
            self.all_bytes = all_bytes
        if now_ns - self.span_ns[0] >= _RATE_NS:
            self.span_ns = [now_ns, *self.span_ns[:2]]
            self.span_bytes = [self.all_bytes, *self.span_bytes[:2]]
        self.rate_bytes_s, longer = (self._rate_since(span, now_ns) for span in (1, 2))
        if now_ns - self.since_ns >= _HIGHEST_NS:
            self.since_ns, self.before_bytes_s, self.highest_bytes_s = now_ns, self.highest_bytes_s, 0
        self.highest_bytes_s = max(self.highest_bytes_s, min(self.rate_bytes_s, 4 * longer))

    def _rate_since(self, span: int, now_ns: int) -> int:
        size_bytes = (self.all_bytes - self.span_bytes[span]) % _WORD
        return rate_of(size_bytes, max(now_ns - self.span_ns[span], _RATE_NS) // 1000)

    @property
    def highest_rate_bytes_s(self) -> int:
        """The highest rate of the last second or two."""
        return max(self.highest_bytes_s, self.before_bytes_s)


def decide(seen: Seen, aim: Aim) -> Choice:
    """Return the LOWAT for a connection, floor <= LOWAT <= ceiling."""
    rate = _rate_bytes_s(seen)
    goal = max(0, _scaled(rate, aim.target_us, _US_PER_S) - PACKET_BUFFER_BYTES)
    reaction = min(_scaled(rate, _REACTION_US, _US_PER_S), aim.ceiling_bytes)
    least = max(aim.floor_bytes, 2 * (reaction + _RELEASED_SEGMENTS * seen.mss_bytes))
    why = Why.RATE if goal >= least else Why.FLOOR
    if rate == 0:
        why = Why.UNKNOWN
    if max(goal, least) > aim.ceiling_bytes:
        why = Why.CEILING
    return Choice(rate, min(max(goal, least), aim.ceiling_bytes), why)


def follows(decision: Decision) -> bool:
    """Return True if a decision follows from the numbers that it records, with the usual aim."""
    rates = decision.delivery_rate_bytes_s, decision.acked_rate_bytes_s, decision.highest_rate_bytes_s
    seen = Seen(*rates, decision.cwnd_segments, decision.mss_bytes, decision.rtt_ns // 1000)
    return decide(seen, Aim()) == (decision.rate_bytes_s, decision.new_bytes, decision.why)


def differs(old_bytes: int, new_bytes: int) -> bool:
    """Return True if the new value differs by more than an eighth of the old value (rule 5)."""
    return abs(new_bytes - old_bytes) > old_bytes // 8


def rate_of(size_bytes: int, time_us: int) -> int:
    """Return the rate in bytes per second of size_bytes in time_us; 0 if the time is 0."""
    return _scaled(size_bytes, _US_PER_S, time_us) if time_us else 0


def wait_us(lowat_bytes: int, rate_bytes_s: int) -> int:
    """Return the longest time that a byte stays unsent; 0 if no value is set, or no rate is known."""
    if not lowat_bytes or not rate_bytes_s:
        return 0
    return min(_scaled(lowat_bytes + PACKET_BUFFER_BYTES, _US_PER_S, rate_bytes_s), _LONGEST_US)


def _rate_bytes_s(seen: Seen) -> int:
    rate = min(max(seen.delivery_rate_bytes_s, seen.acked_rate_bytes_s), seen.highest_rate_bytes_s)
    if seen.rtt_us and seen.cwnd_segments > _WINDOW_SAYS_NOTHING_SEGMENTS:
        return min(rate, _scaled(seen.cwnd_segments * seen.mss_bytes, _US_PER_S, seen.rtt_us))
    return rate


def _scaled(a: int, b: int, c: int) -> int:
    return a * b // c if a * b <= _MOST else _MOST
