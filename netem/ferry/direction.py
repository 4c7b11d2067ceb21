"""The queue model of one direction of a Link: computes when each packet leaves. Uses no clock and no sockets.

Rules:
1. Packets pass the parts of the link in the same order as in netem/tc.py: duplicate -> loss -> corrupt -> delay line
   (delay and jitter) -> bottleneck (rate, drop-tail).
2. A packet overtakes no other, unless it skips the delay (`reorder`). It enters the bottleneck at
       entry = max(entry of the previous packet, arrival + delay + jitter), or at its arrival if it skips the delay
   and leaves at
       departure = begin + transmission time, where begin = max(entry, departure of the previous packet).
   The transmission time follows from the rate at `begin`: a packet whose transmission has begun is finished at the old
   rate. While a trace is replayed, a packet leaves at the opportunity that delivers its last byte (common/trace.py).
3. The bottleneck holds a packet from its entry until its departure, so the packet being sent counts. A packet that
   leaves in the same nanosecond in which another enters does not count. A packet that would exceed a limit at its entry
   is dropped.
4. Sizes are those of whole Ethernet frames, as tc counts them.
5. The argument `now_ns` of the methods must never decrease from call to call. Only the method `arrive` may get an
   earlier time: the arrival time of a packet that the caller reads late.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Self

from priolab.common.formats.samples import QueueContents
from priolab.common.packets import PACKET_BYTES
from priolab.common.trace import Trace
from priolab.netem.link import Link

MOST_PACKETS = 200_000
"""The most packets that a direction holds, some 350 MB. Further packets are refused. No Link needs so many."""


@dataclass(kw_only=True)
class Counters:
    """Counts since the ferry's start. lost: packets lost by `loss`. dropped: packets dropped by a full bottleneck.

    refused: packets refused because the ferry held MOST_PACKETS. longest_queue_*: the largest contents of the
    bottleneck.
    """

    packets_in: int = 0
    bytes_in: int = 0
    packets_out: int = 0
    bytes_out: int = 0
    lost: int = 0
    dropped: int = 0
    refused: int = 0
    longest_queue_packets: int = 0
    longest_queue_bytes: int = 0


class _Opportunities:
    """The opportunities of a trace that is replayed, and how far they are used."""

    def __init__(self, trace: Trace, began_ns: int) -> None:
        self._trace = trace
        self._began_ns = began_ns
        self._next = 0  # the number of the next unused opportunity
        self._left = (began_ns, 0)  # (time of the opportunity before, bytes that it can still deliver)

    def take(self, begin_ns: int, size: int) -> int:
        """Returns when `size` bytes that wait from begin_ns on are delivered, and uses up these opportunities."""
        at_ns, self._next, left = self.after(begin_ns, size)
        self._left = (at_ns, left)
        return at_ns

    def after(self, begin_ns: int, size: int) -> tuple[int, int, int]:
        """Returns when `size` bytes that wait from begin_ns on would be delivered.

        Also returns the number of the next opportunity, and the bytes that the last one could still deliver.
        """
        at_ns, left = self._left
        if at_ns < begin_ns:
            left = 0
        number = max(self._next, self._trace.opportunities_until(begin_ns - self._began_ns - 1))
        while size > left:
            size -= left
            at_ns, left = self._began_ns + self._trace.opportunity_ns(number), PACKET_BYTES
            number += 1
        return at_ns, number, left - size


class Direction:
    """The model of one direction. The same seed and arrivals give the same departures on every machine."""

    def __init__(
        self,
        *,
        rate_bit_s: int | None = None,
        delay_ns: int = 0,
        jitter_ns: int = 0,
        loss: float = 0.0,
        burst_odds: tuple[float, float] | None = None,
        reorder: float = 0.0,
        duplicate: float = 0.0,
        corrupt: float = 0.0,
        trace: Trace | None = None,
        limit_packets: int | None = None,
        limit_bytes: int | None = None,
        seed: int | str = 0,
    ) -> None:
        """Makes an empty direction. Without a rate the bottleneck is always empty.

        limit_packets, limit_bytes: the most that the bottleneck holds. None as rate or limit means unlimited. seed: the
        seed of the random numbers for loss, jitter and reordering. burst_odds: as in Link, in place of `loss`. trace:
        the trace to replay from the time that `replay` gets.
        """
        self._rate_bit_s = rate_bit_s
        self._trace = trace
        self._opportunities: _Opportunities | None = None
        self._steps: deque[tuple[int, int | None]] = deque()  # (time of the change, rate)
        self._delay_ns = delay_ns
        self._jitter_ns = jitter_ns
        self._loss = loss
        self._burst_odds = burst_odds
        self._in_burst = False
        self._reorder = reorder
        self._duplicate = duplicate
        self._corrupt = corrupt
        self._limit_packets = limit_packets
        self._limit_bytes = limit_bytes
        self._random = Random(seed)
        self._delay_line: deque[tuple[int, bytes]] = deque()  # by time of entry into the bottleneck
        self._bottleneck: deque[bytes] = deque()  # the first is being sent
        self._sent_ns = 0  # the departure time of the packet being sent
        self._departed: deque[tuple[int, bytes]] = deque()  # packets that have left the model and are not yet fetched
        self._bottleneck_bytes = 0
        self._delay_line_bytes = 0
        self._last_entry_ns = 0
        self.counters = Counters()

    @classmethod
    def down(cls, link: Link, seed: int) -> Self:
        """Returns the direction toward the client."""
        return cls._toward(link, f"down {seed}")

    @classmethod
    def up(cls, link: Link, seed: int) -> Self:
        """Returns the direction toward the front."""
        return cls._toward(link.reverse, f"up {seed}")

    @classmethod
    def _toward(cls, link: Link, seed: str) -> Self:
        direction = cls(rate_bit_s=link.rate_bit_s, trace=link.trace, seed=seed)
        direction._take_values(link)
        return direction

    def _take_values(self, link: Link) -> None:
        """Takes those of a link's direction toward the client, but for its rate."""
        is_limited = link.rate_bit_s is not None or self._trace is not None
        self._delay_ns = link.delay_ns
        self._jitter_ns = link.jitter_ns
        self._loss = link.loss
        self._burst_odds = link.burst_odds
        self._reorder = link.reorder
        self._duplicate = link.duplicate
        self._corrupt = link.corrupt
        self._limit_packets = link.queue_packets if is_limited and link.queue_bytes is None else None
        self._limit_bytes = link.queue_bytes

    def become(self, link: Link, now_ns: int) -> None:
        """Takes the values of a link's direction toward the client, for packets that arrive afterwards.

        The packet being sent is finished at the old rate.
        """
        self._advance(now_ns)
        self._take_values(link)
        if self._bottleneck:
            self._steps.append((now_ns, link.rate_bit_s))
        else:
            self._rate_bit_s = link.rate_bit_s

    def arrive(self, now_ns: int, packet: bytes) -> None:
        """Takes a packet that arrived at now_ns into the model."""
        self.counters.packets_in += 1
        self.counters.bytes_in += len(packet)
        for _ in range(2 if self._duplicate and self._random.random() < self._duplicate else 1):
            self._take(now_ns, packet)

    def _take(self, now_ns: int, packet: bytes) -> None:
        counters = self.counters
        if self._loss and self._is_lost():
            counters.lost += 1
            return
        if self._corrupt and self._random.random() < self._corrupt:
            packet = self._with_wrong_bit(packet)
        entry_ns = now_ns + self._delay_ns
        if self._jitter_ns:
            entry_ns += self._random.randint(-self._jitter_ns, self._jitter_ns)
        if len(self._delay_line) + len(self._bottleneck) + len(self._departed) >= MOST_PACKETS:
            counters.refused += 1
            return
        self._delay_line_bytes += len(packet)
        if self._reorder and self._random.random() < self._reorder:
            at = bisect_right(self._delay_line, now_ns, key=lambda waiting: waiting[0])
            self._delay_line.insert(at, (now_ns, packet))
            return
        self._last_entry_ns = max(self._last_entry_ns, entry_ns)
        self._delay_line.append((self._last_entry_ns, packet))

    def _with_wrong_bit(self, packet: bytes) -> bytes:
        at, bit = divmod(self._random.randrange(8 * len(packet)), 8)
        return packet[:at] + bytes([packet[at] ^ 1 << bit]) + packet[at + 1 :]

    def _is_lost(self) -> bool:
        """Draws whether the next packet is lost. As in netem, the packet that ends a burst is lost as well."""
        if self._burst_odds is None:
            return self._random.random() < self._loss
        begins, ends = self._burst_odds
        lost = self._in_burst
        if self._random.random() < (ends if lost else begins):
            self._in_burst = not lost
        return lost

    def change(self, at_ns: int, rate_bit_s: int) -> None:
        """Changes the rate at at_ns. Calls must be in order of time. Only a change in the future is exact."""
        self._steps.append((at_ns, rate_bit_s))

    def replay(self, began_ns: int) -> None:
        """Replays the trace from began_ns on, in place of the rate. Does nothing without a trace."""
        if self._trace is not None:
            self._opportunities = _Opportunities(self._trace, began_ns)

    def due(self, now_ns: int) -> Iterator[tuple[int, bytes]]:
        """Yields (departure time, packet) of the packets that have left by now_ns, in order.

        Packets that the caller does not fetch are yielded by the next call.
        """
        self._advance(now_ns)
        departed, counters = self._departed, self.counters
        while departed:
            departure_ns, packet = departed.popleft()
            counters.packets_out += 1
            counters.bytes_out += len(packet)
            yield departure_ns, packet

    @property
    def next_ns(self) -> int | None:
        """The departure time of the next packet; None if the direction holds no packet.

        If the packet will be dropped because of limit_bytes, the next departure is later than this time.
        """
        if self._departed:
            return self._departed[0][0]
        if self._bottleneck:
            return self._sent_ns
        if not self._delay_line:
            return None
        # The bottleneck is empty: the next packet to enter it is sent at once.
        entry_ns, packet = self._delay_line[0]
        if self._opportunities is not None:
            return self._opportunities.after(entry_ns, len(packet))[0]
        return entry_ns + self._transmission_ns(len(packet), entry_ns)

    def queue(self, now_ns: int) -> QueueContents:
        """Returns the packets and bytes in bottleneck and delay line, and the number of packets dropped so far."""
        self._advance(now_ns)
        return QueueContents(
            packets=len(self._bottleneck),
            bytes=self._bottleneck_bytes,
            delay_line_packets=len(self._delay_line),
            delay_line_bytes=self._delay_line_bytes,
            dropped=self.counters.dropped,
        )

    def _transmission_ns(self, size: int, begin_ns: int) -> int:
        rate_bit_s = self._rate_bit_s
        for at_ns, changed_bit_s in self._steps:
            if at_ns > begin_ns:
                break
            rate_bit_s = changed_bit_s
        return size * 8 * 10**9 // rate_bit_s if rate_bit_s else 0

    def _advance(self, now_ns: int) -> None:
        delay_line = self._delay_line
        while delay_line and delay_line[0][0] <= now_ns:
            entry_ns, packet = delay_line.popleft()
            self._delay_line_bytes -= len(packet)
            self._depart(entry_ns)
            self._enter(entry_ns, packet)
        self._depart(now_ns)

    def _depart(self, now_ns: int) -> None:
        bottleneck = self._bottleneck
        while bottleneck and self._sent_ns <= now_ns:
            packet = bottleneck.popleft()
            self._bottleneck_bytes -= len(packet)
            self._departed.append((self._sent_ns, packet))
            if bottleneck:
                self._begin(self._sent_ns)

    def _begin(self, begin_ns: int) -> None:
        """Begins to send the first packet of the bottleneck."""
        if self._opportunities is not None:
            self._sent_ns = self._opportunities.take(begin_ns, len(self._bottleneck[0]))
            return
        self._sent_ns = begin_ns + self._transmission_ns(len(self._bottleneck[0]), begin_ns)
        while self._steps and self._steps[0][0] <= begin_ns:
            _, self._rate_bit_s = self._steps.popleft()

    def _enter(self, entry_ns: int, packet: bytes) -> None:
        if self._rate_bit_s is None and self._opportunities is None and not self._bottleneck:
            self._departed.append((entry_ns, packet))
            return
        counters = self.counters
        packets, size = len(self._bottleneck) + 1, self._bottleneck_bytes + len(packet)
        if (self._limit_packets is not None and packets > self._limit_packets) or (
            self._limit_bytes is not None and size > self._limit_bytes
        ):
            counters.dropped += 1
            return
        self._bottleneck.append(packet)
        self._bottleneck_bytes = size
        if packets == 1:
            self._begin(entry_ns)
        counters.longest_queue_packets = max(counters.longest_queue_packets, packets)
        counters.longest_queue_bytes = max(counters.longest_queue_bytes, size)
