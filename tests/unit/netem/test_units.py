"""Tests of rates, times, and sizes in tc's notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.netem.units import (
    format_rate,
    format_time,
    parse_fraction,
    parse_rate_bit_s,
    parse_size_bytes,
    parse_time_ns,
)


@pytest.mark.parametrize(
    ("text", "rate_bit_s"),
    [
        ("128kbps", 1_024_000),
        ("128kbit", 128_000),
        ("1kibit", 1024),
        ("1kibps", 8192),
        ("1mibit", 1024**2),
        ("1.5mbit", 1_500_000),
        (".5gbit", 500_000_000),
        ("100gbit", 100 * 10**9),
        ("9600bit", 9600),
        ("9600bps", 76_800),
        (" 128KBit ", 128_000),
    ],
)
def test_rate(text: str, rate_bit_s: int) -> None:
    """As in tc, `bit` counts bits and `bps` bytes; k is 1000 and ki is 1024."""
    assert parse_rate_bit_s(text) == rate_bit_s


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("300ms", 300_000_000),
        ("0.3s", 300_000_000),
        ("20msec", 20_000_000),
        ("2secs", 2 * 10**9),
        ("5us", 5000),
        ("7usecs", 7000),
        ("1ns", 1),
        ("0", 0),
    ],
)
def test_time(text: str, time_ns: int) -> None:
    """A time has one of tc's units, which only zero may omit."""
    assert parse_time_ns(text) == time_ns


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("30k", 30_720),
        ("30kb", 30_720),
        ("30kib", 30_720),
        ("4M", 4 * 1024**2),
        ("1g", 1024**3),
        ("1500b", 1500),
        ("0.5k", 512),
    ],
)
def test_size(text: str, size_bytes: int) -> None:
    """The units of sizes are powers of 1024, with or without a final `b`."""
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("parse", [parse_rate_bit_s, parse_time_ns, parse_size_bytes])
@pytest.mark.parametrize(
    "text", ["", "128", "12.5", "fast", "-1ms", "1e3ms", "1 kbit", "0x10b", "1,5s", "\u0663ms", "%", "1" * 10**6 + "ms"]
)
def test_refused(parse: object, text: str) -> None:
    """A bare number, a sign, an exponent and an unknown unit are refused."""
    assert callable(parse)
    with pytest.raises(ValueError, match=r"unit"):
        parse(text)


def test_bare_number_is_told_apart_from_a_wrong_unit() -> None:
    """The error tells a missing unit from an unknown one."""
    with pytest.raises(ValueError, match="it has no unit"):
        parse_rate_bit_s("128")
    with pytest.raises(ValueError, match="'ms' is not one of the units"):
        parse_rate_bit_s("128ms")


@pytest.mark.parametrize(("text", "fraction"), [("1%", 0.01), ("0.25%", 0.0025), ("50%", 0.5), ("0", 0.0), ("0%", 0.0)])
def test_fraction(text: str, fraction: float) -> None:
    """A percentage becomes a fraction."""
    assert parse_fraction(text) == pytest.approx(fraction)


@pytest.mark.parametrize("text", ["1", "0.01", "1pct", "-1%", "1%%"])
def test_percentage_needs_its_sign(text: str) -> None:
    """A percentage without a percent sign is refused, because it is ambiguous."""
    with pytest.raises(ValueError, match=r"percent sign|number"):
        parse_fraction(text)


@given(st.integers(min_value=1, max_value=10**9))
def test_a_byte_rate_is_eight_bit_rates(number: int) -> None:
    """`bps` is eight times `bit`, with every prefix."""
    for prefix in ("", "k", "ki", "m", "mi", "g", "gi"):
        assert parse_rate_bit_s(f"{number}{prefix}bps") == 8 * parse_rate_bit_s(f"{number}{prefix}bit")


@given(st.integers(min_value=0, max_value=10**12))
def test_times_agree_across_units(number: int) -> None:
    """A time is exactly the same number of nanoseconds in every unit."""
    assert parse_time_ns(f"{number}ms") == parse_time_ns(f"{number}000us") == parse_time_ns(f"{number}000000ns")


@pytest.mark.parametrize(
    ("rate_bit_s", "text"),
    [
        (1_024_000, "1,024 kbit/s = 128 kB/s"),
        (128_000, "128 kbit/s = 16 kB/s"),
        (1000, "1 kbit/s = 0.125 kB/s"),
        (1024**2, "1,048.576 kbit/s = 131.072 kB/s"),
        (100 * 10**6, "100,000 kbit/s = 12,500 kB/s"),
        (100 * 10**9, "100,000,000 kbit/s = 12,500,000 kB/s"),
    ],
)
def test_format_rate(rate_bit_s: int, text: str) -> None:
    """A rate is shown in kilobits and in kilobytes, never with an exponent."""
    assert format_rate(rate_bit_s) == text


def test_format_time() -> None:
    """A time is shown in milliseconds, without needless digits and never with an exponent."""
    assert [format_time(300_000_000), format_time(1_500_000), format_time(0)] == ["300 ms", "1.5 ms", "0 ms"]
    assert [format_time(60 * 10**9), format_time(10)] == ["60,000 ms", "0.00001 ms"]
