"""The two ends of a calibration, which measures the link with a few datagrams before every run.

The near end, in the client's place, sends requests. The far end, in the front's place, answers with datagrams
(`respond`). All timestamps are those of the near end, taken by its kernel on arrival. The far end only reports how long
after the first datagram of a train it sent each datagram. So the two ends need no common clock or process.

The round trip is the shortest of several measurements of the time from a small request to its answer, a small datagram.
Then the far end sends trains of full-size datagrams, which `netem/packet_train.py` evaluates. If a train loses no
datagram, a longer train follows, until the queue overflows and its size is known. The function `unmeasured` in
netem/calibration.py says on which links the queue's size cannot be measured. The datagrams' numbers show whether the
link kept their order.

A queue in bytes must hold more of smaller datagrams, so a train of these follows. If it is limited toward the front,
too, the near end sends such trains itself: requests of that size, each for a small answer.

On a link with REORDER some answers skip the delay. Then the round trip is the median of the measurements.

A train that overflows the queue loses its last datagrams. On real clocks nobody waits long for them: the near end asks
for one more small datagram, and if this comes, the link, which keeps the order, has nothing left of the train. In a
guest waiting takes no time.

The rate is unknown if the far end sends no faster than the link, or if a train is too short for the clock's error.
"""

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from statistics import median_low
from typing import Self

from priolab.common.arrival import ANCILLARY_BYTES, arrival_ns, stamp_arrivals
from priolab.common.packets import PACKET_BYTES
from priolab.netem.calibration import (
    SMALL_BYTES,
    Calibration,
    Tolerance,
    disagreements,
    fillings,
    unmeasured,
)
from priolab.netem.link import Link, Qdisc
from priolab.netem.packet_train import Arrival, held_packets, spacing_rate_bit_s

_HEADERS_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP
_FULL_PAYLOAD_BYTES = PACKET_BYTES - _HEADERS_BYTES
_SMALL_PAYLOAD_BYTES = SMALL_BYTES - _HEADERS_BYTES
_LONE_BYTES = _FULL_PAYLOAD_BYTES - _SMALL_PAYLOAD_BYTES
_REQUEST = struct.Struct("!III")  # round, datagrams wanted, payload bytes of each
_ANSWER = struct.Struct("!IIQ")  # round, number of the datagram, nanoseconds since the first was sent
_ECHOES = 5
_ROUNDS = 5
_ATTEMPTS = 5  # so that a run survives a machine that is busy for a short time
_PAUSE_S = 0.3  # before the next attempt
_ASK_AGAIN_S = 0.1  # time until the next request if no answer comes, in addition to what the link needs
_RATE_TRAIN = 20
_SURPLUS = 8  # packets in a train beyond what the queue should hold
_FASTER = 1.25  # how much faster than the link the far end must send; otherwise its own rate would be measured
_LONGEST_TRAIN_NS = 20 * 10**9
_SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>; the socket module does not name these
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("@9I")  # <linux/sock_diag.h>; the last number counts datagrams dropped by a full buffer
_BUFFER_BYTES = 16 * 2**20
_OLDEST_STAMP_NS = 10**9  # an older stamp probably means that the clock was set meanwhile

Address = tuple[str, int]


def respond(far: socket.socket) -> None:
    """Answers the near end's requests until the near end is done. far: a bound UDP socket in the front's place."""
    while True:
        request, near = far.recvfrom(2048)
        number, datagrams, size_bytes = _REQUEST.unpack_from(request)
        if not datagrams:
            return
        padding = bytes(size_bytes - _ANSWER.size)
        started_ns = time.monotonic_ns()
        for datagram in range(datagrams):
            far.sendto(_ANSWER.pack(number, datagram, time.monotonic_ns() - started_ns) + padding, near)


@dataclass(frozen=True, kw_only=True)
class _Bottleneck:
    rate_bit_s: int | None = None
    queue_packets: int | None = None
    reordered_packets: int | None = None
    too_fast: bool = False


