"""What the link turned out to be: measured with a few datagrams before every run.

Both ends are UDP sockets of this process, each opened in its own place, so one clock sees both.

Three figures:
- round trip: the quickest of several small datagrams sent up and answered at once;
- rate: a train of full-size datagrams sent down back to back; the bottleneck spaces them, the spacing is the rate;
- queue: how much of such a train the bottleneck held; known when the train overflowed it at one blow, so not with
  jitter. The train's numbers also show whether order was kept.
"""

import select
import socket
import struct
import time
from dataclasses import dataclass

from netem.link import PACKET_BYTES, Link

_HEADERS_BYTES = 14 + 20 + 8  # Ethernet, IPv4, UDP
_FULL_PAYLOAD_BYTES = PACKET_BYTES - _HEADERS_BYTES
_SMALL_PAYLOAD_BYTES = 18  # the smallest Ethernet payload, so that every shaper counts the same
_NUMBER = struct.Struct("!I")
_ECHOES = 5
_ROUNDS = 5
_RATE_TRAIN = 20
_SURPLUS = 8  # packets in a train beyond what the queue should hold
_LONGEST_TRAIN_NS = 20 * 10**9


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
    """How far measured may be from asked: a fraction of the rate, and nanoseconds of round trip."""

    rate: float
    round_trip_ns: int


VIRTUAL = Tolerance(rate=0.03, round_trip_ns=3_000_000)
"""For the guest, whose clock does not move while it works."""


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
        if link.loss == 0 and measured.queue_packets not in (None, link.queue_packets):
            found.append(("queue_packets", link.queue_packets, measured.queue_packets))
    if measured.reordered_packets:
        found.append(("reordered_packets", 0, measured.reordered_packets))
    return found


def calibrate(near: socket.socket, far: socket.socket, link: Link) -> Calibration:
    """Measure a link that is otherwise idle. near and far are bound UDP sockets of the client's and front's place."""
    round_trips = [sample for _ in range(_ECHOES) if (sample := _echo_ns(near, far, link)) is not None]
    bottleneck = _Bottleneck() if link.rate_bit_s is None else _measure_bottleneck(near, far, link)
    return Calibration(
        round_trip_ns=min(round_trips, default=None),
        rate_bit_s=bottleneck.rate_bit_s,
        queue_packets=bottleneck.queue_packets,
        reordered_packets=bottleneck.reordered_packets,
    )


@dataclass(frozen=True, kw_only=True)
class _Bottleneck:
    rate_bit_s: int | None = None
    queue_packets: int | None = None
    reordered_packets: int | None = None


def _patience_s(link: Link, packets: int) -> float:
    """How long to wait for the next datagram: far longer than it can take."""
    longest_ns = link.round_trip_ns + 2 * link.jitter_ns + (packets + 2) * link.transmission_ns(PACKET_BYTES)
    return 2.0 + 1.5 * longest_ns / 10**9


def _echo_ns(near: socket.socket, far: socket.socket, link: Link) -> int | None:
    payload = bytes(_SMALL_PAYLOAD_BYTES)
    started_ns = time.monotonic_ns()
    near.sendto(payload, far.getsockname())
    for end, answer in ((far, True), (near, False)):
        if not select.select([end], [], [], _patience_s(link, 1))[0]:
            return None
        end.recv(2048)
        if answer:
            far.sendto(payload, near.getsockname())
    return time.monotonic_ns() - started_ns


def _measure_bottleneck(near: socket.socket, far: socket.socket, link: Link) -> _Bottleneck:
    overflowing = link.queue_packets + _SURPLUS
    overflows = not link.jitter_ns and link.transmission_ns(PACKET_BYTES) * overflowing <= _LONGEST_TRAIN_NS
    length = overflowing if overflows else min(link.queue_packets, _RATE_TRAIN)
    best: list[tuple[int, int]] = []
    for _ in range(_ROUNDS):
        arrivals = _send_train(near, far, link, length)
        best = max(best, arrivals, key=len)
        if len(best) >= 2 and link.loss == 0:
            break
    numbers = [number for number, _ in best]
    return _Bottleneck(
        rate_bit_s=_spacing_rate(best) if len(best) >= 2 else _rate_of_lone_packets(near, far, link),
        queue_packets=len(best) if overflows else None,
        reordered_packets=sum(number < max(numbers[:index], default=-1) for index, number in enumerate(numbers)),
    )


def _spacing_rate(train: list[tuple[int, int]]) -> int | None:
    # With jitter the first packets may come one by one; from the middle on the bottleneck is busy.
    times = [t_ns for _, t_ns in train][(len(train) - 1) // 2 if len(train) > 3 else 0 :]
    elapsed_ns = times[-1] - times[0]
    return round((len(times) - 1) * PACKET_BYTES * 8 * 10**9 / elapsed_ns) if elapsed_ns else None


def _send_train(near: socket.socket, far: socket.socket, link: Link, length: int) -> list[tuple[int, int]]:
    """Send numbered full-size datagrams down; number and arrival time of each that came."""
    padding = bytes(_FULL_PAYLOAD_BYTES - _NUMBER.size)
    for number in range(length):
        far.sendto(_NUMBER.pack(number) + padding, near.getsockname())
    arrivals: list[tuple[int, int]] = []
    while len(arrivals) < length:
        patience_s = _patience_s(link, 1 if arrivals else length)
        if not select.select([near], [], [], patience_s)[0]:
            break
        (number,) = _NUMBER.unpack_from(near.recv(2048))
        arrivals.append((number, time.monotonic_ns()))
    return arrivals


def _rate_of_lone_packets(near: socket.socket, far: socket.socket, link: Link) -> int | None:
    """A queue of one packet holds no train: compare how long a small and a full-size datagram take."""
    times: list[int] = []
    for size in (_SMALL_PAYLOAD_BYTES, _FULL_PAYLOAD_BYTES):
        started_ns = time.monotonic_ns()
        far.sendto(bytes(size), near.getsockname())
        if not select.select([near], [], [], _patience_s(link, 1))[0]:
            return None
        near.recv(2048)
        times.append(time.monotonic_ns() - started_ns)
    difference_ns = times[1] - times[0]
    extra_bits = (_FULL_PAYLOAD_BYTES - _SMALL_PAYLOAD_BYTES) * 8
    return round(extra_bits * 10**9 / difference_ns) if difference_ns > 0 else None
