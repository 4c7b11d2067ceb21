"""Finds the knee of a network: the LOWAT to recommend. Pure.

1. A value of LOWAT is not considered if fewer than half as many of its runs are ok as with the value that has most
   ok runs.
2. Goodput is compared with a reference: the goodput with LOWAT unset. If too few runs with LOWAT unset are ok, the
   reference is the largest fixed value, and the report says so. With a single value there is nothing to compare.
   `falls_at` is the first value, from unset downwards, whose goodput is measurably less. A value is out if its goodput
   is measurably less, and by more than 1 %, because measurable differences may be too small to matter.
3. The best of the values that are not out is the one with the soonest script first byte.
4. The recommended value is the largest whose script first byte is not measurably later than that of the best value.
   LOWAT unset counts as larger than any other value. A smaller value would bring no visible benefit, and would wake the
   front more often.
5. One value beats another if it is measurably better in one, and measurably worse in none, of these measures: script
   first byte, goodput, and the front's processor time (if known). "No difference" is not transitive, because two small
   steps may add up to a difference. So values can beat each other in a circle, and all values may be beaten. Therefore
   the front of trade-offs is the Schwartz set. Say that A outranks B if A beats B, or beats a value that outranks B. A
   value is in the set unless another value outranks it and is not outranked by it in turn. A value that no other value
   beats is in the set. So are all values of a circle, if no value outside the circle beats one of them. The set is
   never empty.

analysis/sweeps/noise_band.py decides which differences are measurable. LOWAT=auto is not considered;
analysis/sweeps/auto_vs_fixed.py compares it with the best fixed value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Level, Network
from priolab.analysis.sweeps.noise_band import Difference, Spread, difference, spreads

LOSS = 0.01
"""A value of LOWAT is out if it costs more than this fraction of goodput."""


@dataclass(frozen=True, kw_only=True)
class Knee:
    """The knee of a network: the recommended LOWAT, and the values of LOWAT that explain it.

    reference: the value with which the goodput of the others is compared; None if there is no other value. best: of the
    values that keep goodput, the one with the soonest script first byte. recommended: the largest value that is not
    measurably later. best and recommended are None if no value has enough good runs. falls_at: the largest value with
    measurably less goodput than the reference; None if there is none. out: values that cost too much goodput. front:
    the best trade-offs of first byte, goodput and processor time, the smallest value first.
    """

    reference: Level | None
    best: Level | None
    recommended: Level | None
    falls_at: Level | None
    out: tuple[Level, ...]
    front: tuple[Level, ...]
    spreads: Mapping[Measure, Spread]

    def against(self, level: Level, other: Level, measure: Measure) -> Difference:
        """Returns the difference of two values of LOWAT in a measure: `level` less `other`.

        Raises KeyError if one of the two was not measured.
        """
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
    """Returns the goodput with a value of LOWAT as a fraction of the reference's goodput; 1 without a reference."""
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
    """Returns the values that beat a value, directly or through others.

    beaten: for each value, the values that beat it directly.
    """
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
