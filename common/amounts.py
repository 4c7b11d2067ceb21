"""Formats amounts for people: times, rates and sizes. A dash stands for an unknown amount. Pure."""

UNKNOWN = "-"
_SECOND_MS = 1000.0


def seconds(time_ms: float | None) -> str:
    """Formats a time in milliseconds as seconds."""
    return UNKNOWN if time_ms is None else f"{time_ms / 1000:.2f} s"


def milliseconds(time_ms: float | None) -> str:
    """Formats a time in milliseconds, as seconds if it is a second or longer."""
    if time_ms is None:
        return UNKNOWN
    if abs(time_ms) >= _SECOND_MS:
        return seconds(time_ms)
    return f"{time_ms:.0f} ms" if abs(time_ms) >= 10 else f"{time_ms:.1f} ms"


def rate(rate_bit_s: float) -> str:
    """Formats a rate with three or four significant digits."""
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6)):
        if rate_bit_s >= size:
            return f"{rate_bit_s / size:.3g} {unit}"
    return f"{rate_bit_s / 1000:.4g} kbit/s" if rate_bit_s >= 1000 else f"{rate_bit_s:.0f} bit/s"


def kibibytes(size_bytes: float | None) -> str:
    """Formats a size in bytes as KiB."""
    return UNKNOWN if size_bytes is None else f"{size_bytes / 1024:.0f} KiB"


def percent(fraction: float) -> str:
    """Formats a part of a whole, rounded down, so that 100 % means all of it."""
    return f"{int(100 * fraction + 1e-9)}%"


def kilobytes(rate_bit_s: int) -> str:
    """Formats a rate in kilobytes per second, such as `128 kB/s`."""
    return f"{plain(rate_bit_s / 8000)} kB/s"


def plain(number: float, digits: int = 3) -> str:
    """Formats a number with at most `digits` digits after the point, and without an exponent."""
    return f"{number:,.{digits}f}".rstrip("0").rstrip(".")
