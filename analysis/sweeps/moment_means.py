"""First bytes with the script at several moments: the means of LOWAT=auto and of fixed values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean

from analysis.sweeps.networks import AUTO
from analysis.sweeps.steered import LATER


@dataclass(frozen=True, kw_only=True)
class MomentMeans:
    """A network with the script at several moments: first bytes by value and moment, auto among the values.

    may_be_best: fixed values that cost no goodput. record_ms: the time of a TLS record at the link's rate.
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
        """The value's mean over all moments. Raises KeyError."""
        return mean(self.first_bytes_ms[value])

    @property
    def ratio(self) -> float:
        """The ratio of auto's mean to the best fixed value's."""
        return self.mean_ms(AUTO) / self.mean_ms(self.best)

    @property
    def is_near(self) -> bool:
        """True if auto's mean is near."""
        return self.ratio <= 1 + LATER or self.mean_ms(AUTO) - self.mean_ms(self.best) <= self.record_ms

    def sooner(self, value: str) -> int:
        """The number of moments at which a value is sooner than auto."""
        return sum(own < auto for own, auto in zip(self.first_bytes_ms[value], self.first_bytes_ms[AUTO], strict=True))
