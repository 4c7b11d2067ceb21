"""What the link turned out to be: measured with a few datagrams before every run.

The near end, in the client's place, asks; the far end, in the front's place, answers (`respond`). Only the near end's
clock is read, so the two may be in different processes, namespaces or containers. A datagram's time is the kernel's,
not the moment this process got round to reading it.

Three figures:
- round trip: the quickest of several small datagrams sent up and answered at once;
- rate: a train of full-size datagrams sent down back to back; the bottleneck spaces them, the spacing is the rate. It
  is the median of how long each half of the train took, so a few datagrams that a busy machine handed on late, or in
  a bunch, do not count;
- queue: how much of such a train the bottleneck held; known when the train overflowed it at one blow, so not with
  jitter. The train's numbers also show whether order was kept.
"""

import select
import socket
import struct
import time
from dataclasses import dataclass
from statistics import median
from typing import Self

from netem.link import PACKET_BYTES, Link

_HEADERS_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP
_FULL_PAYLOAD_BYTES = PACKET_BYTES - _HEADERS_BYTES
_SMALL_PAYLOAD_BYTES = 18  # the smallest Ethernet payload, so that every shaper counts the same
_REQUEST = struct.Struct("!III")  # round, datagrams wanted, payload bytes of each
_ANSWER = struct.Struct("!II")  # round, number of the datagram
_ECHOES = 5
_ROUNDS = 5
_ATTEMPTS = 5  # a machine that is busy for a moment must not spoil a run
_PAUSE_S = 0.3  # before the next attempt
_RATE_TRAIN = 20
_SURPLUS = 8  # packets in a train beyond what the queue should hold
_LONGEST_TRAIN_NS = 20 * 10**9
_SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>; the socket module does not name it
_TIMESPEC = struct.Struct("@qq")
_OLDEST_STAMP_NS = 10**9  # older: the clock was probably set meanwhile

Address = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was measured; None where it could not be.

    rate_bit_s counts whole Ethernet frames, as tc does. queue_packets is exact only on a lossless link.
    reordered_packets: how many of a train arrived after one sent later.
    """

    round_trip_ns: int | None
    rate_bit_s: int | None
    queue_packets: int | None
    reordered_packets: int | None


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far measured may be from asked: a fraction of the rate, nanoseconds of round trip, packets of queue."""

    rate: float
    round_trip_ns: int
    queue_packets: int


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000, queue_packets=0)
"""For the guest, whose clock does not move while it works."""

REAL = Tolerance(rate=0.05, round_trip_ns=20_000_000, queue_packets=1)
"""For real clocks: a busy machine wakes a process late, and may pause one in the middle of a train."""


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
        if rate is None or abs(rate - link.rate_bit_s) > tolerance.rate * link.rate_bit_s:
            found.append(("rate_bit_s", link.rate_bit_s, rate))
        queue = measured.queue_packets
        if link.loss == 0 and queue is not None and abs(queue - link.queue_packets) > tolerance.queue_packets:
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
        for datagram in range(datagrams):
            far.sendto(_ANSWER.pack(number, datagram) + padding, near)


