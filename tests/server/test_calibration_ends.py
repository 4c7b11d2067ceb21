"""Near and far end back to back over loopback, and far ends that do what links do to datagrams."""

import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from netem import calibration
from netem.calibration import Calibration, NearEnd, Tolerance, respond
from netem.link import Link

MS = 10**6
FAST = Link(rate_bit_s=10**9, delay_ns=0, queue_packets=25)
UNLIMITED = Link(rate_bit_s=None, delay_ns=0)
ANYTHING = Tolerance(rate=10**6, round_trip_ns=10**10, queue_packets=100)

Pass = Callable[[Sequence[bytes]], Sequence[bytes]]


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


def passing(choose: Pass) -> Callable[[socket.socket], None]:
    """A far end whose train goes through `choose` before it is sent."""

    def far_end(far: socket.socket) -> None:
        while True:
            request, near = far.recvfrom(2048)
            number, datagrams, size_bytes = struct.unpack_from("!III", request)
            if not datagrams:
                return
            train = [struct.pack("!II", number, each).ljust(size_bytes) for each in range(datagrams)]
            for datagram in choose(train):
                far.sendto(datagram, near)

    return far_end


def measure(link: Link, choose: Pass) -> Calibration:
    with ends(link, passing(choose)) as near:
        return near.calibrate()


def test_loopback_is_quick_and_loses_nothing() -> None:
    """A round trip is measured, the whole train comes and in order, and the far end goes when it is told."""
    with ends(FAST) as near:
        measured = near.calibrate()
    assert measured.round_trip_ns is not None
    assert 0 < measured.round_trip_ns < 100 * MS
    assert measured.rate_bit_s is not None
    assert measured.queue_packets == FAST.queue_packets + 8
    assert measured.reordered_packets == 0


def test_an_unlimited_link_is_asked_for_its_round_trip_alone() -> None:
    """There is no rate, so there is no bottleneck to measure."""
    with ends(UNLIMITED) as near:
        measured, attempts = near.until_within(ANYTHING)
    assert attempts == 1
    assert measured.round_trip_ns is not None
    assert (measured.rate_bit_s, measured.queue_packets, measured.reordered_packets) == (None, None, None)


def test_what_does_not_come_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue held what came of the train."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.1)
    assert measure(FAST, lambda train: train[:25]).queue_packets == 25


def test_a_packet_that_overtakes_is_counted() -> None:
    """By how many came after one sent later."""
    assert measure(FAST, lambda train: [*train[2:3], *train[:2], *train[3:]]).reordered_packets == 2
    assert measure(FAST, lambda train: train[::-1]).reordered_packets == FAST.queue_packets + 8 - 1


def test_nothing_ever_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure is unknown, and it is not tried again; where packets may be lost it is."""
    monkeypatch.setattr(NearEnd, "_patience_s", lambda *_: 0.01)
    monkeypatch.setattr(calibration, "_PAUSE_S", 0)
    with ends(FAST, passing(lambda _: [])) as near:
        measured, attempts = near.until_within(ANYTHING)
    assert attempts == 1
    assert (measured.round_trip_ns, measured.rate_bit_s, measured.queue_packets) == (None, None, None)
    with ends(replace(FAST, loss=0.1), passing(lambda _: [])) as near:
        assert near.until_within(ANYTHING)[1] == 5


def test_answers_to_earlier_questions_are_ignored() -> None:
    """A duplicate of an earlier round is not counted in a later one."""
    earlier: list[bytes] = []

    def with_duplicates(train: Sequence[bytes]) -> list[bytes]:
        sent = [*earlier, *train]
        earlier[:] = train[:1]
        return sent

    assert measure(FAST, with_duplicates).queue_packets == FAST.queue_packets + 8


def test_a_process_that_wakes_late_does_not_make_the_link_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are the kernel's: what arrived while this process was not running arrived then."""

    def drowsy(*arguments: Any) -> Any:
        ready = awake(*arguments)
        time.sleep(0.03)
        return ready

    awake = select.select
    monkeypatch.setattr(select, "select", drowsy)
    with ends(UNLIMITED) as near:
        measured = near.calibrate()
    assert measured.round_trip_ns is not None
    assert measured.round_trip_ns < 30 * MS
