"""The kernel's time stamps on the monotonic clock: which are believed, and what stands for those that are not."""

import socket
import struct
import time

import pytest

from common import arrival

REAL_NS = 1_700_000_000_000_000_000
NOW_NS = 5_000_000_000
OLDEST_NS = 10**6
SO_TIMESTAMPNS = 35


@pytest.mark.parametrize("age_ns", [0, 1, OLDEST_NS])
def test_a_stamp_is_as_old_as_it_says(age_ns: int) -> None:
    """Its age on the one clock is its age on the other."""
    assert arrival.believed_ns(REAL_NS - age_ns, REAL_NS, NOW_NS, OLDEST_NS) == NOW_NS - age_ns


@pytest.mark.parametrize("age_ns", [-1, -(10**18), OLDEST_NS + 1, REAL_NS])
def test_a_stamp_that_cannot_be_is_not_believed(age_ns: int) -> None:
    """From the future, or older than the reader can explain: the time of the read stands."""
    assert arrival.believed_ns(REAL_NS - age_ns, REAL_NS, NOW_NS, OLDEST_NS) == NOW_NS


def test_the_stamp_is_found_among_other_ancillary_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is of another level or kind is passed over; without a stamp the time of the read stands."""
    monkeypatch.setattr(time, "time_ns", lambda: REAL_NS)
    monkeypatch.setattr(time, "monotonic_ns", lambda: NOW_NS)
    stamp = struct.pack("@qq", *divmod(REAL_NS - 700, 10**9))
    others = [(socket.SOL_SOCKET, socket.SO_TYPE, b"1234"), (socket.IPPROTO_IP, SO_TIMESTAMPNS, b"")]
    assert arrival.arrival_ns([*others, (socket.SOL_SOCKET, SO_TIMESTAMPNS, stamp)], OLDEST_NS) == NOW_NS - 700
    assert arrival.arrival_ns(others, OLDEST_NS) == NOW_NS


def test_a_stamp_that_is_not_believed_says_how_long_it_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the read stands for the arrival; the stamp's age is told all the same, and none without a stamp."""
    monkeypatch.setattr(time, "time_ns", lambda: REAL_NS)
    monkeypatch.setattr(time, "monotonic_ns", lambda: NOW_NS)
    stamp = struct.pack("@qq", *divmod(REAL_NS - 15_000_000, 10**9))
    found = arrival.arrival_and_age_ns([(socket.SOL_SOCKET, SO_TIMESTAMPNS, stamp)], OLDEST_NS)
    assert found == (NOW_NS, 15_000_000)
    assert arrival.arrival_and_age_ns([], OLDEST_NS) == (NOW_NS, None)
