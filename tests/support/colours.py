"""Colours as people see them: with full colour vision, and with each kind of colour blindness."""

from collections.abc import Mapping, Sequence
from math import cbrt, dist
from types import MappingProxyType

_Matrix = Sequence[Sequence[float]]

# Linear RGB as colour-blind people see it: Machado, Oliveira and Fernandes, 2009, severity 1.
_VISIONS: Mapping[str, _Matrix] = MappingProxyType(
    {
        "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
        "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
        "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
    }
)
_XYZ: _Matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
_WHITE = (0.9505, 1.0, 1.089)


def difference(one: str, other: str) -> float:
    """Return how far two colours differ in CIELAB for those who can tell them apart least. 2.3 is barely visible."""
    return min(dist(_lab(one, vision), _lab(other, vision)) for vision in _VISIONS.values())


def contrast(one: str, other: str) -> float:
    """Return the ratio of the luminances of two colours, 1 to 21, as WCAG 2.1 defines it."""
    dark, bright = sorted(_times(_XYZ, _linear(colour))[1] for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def _lab(colour: str, vision: _Matrix) -> tuple[float, float, float]:
    inside = [min(1.0, max(0.0, part)) for part in _times(vision, _linear(colour))]
    x, y, z = (_bent(part / white) for part, white in zip(_times(_XYZ, inside), _WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _bent(part: float) -> float:
    return cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116


def _linear(colour: str) -> list[float]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _times(matrix: _Matrix, parts: Sequence[float]) -> list[float]:
    return [sum(factor * part for factor, part in zip(row, parts, strict=True)) for row in matrix]
