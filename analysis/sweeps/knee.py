"""The knee of a network: which LOWAT to set. Pure.

1. A value of which no run is ok takes no part, nor one of which too few are (`networks`, rule 5).
2. Goodput is measured against LOWAT unset; if too little is known of that, against the largest fixed value, and it is
   said. If there is nothing but that one value, nothing is known of goodput. `falls_at` is the first value, coming from
   unset, at which it is measurably less. A value is out if it is measurably less and by more than 1 %: a careful
   measurement sees less than anybody would give a second for.
3. Of the rest, the best is the one with the soonest script first byte.
4. Recommended is the largest one, unset being larger than any, whose script first byte is not measurably later than the
   best one's. The largest, because a smaller value cannot be seen to bring anything, and wakes the front up more often.
5. One value beats another if, of script first byte, goodput and the front's processor time (where that is known), it is
   measurably better in one and measurably worse in none. What cannot be told apart does not carry over (two steps that
   are none may make one), so values can beat each other in a circle, and all be beaten. On the front of trade-offs is
   therefore every value that beats, itself or by way of others, whatever beats it so: as a rule those that nobody
   beats, else those of a circle that nobody outside of it beats (the Schwartz set). It is never empty.

What is measurable, `spread` says. LOWAT=auto takes no part: it is judged against the result (`steered`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Level, Network
from analysis.sweeps.spread import Difference, Spread, difference, spreads

LOSS = 0.01
"""As much of the goodput a value may cost."""


@dataclass(frozen=True, kw_only=True)
class Knee:
    """recommended, best: None if nothing is known of any value. reference: what goodput was measured against, None if
    there is nothing to measure against it.

    falls_at: None if goodput falls measurably at none of the values that were tried. out: they cost too much of it.
    front: smallest first.
    """

    reference: Level | None
    best: Level | None
    recommended: Level | None
    falls_at: Level | None
    out: tuple[Level, ...]
    front: tuple[Level, ...]
    spreads: Mapping[Measure, Spread]

    def against(self, level: Level, other: Level, measure: Measure) -> Difference:
        """One value against another. Raises KeyError if it was not measured of both."""
        return difference(level.estimate(measure), other.estimate(measure), self.spreads[measure])


def find(network: Network) -> Knee:
    """The knee of a network."""
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
    """Of the reference's; 1 without one."""
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
    """What beats a value, itself or by way of others. beaten: what each is beaten by."""
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
