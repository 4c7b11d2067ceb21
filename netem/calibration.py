"""What the link turned out to be: measured with a few datagrams before every run.

The near end, in the client's place, asks; the far end, in the front's place, answers (`respond`). Moments are those of
the near end; of the far end only how long after a train's first datagram each was sent. So the two may be in different
processes, namespaces or containers. A datagram arrives when the kernel says, not when this process comes to read it.

Three figures:
- round trip: the quickest of several small datagrams sent up and answered at once;
- rate: a train of full-size datagrams sent down back to back; the bottleneck spaces them, the spacing is the rate. It
  is the median of how long each half of the train took, so a few datagrams that a busy machine handed on late, or in
  a bunch, do not count;
- queue: how much of such a train the bottleneck held when it dropped the next datagram: those that came, without those
  that had left it by then, as a link of the rate asked for lets them. A train of which nothing was dropped says nothing
  and is repeated, longer. Not known with jitter or loss. The train's numbers also show whether order was kept.

On a real clock a link may be too fast to be measured: the far end sends no faster than the link, or all is over within
what moments may be wrong by. Then a figure is None rather than wrong, and it says so (`too_fast`).
"""

import select
import socket
import struct
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from statistics import median, median_low
from typing import Self

from netem.link import PACKET_BYTES, Link

_HEADERS_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP
_FULL_PAYLOAD_BYTES = PACKET_BYTES - _HEADERS_BYTES
_SMALL_PAYLOAD_BYTES = 18  # the smallest Ethernet payload, so that every shaper counts the same
_LONE_BYTES = _FULL_PAYLOAD_BYTES - _SMALL_PAYLOAD_BYTES
_REQUEST = struct.Struct("!III")  # round, datagrams wanted, payload bytes of each
_ANSWER = struct.Struct("!IIQ")  # round, number of the datagram, nanoseconds since the first was sent
_ECHOES = 5
_ROUNDS = 5
_ATTEMPTS = 5  # a machine that is busy for a moment must not spoil a run
_PAUSE_S = 0.3  # before the next attempt
_ASK_AGAIN_S = 0.1  # besides the round trip, until the far end has answered for the first time
_RATE_TRAIN = 20
_SURPLUS = 8  # packets in a train beyond what the queue should hold
_FASTER = 1.25  # the far end, at least, than the link: otherwise its own pace is measured
_LONGEST_TRAIN_NS = 20 * 10**9
_SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>; the socket module does not name these
_SO_RCVBUFFORCE = 33
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("@9I")  # <linux/sock_diag.h>; the last: what was dropped for want of room
_BUFFER_BYTES = 16 * 2**20
_TIMESPEC = struct.Struct("@qq")
_OLDEST_STAMP_NS = 10**9  # older: the clock was probably set meanwhile

Address = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was measured; None where it could not be.

    rate_bit_s counts whole Ethernet frames, as tc does. reordered_packets: how many of a train arrived after one sent
    later. too_fast: neither as asked nor as seen did the link leave time enough to measure its rate.
    """

    round_trip_ns: int | None
    rate_bit_s: int | None
    queue_packets: int | None
    reordered_packets: int | None
    too_fast: bool


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far measured may be from asked: a fraction of the rate, nanoseconds of round trip, packets of queue.

    clock_ns: what a moment may be wrong by; figures that this blurs beyond the tolerance are not measured.
    """

    rate: float
    round_trip_ns: int
    queue_packets: int
    clock_ns: int

    @property
    def shortest_ns(self) -> float:
        """What the clock must have time for to tell a rate: both halves of a train."""
        return 2 * self.clock_ns / self.rate

    def counts_packets_of(self, transmission_ns: int) -> bool:
        """Whether packets that take so long can be counted."""
        return transmission_ns * self.queue_packets >= self.clock_ns


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000, queue_packets=0, clock_ns=0)
"""For the guest, whose clock does not move while it works."""

REAL = Tolerance(rate=0.05, round_trip_ns=20_000_000, queue_packets=1, clock_ns=50_000)
"""For real clocks: a busy machine wakes a process late, and may pause one in the middle of a train.

Queues are measured up to some 240 Mbit/s, rates where a full queue lasts 2 ms.
"""


def expected_round_trip_ns(link: Link) -> int:
    """Round trip of the small datagram on an idle link: delays and its own transmission time."""
    return link.round_trip_ns + link.transmission_ns(_SMALL_PAYLOAD_BYTES + _HEADERS_BYTES)


