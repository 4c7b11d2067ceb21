"""The law: what the kernel knows of a connection -> its TCP_NOTSENT_LOWAT. Pure; law.h says the same to the kernel.

What LOWAT does. A server may write while less than LOWAT bytes stand unsent, but the kernel looks only when it begins a
new packet buffer, which then takes whatever comes until it holds 64 KiB. It wakes a server that waits when less than
LOWAT / 2 are left. So between `LOWAT / 2` and `LOWAT + 64 KiB` bytes stand before what is written next.

1. The rate is the kernel's delivery rate, or what was acknowledged in the last round trip if that is more: the kernel
   reckons with the time in which packets were sent if that was longer than the one in which they were acknowledged
   (tcp_rate.c), and so learns of a faster link a round trip later. But it is not more than the congestion window in a
   round trip: after an idle time the window is small, and what the link once took is no measure yet. A window of four
   segments or less is BBR's look at the round trip, or what a timeout leaves; it says nothing of the link and is not
   asked. Before there is a rate, the window in a round trip is the rate. Nothing known: the floor.
2. The goal is that nothing stands unsent for longer than the target: rate x target for all of it, the packet buffer
   included, so LOWAT = rate x target - 64 KiB. Links slower than 64 KiB in the target's time come out below nothing.
3. The floor. LOWAT / 2 is what the connection lives on from the moment it wakes the server until that has written. It
   must last through what the kernel sends in one go, before the server can run: an acknowledgment of two segments lets
   slow start send four, and one must be left, or the kernel takes the connection for one whose application has no more,
   and neither the window nor BBR's estimate grows. Kernels that wake the server with acknowledgments alone (until
   commit 4bfe744ff164 of 2022) send six between two of them when BBR begins and paces 2.89 times what it measures: so
   six. And it must last through the server's reaction, one millisecond at the rate.
   LOWAT >= 2 x (6 segments + rate x 1 ms), and not below `floor_bytes`.
4. The ceiling bounds what a nonsensical rate, such as loopback's, may lead to.
5. A value is changed when the new one differs by more than an eighth of the old one.

Arithmetic is that of 64 unsigned bits and saturates: what does not fit is the largest number.
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
    """What the kernel knows. delivery_rate_bytes_s and rtt_us, smoothed, are 0 before there is a sample.

    acked_rate_bytes_s: of what was acknowledged in the last round trip, 0 before there was one.
    """

    delivery_rate_bytes_s: int
    acked_rate_bytes_s: int = 0
    cwnd_segments: int
    mss_bytes: int
    rtt_us: int


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What is wanted. Valid if it exists: raises ValueError."""

    target_us: int = TARGET_NS // 1000
    floor_bytes: int = FLOOR_BYTES
    ceiling_bytes: int = CEILING_BYTES

    def __post_init__(self) -> None:
        if not (0 < self.target_us < 2**32 and 0 < self.floor_bytes <= self.ceiling_bytes < 2**31):
            raise ValueError("a target of 1 us to 71 min, and 0 < floor <= ceiling < 2 GiB")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What follows. rate_bytes_s: the rate that was reckoned with, 0 for none."""

    rate_bytes_s: int
    lowat_bytes: int
    why: Why


def decide(seen: Seen, aim: Aim) -> Choice:
    """The LOWAT for a connection, floor <= LOWAT <= ceiling."""
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
    """Whether the change is worth a system call."""
    return abs(new_bytes - old_bytes) > old_bytes // 8


def rate_of(size_bytes: int, time_us: int) -> int:
    """Bytes per second: so many bytes in that time, 0 if that is none."""
    return _scaled(size_bytes, _US_PER_S, time_us) if time_us else 0


def _rate_bytes_s(seen: Seen) -> int:
    rate = max(seen.delivery_rate_bytes_s, seen.acked_rate_bytes_s)
    if seen.rtt_us and (rate == 0 or seen.cwnd_segments > WINDOW_SAYS_NOTHING_SEGMENTS):
        window = _scaled(seen.cwnd_segments * seen.mss_bytes, _US_PER_S, seen.rtt_us)
        return min(rate, window) if rate else window
    return rate


def _scaled(a: int, b: int, c: int) -> int:
    return a * b // c if a * b <= _MOST else _MOST
