"""Tests of calibration over loopback: the far end sends a train of datagrams, which the near end measures.

Some far ends drop, delay or reorder the datagrams, as links do.
"""

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from priolab.common.packets import PACKET_BYTES
from priolab.netem.calibration import Calibration, Tolerance, disagreements
from priolab.netem.ferry.direction import Direction
from priolab.netem.link import Link
from priolab.netem.link_probe import NearEnd, respond

MS = 10**6
HEADERS = 42
SLOW = Link(rate_bit_s=8_000_000, delay_ns=0, queue_packets=25)
SPACING_NS = SLOW.transmission_ns(PACKET_BYTES)
FAST = Link(rate_bit_s=10**9, delay_ns=0, queue_packets=25)
UNLIMITED = Link(rate_bit_s=None, delay_ns=0)
ANYTHING = Tolerance(rate=10**6, round_trip_ns=10**10, queue_packets=100, clock_ns=0)
ON_REAL_CLOCKS = replace(ANYTHING, clock_ns=1)

Pass = Callable[[Sequence[bytes]], Iterable[bytes]]


@contextmanager
def ends(link: Link, far_end: Callable[[socket.socket], None] = respond) -> Iterator[NearEnd]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far,
    ):
        far.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=far_end, args=(far,))
        thread.start()
        with NearEnd(near, far.getsockname(), link) as end:
            yield end
        thread.join(5)
        assert not thread.is_alive(), "the far end did not understand that it is done"


def passing(choose: Pass, pace_ns: int = 0) -> Callable[[socket.socket], None]:
    """Return a far end that sends the datagrams that `choose` selects from the train.

    pace_ns: the time between two datagrams, according to the send times that they carry.
    """

    def far_end(far: socket.socket) -> None:
        while True:
            request, near = far.recvfrom(2048)
            number, datagrams, size_bytes = struct.unpack_from("!III", request)
            if not datagrams:
                return
            train = [struct.pack("!IIQ", number, each, each * pace_ns).ljust(size_bytes) for each in range(datagrams)]
            for datagram in choose(train):
                far.sendto(datagram, near)

    return far_end


def through(link: Link, pace_ns: int) -> Callable[[socket.socket], None]:
    """Return a far end that sends, all at once, the datagrams of the train that the model of the link lets pass."""

    def cross(train: Sequence[bytes]) -> list[bytes]:
        model = Direction.down(link, 1)
        for number, datagram in enumerate(train):
            model.arrive(number * pace_ns, datagram.ljust(PACKET_BYTES))
        return [frame[: len(train[0])] for _, frame in model.due(10**12)]

    return passing(cross, pace_ns)


def with_sizes(link: Link) -> Callable[[socket.socket], None]:
    """Return a far end like `through`, for packets of the datagrams' own sizes, sent at once."""

    def cross(train: Sequence[bytes]) -> list[bytes]:
        model = Direction.down(link, 1)
        for datagram in train:
            model.arrive(0, datagram.ljust(len(datagram) + HEADERS))
        return [frame[:-HEADERS] for _, frame in model.due(10**13)]

    return passing(cross)


def with_queue_up(link: Link) -> Callable[[socket.socket], None]:
    """Return a far end that answers the requests for which the queue toward the front has room.

    It answers at once, so after a pause the queue is taken to be empty, as it would be if answers came in time.
    """

    def far_end(far: socket.socket) -> None:
        model, last_ns = Direction.up(link, 1), 0
        while True:
            request, near = far.recvfrom(2048)
            number, datagrams, size_bytes = struct.unpack_from("!III", request)
            if not datagrams:
                return
            now_ns = time.monotonic_ns()
            model, last_ns = Direction.up(link, 1) if now_ns > last_ns + 100 * MS else model, now_ns
            dropped = model.counters.dropped
            model.arrive(now_ns, bytes(len(request) + HEADERS))
            if model.queue(now_ns).dropped == dropped:
                far.sendto(struct.pack("!IIQ", number, 0, 0).ljust(size_bytes), near)

    return far_end


def measure(link: Link, choose: Pass) -> Calibration:
    with ends(link, passing(choose)) as near:
        return near.calibrate(ANYTHING)


def test_loopback_is_quick_and_loses_nothing() -> None:
    """On loopback the round trip is short, the whole train comes in order, and the far end ends when asked to."""
    with ends(FAST) as near:
        measured = near.calibrate(ANYTHING)
    assert measured.round_trip_ns is not None
    assert 0 < measured.round_trip_ns < 100 * MS
    assert measured.rate_bit_s is not None or measured.too_fast
    assert measured.queue_packets is None  # nothing was dropped
    assert measured.reordered_packets == 0


def test_an_unlimited_link_is_asked_for_its_round_trip_alone() -> None:
    """On an unlimited link only the round trip is measured, because there is no bottleneck."""
    with ends(UNLIMITED) as near:
        measured, attempts = near.until_within(ANYTHING)
    assert attempts == 1
    assert measured.round_trip_ns is not None
    assert (measured.rate_bit_s, measured.queue_packets, measured.reordered_packets) == (None, None, None)


