"""Tests of the rate of acknowledged bytes in the last round trip, from samples at other intervals."""

import pytest

from priolab.proxy.tuner.userland import _Connection

_MS = 10**6
_RTT_US = 100_000


def _rates(looks: list[tuple[int, int]], rtt_us: int = _RTT_US) -> list[int]:
    """Return the rates after each sample. looks: (ms, bytes acknowledged by then)."""
    connection = _Connection(pid=1, descriptor=1, peer=("192.0.2.1", 1), port=443)
    return [connection.acknowledged(acked_bytes, rtt_us, t_ms * _MS) for t_ms, acked_bytes in looks]


def test_no_rate_before_a_round_trip() -> None:
    """Less than a round trip gives no rate, because a whole window may be acknowledged at once."""
    assert _rates([(0, 1_000), (50, 50_000), (99, 60_000)]) == [0, 0, 0]


def test_the_window_slides() -> None:
    """The rate covers the last round trip, or as little more as the samples allow."""
    looks = [(0, 0), (50, 1_000), (100, 2_000), (150, 3_000), (200, 53_000), (260, 103_000), (340, 103_000)]
    expected = [0, 0, 20_000, 20_000, 510_000, (103_000 - 3_000) * 1000 // 110, (103_000 - 53_000) * 1000 // 140]
    assert _rates(looks) == expected


def test_looks_further_apart_than_a_round_trip() -> None:
    """If samples are more than a round trip apart, each is compared with the one before."""
    assert _rates([(0, 0), (300, 30_000), (600, 90_000)]) == [0, 100_000, 200_000]


def test_a_round_trip_that_grows() -> None:
    """The last rate stays until a sample is old enough, so that no rate covers less than a round trip."""
    connection = _Connection(pid=1, descriptor=1, peer=("192.0.2.1", 1), port=443)
    rates = [
        connection.acknowledged(acked_bytes, rtt_ms * 1000, t_ms * _MS)
        for t_ms, acked_bytes, rtt_ms in [
            (0, 0, 20),
            (20, 2_000, 20),
            (40, 4_000, 20),
            (60, 4_000, 500),
            (540, 8_000, 500),
        ]
    ]
    assert rates == [0, 100_000, 100_000, 100_000, 8_000]


def test_bytes_that_fall() -> None:
    """The number of selectively acknowledged bytes may shrink. The rate is not negative then."""
    assert _rates([(0, 10_000), (100, 9_000), (200, 19_000)]) == [0, 0, 100_000]


def test_the_highest_rate_stays() -> None:
    """The highest rate of bytes is kept through slower times. A rate known from elsewhere counts, too."""
    connection = _Connection(pid=1, descriptor=1, peer=("192.0.2.1", 1), port=443)
    for t_ms, acked_bytes in ((0, 0), (100, 50_000), (200, 51_000)):
        connection.acknowledged(acked_bytes, _RTT_US, t_ms * _MS)
    assert (connection.acked_rate_bytes_s, connection.highest_rate_bytes_s) == (10_000, 500_000)
    connection.has_had(700_000)
    assert connection.highest_rate_bytes_s == 700_000


@pytest.mark.parametrize("rtt_us", [0, 1])
def test_no_round_trip_known(rtt_us: int) -> None:
    """Without a known round trip the rate covers the time between two samples."""
    assert _rates([(0, 0), (1, 1_000)], rtt_us) == [0, 1_000_000]
