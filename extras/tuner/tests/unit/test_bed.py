"""The tuner's bed: its table, from given samples."""

import pytest

from priolab.extras.tuner.bed import ARMS, RATE_BYTES_S, law_bytes, read, table
from priolab.proxy.tuner.in_kernel import Rule

_KB = 1000


def test_the_laws_value() -> None:
    """Of 50 ms at the rate of payload, a packet buffer is taken away."""
    assert law_bytes(Rule()) == RATE_BYTES_S * 0.05 - 65536 == pytest.approx(54_015, abs=1)


def test_a_table() -> None:
    """Medians, percentiles, and the shares of time above twice the law; a line that was cut off is left out."""
    lines = [f"1 20000 {54 * _KB} {24 * _KB} 100\n"] * 99 + [f"1 20000 {1000 * _KB} {500 * _KB} 4\n"] * 101
    samples = read("".join(lines) + "1 20000 9")
    assert len(samples) == 200
    (arm, *_) = ARMS
    (row,) = table({arm: samples}).rows
    assert row == (arm, "1000, 1000 KB", "446, 446 ms", "209, 209 ms", "50.5%", "50.5%")