def test_what_does_not_come_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue's measured size is the number of the train's packets that arrived."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    assert measure(FAST, lambda train: train[:25]).queue_packets == 25


def test_on_a_real_clock_nobody_waits_for_what_was_dropped() -> None:
    """The answer to a later request ends the wait for the rest of a train, long before the near end loses patience."""
    with ends(FAST, passing(lambda train: train[:25])) as near:
        began_s = time.monotonic()
        measured = near.calibrate(ON_REAL_CLOCKS)
        assert time.monotonic() - began_s < 1.5 < near._patience_s(1)
    assert measured.queue_packets == 25


def test_a_train_may_come_after_the_later_request() -> None:
    """A train that the machine delays is measured whole, because the link keeps the order of train and later answer."""

    def paused(train: Sequence[bytes]) -> Iterator[bytes]:
        for number, datagram in enumerate(train[:25]):
            time.sleep(0.5 if number == 20 else 0)
            yield datagram

    with ends(FAST, passing(paused)) as near:
        assert near.calibrate(ON_REAL_CLOCKS).queue_packets == 25


@pytest.mark.parametrize(("reorder", "later"), [(0.0, 1), (0.1, 0)])
def test_a_link_that_changes_the_order_is_given_time(
    reorder: float, later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With REORDER the answer to a later request says nothing about the train, so no such request is sent."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.3)
    asked: list[int] = []

    def without_last(train: Sequence[bytes]) -> Sequence[bytes]:
        asked.append(len(train))
        return train[: max(1, len(train) - 1)]

    with ends(replace(FAST, delay_ns=MS, reorder=reorder), passing(without_last)) as near:
        near.calibrate(ON_REAL_CLOCKS)
    lone, trains = asked.count(1), len(asked) - asked.count(1)
    assert lone == 1 + 5 + later * trains  # the first answer, the round trips, and a request after each train


@pytest.mark.parametrize("pace_ns", [0, 1000, SPACING_NS // 3, SPACING_NS // 2, SPACING_NS * 3 // 4])
def test_a_train_is_made_long_enough(pace_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The train overflows the queue although the bottleneck passes packets meanwhile, and the queue's size is right."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    with ends(SLOW, through(SLOW, pace_ns)) as near:
        measured = near.calibrate(ANYTHING)
    assert (measured.queue_packets, measured.too_fast) == (25, False)


@pytest.mark.parametrize("pace_ns", [SPACING_NS, 2 * SPACING_NS])
def test_a_far_end_no_faster_than_the_link_measures_nothing(pace_ns: int) -> None:
    """If the far end is no faster than the link, neither rate nor queue can be measured, and this is no mismatch."""
    with ends(SLOW, through(SLOW, pace_ns)) as near:
        measured = near.calibrate(ANYTHING)
    assert (measured.rate_bit_s, measured.queue_packets, measured.too_fast) == (None, None, True)
    assert disagreements(SLOW, measured, ANYTHING) == []


def test_a_train_within_what_the_clock_may_be_wrong_by_measures_nothing() -> None:
    """Nothing is measured if the train should take less time than the clock's error, here 1 ms.
    At 1 Gbit/s a full queue takes 0.3 ms. At 8 Mbit/s it takes longer, so a train that comes at once is a mismatch.
    """
    real = replace(ANYTHING, rate=0.05, queue_packets=1, clock_ns=MS)
    with ends(FAST) as near:
        assert near.calibrate(real).too_fast
    with ends(SLOW) as near:
        measured = near.calibrate(real)
    assert not measured.too_fast
    assert "rate_bit_s" in [what for what, _, _ in disagreements(SLOW, measured, real)]


def test_a_link_too_fast_to_measure_must_not_be_a_slow_one() -> None:
    """A train that takes a measurable time is measured, even if the link's configured rate is too high for that."""

    def linger(train: Sequence[bytes]) -> Iterator[bytes]:
        for datagram in train:
            time.sleep(0.002)
            yield datagram

    with ends(FAST, passing(linger)) as near:
        measured = near.calibrate(replace(ANYTHING, rate=0.05, clock_ns=50_000))
    assert not measured.too_fast
    assert measured.rate_bit_s is not None
    assert measured.rate_bit_s < 10_000_000


def test_what_the_near_end_has_no_room_for_was_not_dropped_by_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """A train that overflowed the near end's receive buffer gives no size of the queue."""

    def drowsy(*arguments: Any) -> Any:
        time.sleep(0.02)
        return awake(*arguments)

    awake = select.select
    monkeypatch.setattr(select, "select", drowsy)
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    with ends(SLOW) as near:
        near._near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        assert near.calibrate(ANYTHING).queue_packets is None


def test_the_far_end_may_be_late() -> None:
    """The near end repeats its request until the far end answers, without waiting for its whole time limit."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far,
    ):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as placeholder:
            placeholder.bind(("127.0.0.1", 0))
            address = placeholder.getsockname()

        def arrive() -> None:
            time.sleep(0.25)
            far.bind(address)
            respond(far)

        thread = threading.Thread(target=arrive)
        started_s = time.monotonic()
        thread.start()
        with NearEnd(near, address, UNLIMITED) as end:
            measured, attempts = end.until_within(ANYTHING)
        assert 0.25 <= time.monotonic() - started_s < 1.5
        thread.join(5)
    assert (attempts, measured.round_trip_ns is not None) == (1, True)


def test_a_packet_that_overtakes_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """`reordered_packets` is the number of packets that came after one sent later."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    assert measure(FAST, lambda train: [*train[2:3], *train[:2], *train[3:]]).reordered_packets == 2
    assert measure(FAST, lambda train: train[24::-1]).reordered_packets == 24


def test_nothing_ever_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing comes, every figure is unknown. Calibration is repeated only if the link may lose packets."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.01)
    monkeypatch.setattr("priolab.netem.link_probe._PAUSE_S", 0)
    with ends(FAST, passing(lambda _: [])) as near:
        measured, attempts = near.until_within(ANYTHING)
    assert attempts == 1
    assert (measured.round_trip_ns, measured.rate_bit_s, measured.queue_packets) == (None, None, None)
    with ends(replace(FAST, loss=0.1), passing(lambda _: [])) as near:
        assert near.until_within(ANYTHING)[1] == 5


def test_answers_to_earlier_questions_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A duplicate of an earlier round's packet is not counted in a later round."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    earlier: list[bytes] = []

    def with_duplicates(train: Sequence[bytes]) -> list[bytes]:
        sent = [*earlier, *train[:25]]
        earlier[:] = train[:1]
        return sent

    assert measure(FAST, with_duplicates).queue_packets == 25


def test_a_process_that_wakes_late_does_not_make_the_link_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrival times are the kernel's, so a process that wakes late does not measure a longer round trip."""

    def drowsy(*arguments: Any) -> Any:
        ready = awake(*arguments)
        time.sleep(0.03)
        return ready

    awake = select.select
    monkeypatch.setattr(select, "select", drowsy)
    with ends(UNLIMITED) as near:
        measured = near.calibrate(ANYTHING)
    assert measured.round_trip_ns is not None
    assert measured.round_trip_ns < 30 * MS


def test_nobody_waits_for_a_link_that_has_ended() -> None:
    """Calibration ends as soon as the pipe of the process that shapes the link is closed."""
    reading, writing = os.pipe()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent,
    ):
        silent.bind(("127.0.0.1", 0))
        slow = replace(UNLIMITED, delay_ns=60 * 10**9)
        with NearEnd(near, silent.getsockname(), slow, over=reading) as end:
            threading.Timer(0.2, os.close, [writing]).start()
            began_s = time.monotonic()
            measured, attempts = end.until_within(ANYTHING)
            assert 0.1 < time.monotonic() - began_s < 10
    os.close(reading)
    assert (measured.round_trip_ns, attempts) == (None, 1)


EXACT = Tolerance(rate=0.03, round_trip_ns=10**10, queue_packets=0, clock_ns=0)
IN_BYTES = replace(SLOW, queue_packets=20, queue_bytes=30_720)


def test_a_queue_in_bytes_holds_more_small_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """30,720 bytes hold 20 full-size packets, or 153 of 200 bytes. A queue of 20 packets holds 20 of any size."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    for real, found in ((IN_BYTES, (20, 30_600)), (SLOW, (25, 5000)), (replace(SLOW, queue_packets=20), (20, 4000))):
        with ends(IN_BYTES, with_sizes(real)) as near:
            measured = near.calibrate(EXACT)
        assert (measured.queue_packets, measured.queue_bytes) == found
        differing = [name for name, *_ in disagreements(IN_BYTES, replace(measured, rate_bit_s=8_000_000), EXACT)]
        assert differing == {IN_BYTES: [], SLOW: ["queue_packets", "queue_bytes"]}.get(real, ["queue_bytes"])
    with ends(SLOW, with_sizes(SLOW)) as near:
        measured = near.calibrate(EXACT)
    assert (measured.queue_packets, measured.queue_bytes) == (25, None)
    assert "queue_bytes" not in measured.figures(SLOW)


@pytest.mark.parametrize(("asked", "differing"), [(3200, []), (4800, ["queue_up_packets", "queue_up_bytes"])])
def test_the_queue_toward_the_front(asked: int, differing: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The near end's own trains, full-size and small, fill the queue toward the front."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.2)
    real = Link(rate_bit_s=None, delay_ns=0, rate_up_bit_s=8000, queue_packets=2, queue_up_bytes=3200)
    link = replace(real, queue_packets=asked // PACKET_BYTES, queue_up_bytes=asked)
    with ends(link, with_queue_up(real)) as near:
        monkeypatch.setattr(NearEnd, "_round_trip_ns", lambda *_: MS)
        near._answered = True
        measured = near.calibrate(EXACT)
    assert (measured.queue_up_packets, measured.queue_up_bytes) == (2, 3180)
    assert [name for name, *_ in disagreements(link, measured, EXACT)] == differing
