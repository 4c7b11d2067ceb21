"""Tests of an arrival's time on the monotonic clock: the kernel's real-time stamp, or the time of the read instead."""

import socket
import struct
import time

import pytest

from priolab.common import arrival

REAL_NS = 1_700_000_000_000_000_000
NOW_NS = 5_000_000_000
OLDEST_NS = 10**6
SO_TIMESTAMPNS = 35


@pytest.mark.parametrize("age_ns", [0, 1, OLDEST_NS])
def test_a_stamp_is_as_old_as_it_says(age_ns: int) -> None:
    """The arrival is the time of the read less the stamp's age on the real-time clock."""
    assert arrival.believed_ns(REAL_NS - age_ns, REAL_NS, NOW_NS, OLDEST_NS) == NOW_NS - age_ns


@pytest.mark.parametrize("age_ns", [-1, -(10**18), OLDEST_NS + 1, REAL_NS])
def test_a_stamp_that_cannot_be_is_not_believed(age_ns: int) -> None:
    """A stamp from the future or older than `oldest_ns` is replaced by the time of the read."""
    assert arrival.believed_ns(REAL_NS - age_ns, REAL_NS, NOW_NS, OLDEST_NS) == NOW_NS


def test_the_stamp_is_found_among_other_ancillary_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ancillary data of other levels or types is ignored. Without a stamp, the time of the read is used."""
    monkeypatch.setattr(time, "time_ns", lambda: REAL_NS)
    monkeypatch.setattr(time, "monotonic_ns", lambda: NOW_NS)
    stamp = struct.pack("@qq", *divmod(REAL_NS - 700, 10**9))
    others = [(socket.SOL_SOCKET, socket.SO_TYPE, b"1234"), (socket.IPPROTO_IP, SO_TIMESTAMPNS, b"")]
    assert arrival.arrival_ns([*others, (socket.SOL_SOCKET, SO_TIMESTAMPNS, stamp)], OLDEST_NS) == NOW_NS - 700
    assert arrival.arrival_ns(others, OLDEST_NS) == NOW_NS


def test_a_stamp_that_is_not_believed_says_how_long_it_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a stamp is implausible, the arrival is the time of the read, and the stamp's age is still returned.
    Without a stamp the age is None.
    """
    monkeypatch.setattr(time, "time_ns", lambda: REAL_NS)
    monkeypatch.setattr(time, "monotonic_ns", lambda: NOW_NS)
    stamp = struct.pack("@qq", *divmod(REAL_NS - 15_000_000, 10**9))
    found = arrival.arrival_and_age_ns([(socket.SOL_SOCKET, SO_TIMESTAMPNS, stamp)], OLDEST_NS)
    assert found == (NOW_NS, 15_000_000)
    assert arrival.arrival_and_age_ns([], OLDEST_NS) == (NOW_NS, None)
