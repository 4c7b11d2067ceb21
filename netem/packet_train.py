"""Computes a bottleneck's rate and queue from a train of datagrams that was sent through it back to back.

The rate follows from the spacing that the bottleneck gives the datagrams. It is computed from the median duration of
half a train, so a few datagrams that a busy machine delivered late or together do not matter.

The queue is the number of datagrams that the bottleneck held when it dropped the next datagram. The number is computed:
the datagrams that had entered the bottleneck, minus the datagrams that had left it at the configured rate. The queue is
unknown if no datagram was dropped.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low

from priolab.common.packets import PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A datagram of a train. sent_ns: the time since the train's first datagram was sent, by the far end's clock.

    arrived_ns: the arrival time by the near end's clock.
    """

    number: int
    sent_ns: int
    arrived_ns: int


def held_packets(train: Sequence[Arrival], length: int, transmission_ns: int) -> int | None:
    """Returns the number of packets in a queue when it dropped a datagram; None if no datagram was dropped.

    train: the datagrams that arrived. length: the number of datagrams sent. transmission_ns: the time in which the
    bottleneck sends a datagram. A missing datagram means that the queue was full, so the link must lose no packets
    elsewhere.
    """
    came = sorted(train, key=lambda each: each.number)
    following = [each.number for each in came[1:]] + [length]
    leaving: deque[int] = deque()
    full: list[int] = []
    left_ns = 0
    for each, after in zip(came, following, strict=False):
        while leaving and leaving[0] <= each.sent_ns:
            leaving.popleft()
        left_ns = max(left_ns, each.sent_ns) + transmission_ns
        leaving.append(left_ns)
        if after > each.number + 1:
            full.append(len(leaving))
    return median_low(full) if full else None


def spacing_rate_bit_s(times: Sequence[int]) -> int | None:
    """Returns the link's rate, from the arrival times of a train of full-size packets; None if all arrived at once."""
    half = len(times) // 2
    elapsed_ns = median(later - earlier for earlier, later in zip(times, times[half:], strict=False))
    return round(half * PACKET_BYTES * 8 * 10**9 / elapsed_ns) if elapsed_ns > 0 else None