def disagreements(link: Link, measured: Calibration, tolerance: Tolerance) -> list[tuple[str, object, object]]:
    """(what, asked, measured) for each figure out of tolerance; jitter widens the one for the round trip."""
    found: list[tuple[str, object, object]] = []
    asked_ns = expected_round_trip_ns(link)
    allowed_ns = tolerance.round_trip_ns + link.jitter_ns
    if measured.round_trip_ns is None or abs(measured.round_trip_ns - asked_ns) > allowed_ns:
        found.append(("round_trip_ns", asked_ns, measured.round_trip_ns))
    if link.rate_bit_s is not None:
        rate = measured.rate_bit_s
        missing = rate is None and not measured.too_fast
        if missing or (rate is not None and abs(rate - link.rate_bit_s) > tolerance.rate * link.rate_bit_s):
            found.append(("rate_bit_s", link.rate_bit_s, rate))
        queue = measured.queue_packets
        if queue is not None and abs(queue - link.queue_packets) > tolerance.queue_packets:
            found.append(("queue_packets", link.queue_packets, queue))
    if measured.reordered_packets:
        found.append(("reordered_packets", 0, measured.reordered_packets))
    return found


def respond(far: socket.socket) -> None:
    """Answer the near end's requests until it says that it is done. far is a bound UDP socket of the front's place."""
    while True:
        request, near = far.recvfrom(2048)
        number, datagrams, size_bytes = _REQUEST.unpack_from(request)
        if not datagrams:
            return
        padding = bytes(size_bytes - _ANSWER.size)
        started_ns = time.monotonic_ns()
        for datagram in range(datagrams):
            far.sendto(_ANSWER.pack(number, datagram, time.monotonic_ns() - started_ns) + padding, near)


