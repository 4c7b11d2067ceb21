"""Computes the noise band of a network from its A/A pair: a difference within the band may be chance. Pure.

1. The pair is two arms of the same scenario with different seeds. Each arm is a half of the pair. The pair's spread is
   the largest ratio between a median in the interval of one half and a median in the interval of the other half. Two
   medians can differ by this ratio by chance alone.
2. The spread is a ratio, because it grows with the measured value: a wait is bytes over a rate, and chance affects the
   rate. For example, the halves of a pair wait 7 s and 2 s. Their distance is 5 s and their ratio 3.5. 0.5 s and 2 s
   have the ratio 4, so they still differ, though their distance is smaller than 5 s. A distance, or a fraction of the
   larger value, could cover all values. A ratio always leaves some values distinguishable.
3. No difference below the grain counts (the time of a TLS record, or the clock's step). Runs that repeat to the
   byte, such as the guest's without loss, have no spread, but they are no more exact than the grain. In a ratio, a
   value below the grain counts as the grain, so two such values have the ratio 1.
4. Two estimates differ measurably if the ratio of their medians exceeds the pair's spread, the medians are further
   apart than the grain, and the intervals do not overlap. Otherwise "no difference" is reported.
5. Without a pair only the grain counts, and the report says that there was no pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Self

from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Network


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The spread of a measure in a network.

    amount, ratio: the largest distance and the largest ratio by which a median of one half of the A/A pair may differ
    from a median of the other half; None without a pair. The ratio is 1 or more. It is infinite if the median of one
    half may be 0, the median of the other half is not 0, and the grain is 0. repetitions: the number of repetitions of
    each half.
    """

    grain: float
    amount: float | None = None
    ratio: float | None = None
    repetitions: tuple[int, int] | None = None

    @classmethod
    def of(cls, pair: tuple[Estimate, Estimate] | None, grain: float) -> Self:
        """Computes the spread of a measure from its estimates in the two halves of a pair; None: there is no pair."""
        if pair is None:
            return cls(grain=grain)
        one, other = pair
        return cls(
            grain=grain,
            amount=max(one.high - other.low, other.high - one.low),
            ratio=max(_times(one.high, other.low, grain), _times(other.high, one.low, grain)),
            repetitions=(one.repetitions, other.repetitions),
        )

    @property
    def part(self) -> float | None:
        """The spread as a fraction: how far the smaller of two medians may be below the larger one by chance.

        A spread of 0.2 means 20 % below, which is a ratio of 1.25 between the medians. None without an A/A pair.
        """
        return None if self.ratio is None else 1 - 1 / self.ratio

    def are_apart(self, one: float, other: float) -> bool:
        """True if two medians are further apart than the noise band."""
        smaller, larger = sorted((one, other))
        return larger - smaller > self.grain and _times(larger, smaller, self.grain) > (self.ratio or 1.0)

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Returns the range from low to high, widened at both ends by the noise band."""
        ratio = self.ratio or 1.0
        least = low / ratio if low / ratio > self.grain else 0.0
        most = inf if ratio == inf else ratio * max(high, self.grain)
        return max(0.0, min(least, low - self.grain)), max(most, high + self.grain)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The difference of two medians. amount: the first median less the second.

    is_measurable: True if the medians are further apart than the noise band, and their intervals do not overlap.
    """

    amount: float
    is_measurable: bool

    @property
    def is_more(self) -> bool:
        """True if the first median is measurably larger."""
        return self.is_measurable and self.amount > 0

    @property
    def is_less(self) -> bool:
        """True if the first median is measurably smaller."""
        return self.is_measurable and self.amount < 0


def spreads(network: Network) -> Mapping[Measure, Spread]:
    """Returns the spread of each measure in a network."""
    found: dict[Measure, Spread] = {}
    for measure in Measure:
        halves = [half.estimates.get(measure) for half in network.pair or ()]
        known = [half for half in halves if half is not None]
        pair = (known[0], known[1]) if len(known) == 2 else None
        found[measure] = Spread.of(pair, network.grains.get(measure, 0.0))
    return found


def difference(one: Estimate, other: Estimate, spread: Spread) -> Difference:
    """Returns the difference of two estimates of a measure: `one` less `other`. spread: the measure's spread."""
    amount = one.median - other.median
    nothing_in_common = one.low > other.high or one.high < other.low
    return Difference(amount=amount, is_measurable=nothing_in_common and spread.are_apart(one.median, other.median))


def _times(larger: float, smaller: float, grain: float) -> float:
    """Returns the ratio of two values, at least 1; values below the grain count as the grain."""
    larger, smaller = max(larger, grain), max(smaller, grain)
    if larger <= smaller:
        return 1.0
    return larger / smaller if smaller else inf
