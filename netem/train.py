"""What a train of datagrams, sent back to back, says about the bottleneck it came through.

- rate: the bottleneck spaces what it sends on, and the spacing is the rate. It is the median of how long each half of
  the train took, so a few datagrams that a busy machine handed on late, or in a bunch, do not count;
- queue: how much of the train the bottleneck held when it dropped the next datagram: those that came, without those
  that had left it by then, as a link of the rate asked for lets them. Where nothing was dropped it is not known.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low

from netem.link import PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """One datagram of a train. sent_ns counts from the first; arrived_ns is the near end's clock."""

    number: int
    sent_ns: int
    arrived_ns: int


def held_packets(train: Sequence[Arrival], length: int, transmission_ns: int) -> int | None:
    """Packets in a lossless queue when it dropped one of a train of that length; None if it dropped none.

    Where the next one is missing, the queue was full: of all that had come into it, some had left it by then.
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
    """Rate of a train of full-size packets that arrived at these moments; None if they came all at once."""
    half = len(times) // 2
    elapsed_ns = median(later - earlier for earlier, later in zip(times, times[half:], strict=False))
    return round(half * PACKET_BYTES * 8 * 10**9 / elapsed_ns) if elapsed_ns > 0 else None
