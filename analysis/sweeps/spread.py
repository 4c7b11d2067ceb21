"""What "no difference" means in a network: the spread of an A/A pair. Pure.

1. The pair is one scenario run twice with different seeds. Its spread is the largest distance between a median within
   the interval of one and a median within the interval of the other: how far apart two medians can be for no reason.
2. The spread grows with what is measured: a wait is bytes over a rate, and chance is in the rate. So it is a part, of
   the pair's larger median, and of whatever is compared with it: a pair whose waits of 7 s are 5 s apart does not say
   that 0.5 s and 2 s are the same. Compared with the pair's own value it is the distance that was seen.
3. The band is that, but no less than what means anything at all (`measures.grains`: a TLS record, or the clock's step).
   Runs that repeat to the byte, as the guest's do without loss, have no spread, and still no finer meaning.
4. Two estimates differ measurably if their medians are further apart than the band of the larger one, and their
   intervals have nothing in common. All else is reported as "no difference".
5. Without a pair the band is what means anything, and that there was no pair is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Network


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of one measure in one network. amount, part: as seen, and of the pair's larger median; None without a pair.

    repetitions: of either half.
    """

    grain: float
    amount: float | None = None
    part: float | None = None
    repetitions: tuple[int, int] | None = None

    @classmethod
    def of(cls, pair: tuple[Estimate, Estimate] | None, grain: float) -> Self:
        """Of the two halves of a pair."""
        if pair is None:
            return cls(grain=grain)
        one, other = pair
        amount = max(one.high - other.low, other.high - one.low)
        median = max(one.median, other.median)
        return cls(
            grain=grain,
            amount=amount,
            part=amount / median if median else 0.0,
            repetitions=(one.repetitions, other.repetitions),
        )

    def band(self, value: float) -> float:
        """What is no difference from a value, toward less."""
        return max((self.part or 0.0) * value, self.grain)


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
    are_apart = one.low > other.high or one.high < other.low
    return Difference(
        amount=amount, is_measurable=are_apart and abs(amount) > spread.band(max(one.median, other.median))
    )
