"""The knee of a network: which LOWAT to set. Pure.

1. A value of which no run is ok takes no part.
2. Goodput is measured against LOWAT unset; if nothing is known of that, against the largest fixed value, and it is
   said. A value whose goodput is measurably less is out. `falls_at` is the first such value, coming from unset.
3. Of the rest, the best is the one with the soonest script first byte.
4. Recommended is the largest one, unset being larger than any, whose script first byte is not measurably later than the
   best one's. The largest, because a smaller value cannot be seen to bring anything, and wakes the front up more often.
5. On the front of trade-offs is every value, measured in script first byte, goodput and the front's processor time
   (where that is known), than which no other is measurably better in one of them and measurably worse in none.

What is measurable, `spread` says. LOWAT=auto takes no part: it is judged against the result (`steered`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Level, Network
from analysis.sweeps.spread import Difference, Spread, difference, spreads


@dataclass(frozen=True, kw_only=True)
class Knee:
    """recommended, best: None if nothing is known of any value. reference: what goodput was measured against.

    falls_at: None if goodput falls measurably at none of the values that were tried. front: smallest first.
    """

    reference: Level | None
    best: Level | None
    recommended: Level | None
    falls_at: Level | None
    front: tuple[Level, ...]
    spreads: Mapping[Measure, Spread]

    def against(self, level: Level, other: Level, measure: Measure) -> Difference:
        """One value against another. Raises KeyError if it was not measured of both."""
        return difference(level.estimate(measure), other.estimate(measure), self.spreads[measure])


def find(network: Network) -> Knee:
    """The knee of a network."""
    bands = spreads(network)
    tried = [*network.fixed, *([network.unset] if network.unset else [])]
    reference = tried[-1] if tried else None
    kept: list[Level] = []
    fallen: list[Level] = []
    for level in tried:
        assert reference is not None
        gain = difference(level.estimate(Measure.GOODPUT), reference.estimate(Measure.GOODPUT), bands[Measure.GOODPUT])
        (fallen if gain.is_less else kept).append(level)
    best = min(kept, key=lambda level: level.estimate(Measure.FIRST_BYTE).median, default=None)
    return Knee(
        reference=reference,
        best=best,
        recommended=_largest_as_good(kept, best, bands[Measure.FIRST_BYTE]) if best else None,
        falls_at=fallen[-1] if fallen else None,
        front=tuple(_front(tried, bands)),
        spreads=bands,
    )


def _largest_as_good(kept: Sequence[Level], best: Level, spread: Spread) -> Level:
    soonest = best.estimate(Measure.FIRST_BYTE)
    return [level for level in kept if not difference(level.estimate(Measure.FIRST_BYTE), soonest, spread).is_more][-1]


_LESS_IS_BETTER = {Measure.FIRST_BYTE: True, Measure.GOODPUT: False, Measure.CPU: True}


def _front(tried: Sequence[Level], bands: Mapping[Measure, Spread]) -> Iterator[Level]:
    for level in tried:
        if not any(map(partial(_is_beaten, level, bands), tried)):
            yield level


def _is_beaten(level: Level, bands: Mapping[Measure, Spread], by: Level) -> bool:
    better = worse = False
    for measure, less_is_better in _LESS_IS_BETTER.items():
        own, other = level.estimates.get(measure), by.estimates.get(measure)
        if own is None or other is None:
            continue
        found = difference(other, own, bands[measure])
        better |= found.is_less if less_is_better else found.is_more
        worse |= found.is_more if less_is_better else found.is_less
    return better and not worse
