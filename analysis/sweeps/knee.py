"""The knee of a network: the LOWAT to set. Pure.

1. A value takes no part if none of its runs is ok, or too few are (`networks`, rule 5).
2. Goodput is compared with that of LOWAT unset; if too little is known of that, with that of the largest fixed value,
   and this is said. If there is only that value, nothing is known of goodput. `falls_at` is the first value, coming
   from unset, whose goodput is measurably less. A value is out if its goodput is measurably less and by more than 1 %:
   a careful measurement finds differences too small to matter to anyone.
3. The best of the rest is the one with the soonest script first byte.
4. The recommended value is the largest, with unset as larger than any, whose script first byte is not measurably later
   than the best one's. The largest, because a smaller one has no visible benefit and wakes the front more often.
5. One value beats another if it is measurably better in one and measurably worse in none of these: script first byte,
   goodput, and the front's processor time (if known). "No difference" is not transitive (two small steps may add up to
   a difference), so values can beat each other in a circle, and all may be beaten. So the front of trade-offs has every
   value that beats, directly or through others, each value that beats it so: as a rule the unbeaten values, else those
   of a circle that no value outside beats (the Schwartz set). It is never empty.

`spread` tells what is measurable. LOWAT=auto takes no part: it is judged against the result (`steered`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Level, Network
from analysis.sweeps.spread import Difference, Spread, difference, spreads

LOSS = 0.01
"""The fraction of goodput that a value may cost."""


@dataclass(frozen=True, kw_only=True)
class Knee:
    """recommended, best: None if nothing is known of any value. reference: the value whose goodput others are compared
    with, None if there is no other value.

    falls_at: None if goodput falls measurably at none of the values that were tried. out: values that cost too much of
    it. front: smallest first.
    """

    reference: Level | None
    best: Level | None
    recommended: Level | None
    falls_at: Level | None
    out: tuple[Level, ...]
    front: tuple[Level, ...]
    spreads: Mapping[Measure, Spread]

    def against(self, level: Level, other: Level, measure: Measure) -> Difference:
        """Compares two values. Raises KeyError if the measure is missing for one."""
        return difference(level.estimate(measure), other.estimate(measure), self.spreads[measure])


def find(network: Network) -> Knee:
    """Finds the knee of a network."""
    bands = spreads(network)
    tried = [*network.fixed, *([network.unset] if network.unset else [])]
    reference = tried[-1] if len(tried) > 1 else None
    fallen = [level for level in tried if reference and _goodput(level, reference, bands).is_less]
    kept = [level for level in tried if level not in fallen or goodput_part(level, reference) >= 1 - LOSS]
    best = min(kept, key=lambda level: level.estimate(Measure.FIRST_BYTE).median, default=None)
    return Knee(
        reference=reference,
        best=best,
        recommended=_largest_as_good(kept, best, bands[Measure.FIRST_BYTE]) if best else None,
        falls_at=fallen[-1] if fallen else None,
        out=tuple(level for level in tried if level not in kept),
        front=tuple(_front(tried, bands)),
        spreads=bands,
    )


def goodput_part(level: Level, reference: Level | None) -> float:
    """The goodput as a fraction of the reference's; 1 without a reference."""
    if reference is None:
        return 1.0
    return level.estimate(Measure.GOODPUT).median / reference.estimate(Measure.GOODPUT).median


def _goodput(level: Level, reference: Level, bands: Mapping[Measure, Spread]) -> Difference:
    return difference(level.estimate(Measure.GOODPUT), reference.estimate(Measure.GOODPUT), bands[Measure.GOODPUT])


def _largest_as_good(kept: Sequence[Level], best: Level, spread: Spread) -> Level:
    soonest = best.estimate(Measure.FIRST_BYTE)
    return [level for level in kept if not difference(level.estimate(Measure.FIRST_BYTE), soonest, spread).is_more][-1]


_LESS_IS_BETTER = {Measure.FIRST_BYTE: True, Measure.GOODPUT: False, Measure.CPU: True}


def _front(tried: Sequence[Level], bands: Mapping[Measure, Spread]) -> Iterator[Level]:
    beaten = {level.value: {by.value for by in tried if _is_beaten(level, bands, by)} for level in tried}
    above = {value: _reached(beaten, value) for value in beaten}
    for level in tried:
        if all(level.value in above[by] for by in above[level.value]):
            yield level


def _reached(beaten: Mapping[str, set[str]], value: str) -> set[str]:
    """The values that beat a value, directly or through others. beaten: for each value, those that beat it."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        new = beaten[waiting.pop()] - found
        found |= new
        waiting += new
    return found


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