class NearEnd:
    """Measures a link that is otherwise idle.

    near is a UDP socket of the client's place; far the address where `respond` listens. A context: at its end the far
    end is told that it is done.
    """

    def __init__(self, near: socket.socket, far: Address, link: Link) -> None:
        near.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._near = near
        self._far = far
        self._link = link
        self._round = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._near.sendto(_REQUEST.pack(0, 0, 0), self._far)

    def calibrate(self) -> Calibration:
        """All figures."""
        round_trips = [sample for _ in range(_ECHOES) if (sample := self._round_trip_ns(_SMALL_PAYLOAD_BYTES))]
        rated = self._link.rate_bit_s is not None and round_trips
        bottleneck = self._measure_bottleneck() if rated else _Bottleneck()
        return Calibration(
            round_trip_ns=min(round_trips, default=None),
            rate_bit_s=bottleneck.rate_bit_s,
            queue_packets=bottleneck.queue_packets,
            reordered_packets=bottleneck.reordered_packets,
        )

    def until_within(self, tolerance: Tolerance) -> tuple[Calibration, int]:
        """Calibrate, a few times at most, until nothing is out of tolerance: the last result, and how often."""
        attempts = 1
        while disagreements(self._link, measured := self.calibrate(), tolerance) and attempts < _ATTEMPTS:
            if measured.round_trip_ns is None and not self._link.loss:
                break  # nothing comes through
            attempts += 1
            time.sleep(_PAUSE_S)
        return measured, attempts

    def _ask(self, datagrams: int, size_bytes: int) -> list[tuple[int, int]]:
        """Have so many datagrams sent; number and arrival time of each that came."""
        self._round += 1
        self._near.sendto(_REQUEST.pack(self._round, datagrams, size_bytes).ljust(_SMALL_PAYLOAD_BYTES), self._far)
        arrivals: list[tuple[int, int]] = []
        while len(arrivals) < datagrams:
            patience_s = self._patience_s(1 if arrivals else datagrams)
            if not select.select([self._near], [], [], patience_s)[0]:
                break
            answer, ancillary, _, _ = self._near.recvmsg(2048, socket.CMSG_SPACE(_TIMESPEC.size))
            arrived_ns = _arrival_ns(ancillary)
            number, datagram = _ANSWER.unpack_from(answer)
            if number == self._round:
                arrivals.append((datagram, arrived_ns))
        return arrivals

    def _patience_s(self, packets: int) -> float:
        """How long to wait for the next datagram: far longer than it can take."""
        link = self._link
        longest_ns = link.round_trip_ns + 2 * link.jitter_ns + (packets + 2) * link.transmission_ns(PACKET_BYTES)
        return 2.0 + 1.5 * longest_ns / 10**9

    def _round_trip_ns(self, size_bytes: int) -> int | None:
        """From a small request to the arrival of one answer of that size."""
        started_ns = time.monotonic_ns()
        arrivals = self._ask(1, size_bytes)
        return arrivals[0][1] - started_ns if arrivals else None

    def _measure_bottleneck(self) -> "_Bottleneck":
        link = self._link
        overflowing = link.queue_packets + _SURPLUS
        overflows = not link.jitter_ns and link.transmission_ns(PACKET_BYTES) * overflowing <= _LONGEST_TRAIN_NS
        length = overflowing if overflows else min(link.queue_packets, _RATE_TRAIN)
        best: list[tuple[int, int]] = []
        for _ in range(_ROUNDS):
            best = max(best, self._ask(length, _FULL_PAYLOAD_BYTES), key=len)
            if len(best) >= 2 and link.loss == 0:
                break
        numbers = [number for number, _ in best]
        times = [t_ns for _, t_ns in best]
        if link.jitter_ns and len(times) > 3:
            # The first may come one by one; from the middle on the bottleneck is busy.
            times = times[(len(times) - 1) // 2 :]
        return _Bottleneck(
            rate_bit_s=_spacing_rate(times) if len(times) >= 2 else self._rate_of_lone_packets(),
            queue_packets=len(best) if overflows else None,
            reordered_packets=sum(number < max(numbers[:index], default=-1) for index, number in enumerate(numbers)),
        )

    def _rate_of_lone_packets(self) -> int | None:
        """A queue of one packet holds no train: compare how long a small and a full-size answer take."""
        small_ns, full_ns = (self._round_trip_ns(size) for size in (_SMALL_PAYLOAD_BYTES, _FULL_PAYLOAD_BYTES))
        if small_ns is None or full_ns is None or full_ns <= small_ns:
            return None
        return round((_FULL_PAYLOAD_BYTES - _SMALL_PAYLOAD_BYTES) * 8 * 10**9 / (full_ns - small_ns))


@dataclass(frozen=True, kw_only=True)
class _Bottleneck:
    rate_bit_s: int | None = None
    queue_packets: int | None = None
    reordered_packets: int | None = None


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


def _spacing_rate(times: list[int]) -> int | None:
    half = len(times) // 2
    elapsed_ns = median(later - earlier for earlier, later in zip(times, times[half:], strict=False))
    return round(half * PACKET_BYTES * 8 * 10**9 / elapsed_ns) if elapsed_ns > 0 else None
