"""Formats numbers for figures. Pure."""


def plain(number: float) -> str:
    """Formats a number with at most three digits after the point, and without an exponent."""
    return f"{number:,.3f}".rstrip("0").rstrip(".")


def kilobytes(rate_bit_s: int) -> str:
    """Formats a rate in kilobytes per second, such as `128 kB/s`."""
    return f"{plain(rate_bit_s / 8000)} kB/s"
