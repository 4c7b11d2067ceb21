"""Compares LOWAT=auto with fixed values of LOWAT by the mean time of the script's first byte. Pure.

The mean is over several *moments*. A moment is a time for which the origin holds the script back (JS_DELAY).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean

from priolab.analysis.sweeps.auto_vs_fixed import LATER
from priolab.analysis.sweeps.network_knobs import AUTO


@dataclass(frozen=True, kw_only=True)
class MomentMeans:
    """The times of the script's first byte in a network, if the origin holds the script back for several times.

    moments_ms: the times for which the origin holds the script back. first_bytes_ms: for each value of LOWAT, `auto`
    among them, the first byte's time with each of moments_ms. may_be_best: fixed values that cost no goodput.
    record_ms: the transmission time of a TLS record at the link's rate.
    """

    moments_ms: tuple[int, ...]
    first_bytes_ms: Mapping[str, tuple[float, ...]]
    may_be_best: tuple[str, ...]
    record_ms: float

    @property
    def best(self) -> str:
        """The fixed value of LOWAT with the smallest mean time of the script's first byte."""
        return min(self.may_be_best, key=self.mean_ms)

    def mean_ms(self, value: str) -> float:
        """Returns the mean time of the script's first byte with a LOWAT. Raises KeyError if this LOWAT has no runs."""
        return mean(self.first_bytes_ms[value])

    @property
    def ratio(self) -> float:
        """The mean time of the first byte with auto, as a multiple of that with the best fixed value."""
        return self.mean_ms(AUTO) / self.mean_ms(self.best)

    @property
    def is_near(self) -> bool:
        """True if auto's mean is above that of the best fixed value by at most 15 %, or by a TLS record's time."""
        return self.ratio <= 1 + LATER or self.mean_ms(AUTO) - self.mean_ms(self.best) <= self.record_ms

    def sooner(self, value: str) -> int:
        """Returns for how many of moments_ms the script's first byte comes sooner with this LOWAT than with auto."""
        return sum(own < auto for own, auto in zip(self.first_bytes_ms[value], self.first_bytes_ms[AUTO], strict=True))
