"""Parses rates, times and sizes in the notation of tc(8) into whole numbers.

Two rules are stricter than tc's, so that a forgotten unit is noticed. A number without a unit is refused; tc would
silently read the number as bits per second or microseconds. A percentage needs the percent sign.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from priolab.common.amounts import kilobytes, plain

_LONGEST = 100  # the most characters of a value
_NUMBER = re.compile(r"(\d+(?:\.\d+)?|\.\d+)([a-z%]*)", re.ASCII)

_PREFIXES = {
    "": 1,
    **{letter: 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("kmgt", start=1)},
}
# tc: "bit" counts bits, "bps" counts bytes; the prefix k is 1000, ki is 1024.
_RATE_UNITS = {
    f"{prefix}{unit}": factor * bits for prefix, factor in _PREFIXES.items() for unit, bits in (("bit", 1), ("bps", 8))
}
_TIME_UNITS = {
    alias: factor
    for aliases, factor in (
        (("s", "sec", "secs"), 10**9),
        (("ms", "msec", "msecs"), 10**6),
        (("us", "usec", "usecs"), 10**3),
        (("ns", "nsec", "nsecs"), 1),
    )
    for alias in aliases
}
# tc: sizes count in powers of 1024, with and without the b.
_SIZE_UNITS = {"b": 1} | {
    f"{prefix}{unit}": 1024**power for power, prefix in enumerate("kmg", start=1) for unit in ("", "b", "ib")
}


def _split(text: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text.strip().lower())
    if match is None or len(text) > _LONGEST:
        raise ValueError("not a number with a unit")
    return Fraction(Decimal(match[1])), match[2]


def _in_units(text: str, units: dict[str, int]) -> int:
    number, unit = _split(text)
    if unit not in units and (unit or number):
        raise ValueError("it has no unit" if not unit else f"'{unit}' is not one of the units")
    return round(number * units.get(unit, 1))


UNITS_OF_RATES: Mapping[str, int] = MappingProxyType(_RATE_UNITS)
"""The units of rates, in bits per second."""


def parse_rate_bit_s(text: str) -> int:
    """Returns the bits per second of a tc rate: `128kbps` is 1_024_000, `128kbit` is 128_000. Raises ValueError."""
    return _in_units(text, _RATE_UNITS)


def parse_time_ns(text: str) -> int:
    """Returns the nanoseconds of a tc time such as `300ms` or `0.3s`; `0` needs no unit. Raises ValueError."""
    return _in_units(text, _TIME_UNITS)


def parse_size_bytes(text: str) -> int:
    """Returns the bytes of a tc size with a unit: `30k` and `30kb` are 30_720, `1500b` is 1_500. Raises ValueError."""
    return _in_units(text, _SIZE_UNITS)


def parse_number(text: str) -> Fraction:
    """Returns a number without a unit, such as `2` or `.5`. Raises ValueError."""
    number, unit = _split(text)
    if unit:
        raise ValueError(f"'{unit}' after the number")
    return number


def parse_fraction(text: str) -> float:
    """Returns a percentage as a fraction: `1%` is 0.01. Raises ValueError."""
    number, unit = _split(text)
    if unit != "%" and number:
        raise ValueError("it has no percent sign")
    if number > 100:
        raise ValueError("more than 100%")
    return float(number / 100)


def format_rate(rate_bit_s: int) -> str:
    """Formats a rate in kbit/s and in kB/s, so that nobody takes one for the other: `1,024 kbit/s = 128 kB/s`."""
    return f"{plain(rate_bit_s / 1000)} kbit/s = {kilobytes(rate_bit_s)}"


def format_time(time_ns: int) -> str:
    """Formats a time in milliseconds, without needless digits: `300 ms`."""
    return f"{plain(time_ns / 10**6, 6)} ms"
