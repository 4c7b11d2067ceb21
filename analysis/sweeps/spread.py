"""What "no difference" means in a network: the spread of an A/A pair. Pure.

1. The pair is one scenario run twice with different seeds. Its spread is how many times larger a median within the
   interval of one can be than a median within the interval of the other: so far apart two medians can be for no reason.
2. It is a ratio, because the spread grows with what is measured: a wait is bytes over a rate, and chance is in the
   rate. A pair whose waits of 7 s and 2 s are 5 s apart does not say that 0.5 s and 2 s are the same. However large it
   is, something can be told apart: a distance, or a part of the larger value, can be as large as all that is measured.
3. Nothing finer counts than what means anything at all (`measures.grains`: a TLS record, or the clock's step). Runs
   that repeat to the byte, as the guest's do without loss, have no spread, and still no finer meaning. And what is less
   than the grain counts as the grain in a ratio: of two such values neither is twice the other.
4. Two estimates differ measurably if the larger median is more times the smaller one than the ratio, further from it
   than the grain, and their intervals have nothing in common. All else is reported as "no difference".
5. Without a pair the grain alone counts, and that there was no pair is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Self

from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Network


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of one measure in one network. amount, ratio: the largest distance, and the largest ratio; None without a pair.

    ratio: 1 or more; infinite where one half may be nothing, there is no grain, and the other is something.
    repetitions: of either half.
    """

    grain: float
    amount: float | None = None
    ratio: float | None = None
    repetitions: tuple[int, int] | None = None

    @classmethod
    def of(cls, pair: tuple[Estimate, Estimate] | None, grain: float) -> Self:
        """Of the two halves of a pair."""
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
        """By how much of the larger value the smaller one is less; None without a pair."""
        return None if self.ratio is None else 1 - 1 / self.ratio

    def are_apart(self, one: float, other: float) -> bool:
        """Whether two medians are further apart than for no reason."""
        smaller, larger = sorted((one, other))
        return larger - smaller > self.grain and _times(larger, smaller, self.grain) > (self.ratio or 1.0)

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """From and to where medians are that are not apart from all of those between low and high: see `are_apart`."""
        ratio = self.ratio or 1.0
        least = low / ratio if low / ratio > self.grain else 0.0
        most = inf if ratio == inf else ratio * max(high, self.grain)
        return max(0.0, min(least, low - self.grain)), max(most, high + self.grain)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """By how much one median is more than another, and whether that is a difference."""

    amount: float
    is_measurable: bool

    @property
    def is_more(self) -> bool:
        """Measurably."""
        return self.is_measurable and self.amount > 0

    @property
    def is_less(self) -> bool:
        """Measurably."""
        return self.is_measurable and self.amount < 0


def spreads(network: Network) -> Mapping[Measure, Spread]:
    """Of everything that is measured in a network."""
    found: dict[Measure, Spread] = {}
    for measure in Measure:
        halves = [half.estimates.get(measure) for half in network.pair or ()]
        known = [half for half in halves if half is not None]
        pair = (known[0], known[1]) if len(known) == 2 else None
        found[measure] = Spread.of(pair, network.grains.get(measure, 0.0))
    return found


def difference(one: Estimate, other: Estimate, spread: Spread) -> Difference:
    """One against another."""
    amount = one.median - other.median
    nothing_in_common = one.low > other.high or one.high < other.low
    return Difference(amount=amount, is_measurable=nothing_in_common and spread.are_apart(one.median, other.median))


def _times(larger: float, smaller: float, grain: float) -> float:
    """How many times larger."""
    larger, smaller = max(larger, grain), max(smaller, grain)
    if larger <= smaller:
        return 1.0
    return larger / smaller if smaller else inf
