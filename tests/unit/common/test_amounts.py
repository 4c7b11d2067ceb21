"""Tests of amounts in words."""

import pytest

from priolab.common.amounts import kibibytes, kilobytes, milliseconds, plain, rate, seconds


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (seconds(2960), "2.96 s"),
        (seconds(None), "-"),
        (milliseconds(999.6), "1000 ms"),
        (milliseconds(1000), "1.00 s"),
        (milliseconds(9.94), "9.9 ms"),
        (milliseconds(-12.3), "-12 ms"),
        (milliseconds(None), "-"),
        (rate(1_024_000), "1.02 Mbit/s"),
        (rate(2.5e9), "2.5 Gbit/s"),
        (rate(128_000), "128 kbit/s"),
        (rate(56), "56 bit/s"),
        (kibibytes(46_080), "45 KiB"),
        (kibibytes(None), "-"),
        (kilobytes(1_024_000), "128 kB/s"),
        (plain(1234.5000), "1,234.5"),
        (plain(0.0000001, 6), "0"),
    ],
)
def test_amounts(made: str, words: str) -> None:
    """An amount has its unit, no needless digits, and a dash if it is unknown."""
    assert made == words
