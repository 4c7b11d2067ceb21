"""Numbers of the figures in words. Pure."""


def plain(number: float) -> str:
    """Three digits behind the point at most, and never an exponent."""
    return f"{number:,.3f}".rstrip("0").rstrip(".")


def kilobytes(rate_bit_s: int) -> str:
    """A rate: `128 kB/s`."""
    return f"{plain(rate_bit_s / 8000)} kB/s"
