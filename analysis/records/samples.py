"""Finds a sample by its time, and tells how long a front's device may hold what TCP has sent."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol, TypeVar

from priolab.common.formats.samples import SocketSample


class Timed(Protocol):
    """A record with a time."""

    @property
    def t_ns(self) -> int:
        """The time, in nanoseconds of CLOCK_MONOTONIC."""


_BUFFER_BYTES, _NEAR_BITS = 64 * 1024, 9  # net.ipv4.tcp_tso_rtt_log
_TIME = attrgetter("t_ns")  # a lambda takes twice as long
S = TypeVar("S", bound=Timed)


def latest(samples: Sequence[S], t_ns: int) -> S | None:
    """Returns the last sample that is not later than `t_ns`; None if all are later. samples: in order of time."""
    index = bisect_right(samples, t_ns, key=_TIME)
    return samples[index - 1] if index else None


def earliest(samples: Sequence[S], t_ns: int) -> S | None:
    """Returns the first sample that is not earlier than `t_ns`; None if all are earlier. samples: in order of time."""
    index = bisect_left(samples, t_ns, key=_TIME)
    return samples[index] if index < len(samples) else None


def paced_ns(sample: SocketSample) -> int:
    """Returns how long the front's fq may hold what TCP has sent: TCP Small Queues let it hold two packet buffers.

    A packet buffer has two segments, or more: a millisecond of the pacing rate and, with a short round trip, a part of
    64 KiB (tcp_tso_autosize). One more may have been let through before its time.
    """
    if not sample.pacing_rate_bytes_s:
        return 0
    near_bytes = _BUFFER_BYTES >> min(32, sample.min_rtt_us >> _NEAR_BITS)
    buffer_bytes = max(2 * sample.mss_bytes, near_bytes + sample.pacing_rate_bytes_s // 1000)
    return 3 * buffer_bytes * 10**9 // sample.pacing_rate_bytes_s