class NearEnd:
    """Measures a link that is otherwise idle.

    near is a UDP socket of the client's place; far the address where `respond` listens. A context: at its end the far
    end is told that it is done.
    """

    def __init__(self, near: socket.socket, far: Address, link: Link) -> None:
        near.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        with suppress(PermissionError):
            near.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._near = near
        self._far = far
        self._link = link
        self._round = 0
        self._answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._near.sendto(_REQUEST.pack(0, 0, 0), self._far)

    def calibrate(self, tolerance: Tolerance) -> Calibration:
        """All figures that the tolerance's clock can tell."""
        self._answered = self._answered or self._comes_to_answer()
        round_trip_ns = self._round_trip_ns(_SMALL_PAYLOAD_BYTES) if self._answered else None
        rated = self._link.rate_bit_s is not None and round_trip_ns is not None
        bottleneck = self._measure_bottleneck(tolerance, round_trip_ns or 0) if rated else _Bottleneck()
        return Calibration(
            round_trip_ns=round_trip_ns,
            rate_bit_s=bottleneck.rate_bit_s,
            queue_packets=bottleneck.queue_packets,
            reordered_packets=bottleneck.reordered_packets,
            too_fast=bottleneck.too_fast,
        )

    def until_within(self, tolerance: Tolerance) -> tuple[Calibration, int]:
        """Calibrate, a few times at most, until nothing is out of tolerance: the last result, and how often."""
        attempts = 1
        while disagreements(self._link, measured := self.calibrate(tolerance), tolerance) and attempts < _ATTEMPTS:
            if measured.round_trip_ns is None and not self._link.loss:
                break  # nothing comes through
            attempts += 1
            time.sleep(_PAUSE_S)
        return measured, attempts

    def _comes_to_answer(self) -> bool:
        """Ask until the far end, which may not be there yet, answers for the first time."""
        again_s = _ASK_AGAIN_S + self._link.round_trip_ns / 10**9
        deadline_s = time.monotonic() + self._patience_s(1)
        while (left_s := deadline_s - time.monotonic()) > 0:
            self._request(1, _SMALL_PAYLOAD_BYTES)
            # Any answer will do: on a link slower than it should be it is one to an earlier question.
            if select.select([self._near], [], [], min(again_s, left_s))[0]:
                return True
        return False

    def _request(self, datagrams: int, size_bytes: int) -> None:
        self._round += 1
        self._near.sendto(_REQUEST.pack(self._round, datagrams, size_bytes).ljust(_SMALL_PAYLOAD_BYTES), self._far)

    def _ask(self, datagrams: int, size_bytes: int) -> "list[_Arrival]":
        """Have so many datagrams sent; those that came, as they came."""
        self._request(datagrams, size_bytes)
        arrivals: list[_Arrival] = []
        while len(arrivals) < datagrams:
            patience_s = self._patience_s(1 if arrivals else datagrams)
            if not select.select([self._near], [], [], patience_s)[0]:
                break
            answer, ancillary, _, _ = self._near.recvmsg(2048, socket.CMSG_SPACE(_TIMESPEC.size))
            arrived_ns = _arrival_ns(ancillary)
            number, datagram, sent_ns = _ANSWER.unpack_from(answer)
            if number == self._round:
                arrivals.append(_Arrival(number=datagram, sent_ns=sent_ns, arrived_ns=arrived_ns))
        return arrivals

    def _patience_s(self, packets: int) -> float:
        """How long to wait for the next datagram: far longer than it can take."""
        link = self._link
        longest_ns = link.round_trip_ns + 2 * link.jitter_ns + (packets + 2) * link.transmission_ns(PACKET_BYTES)
        return 2.0 + 1.5 * longest_ns / 10**9

    def _no_room(self) -> int:
        """Datagrams that came and that this end had no room for, so far."""
        return int(_MEMINFO.unpack(self._near.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size))[-1])

    def _round_trip_ns(self, size_bytes: int) -> int | None:
        """From a small request to the arrival of one answer of that size: the quickest of several."""
        quickest_ns: int | None = None
        for _ in range(_ECHOES):
            started_ns = time.monotonic_ns()
            for arrival in self._ask(1, size_bytes):
                took_ns = arrival.arrived_ns - started_ns
                quickest_ns = took_ns if quickest_ns is None else min(quickest_ns, took_ns)
        return quickest_ns

    def _measure_bottleneck(self, tolerance: Tolerance, round_trip_ns: int) -> "_Bottleneck":
        link = self._link
        best, queue_packets = self._best_train(tolerance)
        numbers = [each.number for each in best]
        times = [each.arrived_ns for each in best]
        asked_ns = link.transmission_ns(PACKET_BYTES) * max(1, len(best) - 1)
        if link.queue_packets == 1 or len(best) < 2:
            # No train: how much longer a full-size answer takes than a small one.
            seen_ns = (self._round_trip_ns(_FULL_PAYLOAD_BYTES) or 0) - round_trip_ns
            rate_bit_s = round(_LONE_BYTES * 8 * 10**9 / seen_ns) if seen_ns > 0 else None
            sending_ns = 0
        else:
            seen_ns = times[-1] - times[0]
            sending_ns = max(each.sent_ns for each in best) - min(each.sent_ns for each in best)
            if link.jitter_ns and len(times) > 3:
                # The first may come one by one; from the middle on the bottleneck is busy.
                times = times[(len(times) - 1) // 2 :]
            rate_bit_s = _spacing_rate(times)
        if queue_packets is not None:
            sending_ns = 0  # a queue that overflowed was not waiting for the far end
        too_fast = bool(best) and max(asked_ns, seen_ns) < max(_FASTER * sending_ns, tolerance.shortest_ns)
        return _Bottleneck(
            rate_bit_s=None if too_fast else rate_bit_s,
            queue_packets=queue_packets,
            reordered_packets=sum(number < max(numbers[:index], default=-1) for index, number in enumerate(numbers)),
            too_fast=too_fast,
        )

    def _best_train(self, tolerance: Tolerance) -> "tuple[list[_Arrival], int | None]":
        """The train of which most came, and how much of one that overflowed it the queue held."""
        link = self._link
        transmission_ns = link.transmission_ns(PACKET_BYTES)
        length = link.queue_packets + _SURPLUS
        countable = not link.jitter_ns and not link.loss and tolerance.counts_packets_of(transmission_ns)
        if link.jitter_ns or length * transmission_ns > _LONGEST_TRAIN_NS:
            countable, length = False, min(link.queue_packets, _RATE_TRAIN)
        best: list[_Arrival] = []
        for _ in range(_ROUNDS):
            no_room = self._no_room()
            train = self._ask(length, _FULL_PAYLOAD_BYTES)
            best = max(best, train, key=len)
            if self._no_room() > no_room or link.loss or len(train) < min(2, link.queue_packets):
                continue
            if not countable:
                break
            held = _held(train, length, transmission_ns)
            if held is not None:
                return best, held
            drained = max(each.sent_ns for each in train) // max(1, transmission_ns)
            length += 2 * drained + _SURPLUS
            if drained >= len(train) or length * transmission_ns > _LONGEST_TRAIN_NS:
                break
        return best, None


@dataclass(frozen=True, kw_only=True)
class _Arrival:
    """One datagram of a train. sent_ns counts from the first; arrived_ns is the near end's clock."""

    number: int
    sent_ns: int
    arrived_ns: int


@dataclass(frozen=True, kw_only=True)
class _Bottleneck:
    rate_bit_s: int | None = None
    queue_packets: int | None = None
    reordered_packets: int | None = None
    too_fast: bool = False


def _arrival_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    # The kernel stamps with CLOCK_REALTIME; the difference to CLOCK_MONOTONIC is taken now.
    now_ns = time.monotonic_ns()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            age_ns = time.time_ns() - (seconds * 10**9 + nanoseconds)
            if 0 <= age_ns <= _OLDEST_STAMP_NS:
                return now_ns - int(age_ns)
    return now_ns


def _held(train: list[_Arrival], length: int, transmission_ns: int) -> int | None:
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


def _spacing_rate(times: list[int]) -> int | None:
    half = len(times) // 2
    elapsed_ns = median(later - earlier for earlier, later in zip(times, times[half:], strict=False))
    return round(half * PACKET_BYTES * 8 * 10**9 / elapsed_ns) if elapsed_ns > 0 else None
