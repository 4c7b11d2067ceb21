"""The law: computes TCP_NOTSENT_LOWAT from the kernel's figures of a connection. Pure; law.h has the same law in C.

The effect of LOWAT: a server may write while less than LOWAT bytes are unsent. But the kernel checks this only when it
begins a new packet buffer, and each packet buffer then takes bytes until it holds 64 KiB. The kernel wakes a waiting
server when less than LOWAT / 2 bytes are unsent. So the next write waits behind LOWAT / 2 to LOWAT + 64 KiB bytes.

1. The rate is the larger of two rates: the kernel's delivery rate, and the rate of bytes acknowledged in the last round
   trip. The second rate is needed because the delivery rate follows a faster link a round trip late: the kernel divides
   by the longer of the time to send packets and the time to acknowledge them (tcp_rate.c).
   Two limits apply. First, the highest rate that the connection has had in bytes: the kernel counts every packet as a
   full one, so its delivery rate of many small responses can be ten times too high. Second, the congestion window per
   round trip: after an idle time the window is small, and an earlier rate no longer applies. A window of four segments
   or less is ignored: it comes from BBR's probing of the round trip, or from a timeout, and says nothing of the link.
   As long as no rate of bytes is known, LOWAT is the floor. The window per round trip is no measurement: with the
   initial window and a round trip of 1.5 ms it is 77 Mbit/s on every link. The floor costs no throughput on a fast
   link, because a rate is known after one round trip: the initial window has ten segments, the kernel accepts a whole
   packet buffer of 45, and the floor lets the server write again in time for slow start.
2. The goal: no byte stays unsent for longer than the target. So the unsent bytes, a packet buffer included, may be
   rate x target, and LOWAT = rate x target - 64 KiB. On links slower than 64 KiB per target this LOWAT would be
   negative, and the floor applies.
3. The floor: while the server wakes up and writes, the connection sends from the last LOWAT / 2 bytes. These bytes must
   cover what the kernel sends before the server can run, and one segment must be left. Otherwise the kernel regards the
   connection as limited by the application, and neither the congestion window nor BBR's estimate of the rate grows. In
   slow start the kernel sends four segments on an acknowledgment of two. Kernels before commit 4bfe744ff164 of 2022
   wake the server only on acknowledgments. When BBR starts, they send six segments between two acknowledgments, because
   BBR paces at 2.89 times the measured rate. So the floor has six segments. The bytes must also cover the server's
   reaction time, one millisecond at the rate.
   LOWAT >= 2 x (6 segments + rate x 1 ms), and LOWAT >= `floor_bytes`.
4. The ceiling limits the effect of an unrealistic rate, such as that of loopback.
5. A socket's value is changed if the new value differs by more than an eighth of the old value.

Arithmetic is unsigned with 64 bits and saturates: a result that does not fit becomes the largest number.
"""

from dataclasses import dataclass

from priolab.common.formats.decisions import Why
from priolab.common.tuning import TARGET_NS

PACKET_BUFFER_BYTES = 65536
WINDOW_SAYS_NOTHING_SEGMENTS = 4
RELEASED_SEGMENTS = 6
REACTION_US = 1000
FLOOR_BYTES = 4096
CEILING_BYTES = 64 * 2**20

_MOST = 2**64 - 1
_US_PER_S = 10**6


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The kernel's figures of a connection. delivery_rate_bytes_s and rtt_us (smoothed) are 0 as long as unknown.

    acked_rate_bytes_s: the rate of bytes acknowledged in the last round trip; 0 during the first round trip.
    highest_rate_bytes_s: the highest rate of bytes that was measured on this connection; 0 if none was measured.
    """

    delivery_rate_bytes_s: int
    acked_rate_bytes_s: int
    highest_rate_bytes_s: int
    cwnd_segments: int
    mss_bytes: int
    rtt_us: int


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The law's settings. target_us: the longest time for which a byte may stay unsent (rule 2).

    floor_bytes, ceiling_bytes: the least and the largest LOWAT (rules 3 and 4). Raises ValueError for values that are
    not allowed.
    """

    target_us: int = TARGET_NS // 1000
    floor_bytes: int = FLOOR_BYTES
    ceiling_bytes: int = CEILING_BYTES

    def __post_init__(self) -> None:
        if not (0 < self.target_us < 2**32 and 0 < self.floor_bytes <= self.ceiling_bytes < 2**31):
            raise ValueError("allowed: a target of 1 us to 71 min, and 0 < floor <= ceiling < 2 GiB")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The law's result. rate_bytes_s: the connection's rate, from which LOWAT was computed; 0 if it is unknown."""

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
    """Returns True if the new value differs by more than an eighth of the old value (rule 5)."""
    return abs(new_bytes - old_bytes) > old_bytes // 8


def rate_of(size_bytes: int, time_us: int) -> int:
    """Returns the rate in bytes per second of size_bytes in time_us; 0 if the time is 0."""
    return _scaled(size_bytes, _US_PER_S, time_us) if time_us else 0


def _rate_bytes_s(seen: Seen) -> int:
    rate = min(max(seen.delivery_rate_bytes_s, seen.acked_rate_bytes_s), seen.highest_rate_bytes_s)
    if seen.rtt_us and seen.cwnd_segments > WINDOW_SAYS_NOTHING_SEGMENTS:
        return min(rate, _scaled(seen.cwnd_segments * seen.mss_bytes, _US_PER_S, seen.rtt_us))
    return rate


def _scaled(a: int, b: int, c: int) -> int:
    return a * b // c if a * b <= _MOST else _MOST