class NearEnd:
    """The near end of a calibration, which measures a link that is otherwise idle.

    near: a UDP socket in the client's place. far: the address at which the far end listens. over: a descriptor that
    becomes readable when no more answers can arrive, such as a pidfd of the process that shapes the link.
    A context manager; the exit sends the far end the message that the near end is done.
    """

    def __init__(self, near: socket.socket, far: Address, link: Link, over: int | None = None) -> None:
        stamp_arrivals(near)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        with suppress(PermissionError):
            near.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._near = near
        self._waited_for: list[socket.socket | int] = [near] if over is None else [near, over]
        self._over = over
        self._far = far
        self._link = link
        self._round = 0
        self._answered = False
        self._hurries = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._near.sendto(_REQUEST.pack(0, 0, 0), self._far)

    def calibrate(self, tolerance: Tolerance) -> Calibration:
        """Measures each figure of a Calibration for which the clock's error, tolerance.clock_ns, is small enough."""
        self._hurries = tolerance.clock_ns > 0 and not self._link.reorder
        self._answered = self._answered or self._comes_to_answer()
        round_trip_ns = self._round_trip_ns(_SMALL_PAYLOAD_BYTES) if self._answered else None
        rated = self._link.rate_bit_s is not None and round_trip_ns is not None
        bottleneck = self._measure_bottleneck(tolerance, round_trip_ns or 0) if rated else _Bottleneck()
        of_bytes = self._measure_bytes(tolerance) if self._link.counts_bytes and round_trip_ns is not None else {}
        return Calibration(
            round_trip_ns=round_trip_ns,
            rate_bit_s=bottleneck.rate_bit_s,
            queue_packets=bottleneck.queue_packets,
            reordered_packets=bottleneck.reordered_packets,
            too_fast=bottleneck.too_fast,
            **of_bytes,
        )

    def until_within(self, tolerance: Tolerance) -> tuple[Calibration, int]:
        """Repeats the calibration until all figures are within tolerance, five times at most.

        Returns the last calibration and the number of attempts.
        """
        attempts = 1
        while disagreements(self._link, measured := self.calibrate(tolerance), tolerance) and attempts < _ATTEMPTS:
            if measured.round_trip_ns is None and not self._link.loss:
                break  # no datagram gets through
            attempts += 1
            time.sleep(_PAUSE_S)
        return measured, attempts

    def _comes_to_answer(self) -> bool:
        """Sends requests until the far end, which may not run yet, answers for the first time.

        Returns False if no answer arrives.
        """
        again_s = _ASK_AGAIN_S + self._link.round_trip_ns / 10**9
        deadline_s = time.monotonic() + self._patience_s(1)
        while (left_s := deadline_s - time.monotonic()) > 0:
            self._request(1, _SMALL_PAYLOAD_BYTES)
            # Any answer will do: on a link that is too slow, an answer to an earlier request may arrive.
            readable = self._comes(min(again_s, left_s))
            if readable or self._is_over:
                return readable
        return False

    def _comes(self, patience_s: float) -> bool:
        """Waits for a datagram, at most patience_s. Returns False if no datagram arrives in this time.

        Also returns False as soon as the descriptor `over` (see NearEnd) is readable: then no datagram can arrive.
        """
        return self._near in select.select(self._waited_for, [], [], patience_s)[0]

    @property
    def _is_over(self) -> bool:
        return self._over is not None and bool(select.select([self._over], [], [], 0)[0])

    def _request(self, datagrams: int, size_bytes: int, own_bytes: int = _SMALL_PAYLOAD_BYTES) -> None:
        """Sends a request with own_bytes of payload. size_bytes: the payload of each datagram of the answer."""
        self._round += 1
        self._near.sendto(_REQUEST.pack(self._round, datagrams, size_bytes).ljust(own_bytes), self._far)

    def _ask(self, datagrams: int, size_bytes: int) -> list[Arrival]:
        """Requests a train of datagrams; returns the arrivals, in order. size_bytes: the payload of each."""
        self._request(datagrams, size_bytes)
        return [
            Arrival(number=number, sent_ns=sent_ns, arrived_ns=arrived_ns)
            for _, number, sent_ns, arrived_ns in self._answers(self._round, datagrams)
        ]

    def _send(self, datagrams: int, size_bytes: int) -> list[Arrival]:
        """Sends a train of datagrams; returns those to which an answer came. size_bytes: the payload of each."""
        first = self._round + 1
        started_ns = time.monotonic_ns()
        sent_ns: list[int] = []
        for _ in range(datagrams):
            sent_ns.append(time.monotonic_ns() - started_ns)
            self._request(1, _SMALL_PAYLOAD_BYTES, size_bytes)
        return [
            Arrival(number=asked - first, sent_ns=sent_ns[asked - first], arrived_ns=arrived_ns)
            for asked, _, _, arrived_ns in self._answers(first, datagrams)
        ]

    def _answers(self, first: int, datagrams: int) -> Iterator[tuple[int, int, int, int]]:
        """Yields the datagrams that answer the requests from round `first` until now, at most so many, in order.

        For each: the round, its number, when the far end sent it, and when it arrived.
        """
        last, came = self._round, 0
        while came < datagrams:
            patience_s = self._patience_s(1 if came else datagrams)
            if not (self._comes_or_is_asked_for(patience_s) if self._hurries else self._comes(patience_s)):
                break
            answer, ancillary, _, _ = self._near.recvmsg(2048, ANCILLARY_BYTES)
            arrived_ns = arrival_ns(ancillary, _OLDEST_STAMP_NS)
            number, datagram, sent_ns = _ANSWER.unpack_from(answer)
            if number > last:
                break  # nothing of the train is left on the link
            if number >= first:
                came += 1
                yield number, datagram, sent_ns, arrived_ns

    def _comes_or_is_asked_for(self, patience_s: float) -> bool:
        """Waits for a datagram as `_comes` does, and requests one more whenever the link should have brought one."""
        link = self._link
        again_s = (
            _ASK_AGAIN_S + (link.round_trip_ns + 2 * (link.jitter_ns + link.transmission_ns(PACKET_BYTES))) / 10**9
        )
        deadline_s = time.monotonic() + patience_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            readable = self._comes(min(again_s, left_s))
            if readable or self._is_over:
                return readable
            self._request(1, _SMALL_PAYLOAD_BYTES)
        return False

    def _patience_s(self, packets: int) -> float:
        """Returns the seconds to wait for the next datagram: far more than a working link needs for so many packets."""
        link = self._link
        longest_ns = link.round_trip_ns + 2 * link.jitter_ns + (packets + 2) * link.transmission_ns(PACKET_BYTES)
        return 2.0 + 1.5 * longest_ns / 10**9

    def _no_room(self) -> int:
        """Returns the number of datagrams dropped so far because the near end's receive buffer was full."""
        return int(_MEMINFO.unpack(self._near.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size))[-1])

    def _round_trip_ns(self, size_bytes: int) -> int | None:
        """Returns the shortest of several round trips: a small request, and an answer with size_bytes of payload."""
        times_ns = []
        for _ in range(_ECHOES):
            started_ns = time.monotonic_ns()
            times_ns += [arrival.arrived_ns - started_ns for arrival in self._ask(1, size_bytes)]
        if not times_ns:
            return None
        return median_low(times_ns) if self._link.reorder else min(times_ns)

    def _measure_bottleneck(self, tolerance: Tolerance, round_trip_ns: int) -> _Bottleneck:
        link = self._link
        best, queue_packets = self._best_train(tolerance)
        numbers = [each.number for each in best]
        times = [each.arrived_ns for each in best]
        asked_ns = link.transmission_ns(PACKET_BYTES) * max(1, len(best) - 1)
        if link.queue_packets == 1 or len(best) < 2:
            # A train is not possible. The rate follows from how much longer a full-size answer takes than a small one.
            seen_ns = (self._round_trip_ns(_FULL_PAYLOAD_BYTES) or 0) - round_trip_ns
            rate_bit_s = round(_LONE_BYTES * 8 * 10**9 / seen_ns) if seen_ns > 0 else None
            sending_ns = 0
        else:
            seen_ns = times[-1] - times[0]
            sending_ns = max(each.sent_ns for each in best) - min(each.sent_ns for each in best)
            if link.jitter_ns and len(times) > 3:
                # Jitter may leave gaps between the first datagrams; from the middle on the bottleneck is busy.
                times = times[(len(times) - 1) // 2 :]
            rate_bit_s = spacing_rate_bit_s(times)
        if queue_packets is not None:
            sending_ns = 0  # the queue overflowed, so the far end was faster than the link
        too_fast = bool(best) and max(asked_ns, seen_ns) < max(_FASTER * sending_ns, tolerance.shortest_ns)
        return _Bottleneck(
            rate_bit_s=None if too_fast else rate_bit_s,
            queue_packets=queue_packets,
            reordered_packets=sum(number < max(numbers[:index], default=-1) for index, number in enumerate(numbers)),
            too_fast=too_fast,
        )

    def _best_train(self, tolerance: Tolerance) -> tuple[list[Arrival], int | None]:
        """Sends several trains. Returns the train of which most datagrams arrived, and the queue's size in packets.

        The size is the number of packets in the queue when it overflowed; None if it is unknown.
        """
        link = self._link
        transmission_ns = link.transmission_ns(PACKET_BYTES)
        length = link.queue_packets + _SURPLUS
        countable = "queue_packets" not in unmeasured(link) and tolerance.counts_packets_of(transmission_ns)
        if link.jitter_ns or link.qdisc is not Qdisc.FIFO or length * transmission_ns > _LONGEST_TRAIN_NS:
            countable, length = False, min(link.queue_packets, _RATE_TRAIN)
        ask = partial(self._ask, size_bytes=_FULL_PAYLOAD_BYTES)
        return self._until_full(ask, length, transmission_ns, link.queue_packets, countable=countable)

    def _measure_bytes(self, tolerance: Tolerance) -> dict[str, int]:
        """Measures the queues that are limited in bytes, by the names of a Calibration's figures."""
        found: dict[str, int] = {}
        for each in fillings(self._link):
            rate_bit_s = None if each.figure in unmeasured(self._link) else each.rate_bit_s
            if rate_bit_s is None:
                continue
            full_ns, transmission_ns = (size * 8 * 10**9 // rate_bit_s for size in (PACKET_BYTES, each.packet_bytes))
            length = each.packets + _SURPLUS
            if length * transmission_ns > _LONGEST_TRAIN_NS or not tolerance.counts_packets_of(full_ns):
                continue
            ask = partial(self._send if each.is_up else self._ask, size_bytes=each.packet_bytes - _HEADERS_BYTES)
            _, held = self._until_full(ask, length, transmission_ns, each.packets)
            if held is not None:
                found[each.figure] = each.measured(held)
        return found

    def _until_full(
        self,
        ask: Callable[[int], list[Arrival]],
        length: int,
        transmission_ns: int,
        holds: int,
        *,
        countable: bool = True,
    ) -> tuple[list[Arrival], int | None]:
        """Sends ever longer trains until one overflows the queue. Returns the best train, and the packets in the queue.

        ask: sends a train of that length. length: the length of the first. transmission_ns: of one of its datagrams.
        holds: how many the queue should hold. countable: False to send one train and count nothing.
        """
        link = self._link
        best: list[Arrival] = []
        for _ in range(_ROUNDS):
            no_room = self._no_room()
            train = ask(length)
            best = max(best, train, key=len)
            if self._no_room() > no_room or link.loss or link.reorder or len(train) < min(2, holds):
                continue
            if not countable:
                break
            held = held_packets(train, length, transmission_ns)
            if held is not None:
                return best, held
            drained = max(each.sent_ns for each in train) // max(1, transmission_ns)
            length += 2 * drained + _SURPLUS
            if drained >= len(train) or length * transmission_ns > _LONGEST_TRAIN_NS:
                break
        return best, None
