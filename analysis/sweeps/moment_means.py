"""Compares LOWAT=auto with fixed values on the mean first byte of scripts at several moments. Pure.

A moment is the time for which the origin holds the script back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean

from analysis.sweeps.network_knobs import AUTO
from analysis.sweeps.steered import LATER


@dataclass(frozen=True, kw_only=True)
class MomentMeans:
    """The first bytes of the script in a network, with the script at several moments.

    first_bytes_ms: for each value of LOWAT, `auto` among them, a first byte per moment. may_be_best: fixed values that
    cost no goodput. record_ms: the time of a TLS record at the link's rate.
    """

    moments_ms: tuple[int, ...]
    first_bytes_ms: Mapping[str, tuple[float, ...]]
    may_be_best: tuple[str, ...]
    record_ms: float

    @property
    def best(self) -> str:
        """The fixed value with the smallest mean."""
        return min(self.may_be_best, key=self.mean_ms)

    def mean_ms(self, value: str) -> float:
        """Returns the mean time of the script's first byte with a LOWAT. Raises KeyError if it was not measured."""
        return mean(self.first_bytes_ms[value])

    @property
    def ratio(self) -> float:
        """The mean of auto as a multiple of the mean of the best fixed value."""
        return self.mean_ms(AUTO) / self.mean_ms(self.best)

    @property
    def is_near(self) -> bool:
        """True if auto's mean is near that of the best fixed value, by the limits of `steered`."""
        return self.ratio <= 1 + LATER or self.mean_ms(AUTO) - self.mean_ms(self.best) <= self.record_ms

    def sooner(self, value: str) -> int:
        """Returns the number of moments at which the first byte comes sooner with a value than with auto."""
        return sum(own < auto for own, auto in zip(self.first_bytes_ms[value], self.first_bytes_ms[AUTO], strict=True))
