"""The law: computes TCP_NOTSENT_LOWAT from the kernel's figures of a connection. Pure; law.h has the same law in C.

The effect of LOWAT: a server may write while less than LOWAT bytes are unsent. But the kernel checks only when it
begins a new packet buffer, which then takes all further bytes until it holds 64 KiB. It wakes a waiting server when
less than LOWAT / 2 bytes are left. So between `LOWAT / 2` and `LOWAT + 64 KiB` bytes wait ahead of the next write.

1. The rate is the larger of two: the kernel's delivery rate, and the bytes acknowledged in the last round trip. For the
   first the kernel uses the longer of two times, that of sending and that of acknowledging the packets (tcp_rate.c); so
   it learns of a faster link a round trip later. The rate is not more than the congestion window per round trip: after
   an idle time the window is small, and an earlier rate of the link no longer counts. A window of four segments or less
   is ignored: it comes from BBR's probing of the round trip, or from a timeout, and says nothing of the link. Before
   there is a rate, the window per round trip is the rate. If nothing is known, LOWAT is the floor.
2. The goal: no byte stays unsent for longer than the target. That is rate x target for all unsent bytes, the packet
   buffer included, so LOWAT = rate x target - 64 KiB. On links slower than 64 KiB per target this is below zero.
3. The floor. The connection sends from the last LOWAT / 2 bytes while it wakes the server and the server writes. They
   must cover what the kernel sends at once, before the server can run: an acknowledgment of two segments lets slow
   start send four, and one must be left. Otherwise the kernel takes the connection for one whose application has no
   more data, and neither the window nor BBR's estimate grows. Kernels that wake the server only on acknowledgments
   (until commit 4bfe744ff164 of 2022) send six between two of them when BBR starts, as it paces at 2.89 times the
   measured rate: so six. The bytes must also cover the server's reaction, one millisecond at the rate.
   LOWAT >= 2 x (6 segments + rate x 1 ms), and not below `floor_bytes`.
4. The ceiling limits the effect of a nonsensical rate, such as loopback's.
5. A value is changed when the new one differs by more than an eighth of the old one.

Arithmetic is unsigned with 64 bits and saturates: a result that does not fit becomes the largest number.
"""

from dataclasses import dataclass

from common.formats.decisions import Why

PACKET_BUFFER_BYTES = 65536
WINDOW_SAYS_NOTHING_SEGMENTS = 4
RELEASED_SEGMENTS = 6
REACTION_US = 1000
FLOOR_BYTES = 4096
CEILING_BYTES = 64 * 2**20
TARGET_NS = 50 * 10**6

_MOST = 2**64 - 1
_US_PER_S = 10**6


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The kernel's figures of a connection. delivery_rate_bytes_s and rtt_us (smoothed) are 0 before the first sample.

    acked_rate_bytes_s: the rate of acknowledged bytes in the last round trip, 0 before there was one.
    """

    delivery_rate_bytes_s: int
    acked_rate_bytes_s: int = 0
    cwnd_segments: int
    mss_bytes: int
    rtt_us: int


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The law's settings. An Aim that exists is valid; raises ValueError."""

    target_us: int = TARGET_NS // 1000
    floor_bytes: int = FLOOR_BYTES
    ceiling_bytes: int = CEILING_BYTES

    def __post_init__(self) -> None:
        if not (0 < self.target_us < 2**32 and 0 < self.floor_bytes <= self.ceiling_bytes < 2**31):
            raise ValueError("a target of 1 us to 71 min, and 0 < floor <= ceiling < 2 GiB")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The law's result. rate_bytes_s: the rate used, 0 for none."""

    rate_bytes_s: int
    lowat_bytes: int
    why: Why


def decide(seen: Seen, aim: Aim) -> Choice:
    """Computes the LOWAT for a connection, floor <= LOWAT <= ceiling."""
    rate = _rate_bytes_s(seen)
    goal = max(0, _scaled(rate, aim.target_us, _US_PER_S) - PACKET_BUFFER_BYTES)
    reaction = min(_scaled(rate, REACTION_US, _US_PER_S), aim.ceiling_bytes)
    least = max(aim.floor_bytes, 2 * (reaction + RELEASED_SEGMENTS * seen.mss_bytes))
    why = Why.RATE if goal >= least else Why.FLOOR
    if rate == 0:
        why = Why.UNKNOWN
    if max(goal, least) > aim.ceiling_bytes:
        why = Why.CEILING
    return Choice(rate_bytes_s=rate, lowat_bytes=min(max(goal, least), aim.ceiling_bytes), why=why)


def differs(old_bytes: int, new_bytes: int) -> bool:
    """True if the change is worth a system call."""
    return abs(new_bytes - old_bytes) > old_bytes // 8


def rate_of(size_bytes: int, time_us: int) -> int:
    """Bytes per second of that many bytes in that time; 0 if the time is 0."""
    return _scaled(size_bytes, _US_PER_S, time_us) if time_us else 0


def _rate_bytes_s(seen: Seen) -> int:
    rate = max(seen.delivery_rate_bytes_s, seen.acked_rate_bytes_s)
    if seen.rtt_us and (rate == 0 or seen.cwnd_segments > WINDOW_SAYS_NOTHING_SEGMENTS):
        window = _scaled(seen.cwnd_segments * seen.mss_bytes, _US_PER_S, seen.rtt_us)
        return min(rate, window) if rate else window
    return rate


def _scaled(a: int, b: int, c: int) -> int:
    return a * b // c if a * b <= _MOST else _MOST
