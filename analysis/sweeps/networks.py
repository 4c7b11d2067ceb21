"""The networks of a sweep: everything but LOWAT, and for each what was measured at every LOWAT. Pure.

1. Arms that differ in LOWAT alone are one network. What steers LOWAT=auto (TARGET_DELAY) is part of its value.
2. A fixed LOWAT that occurs with several of those words is one value: they mean nothing to it. Of such arms, which only
   older sweeps have, the first counts: the others are the same scenario with the same seeds, so the same runs again.
3. The twin of an arm is no value. It is the other half of the A/A pair: the same scenario, with other seeds.
4. A run that is missing or not ok counts for nothing, and is named.
5. A value with fewer good runs than half of the network's fullest one is not known well enough to be compared with the
   others: it takes no part in what is recommended, and is named (`Network.thin`). A single run has no interval, and its
   luck would be held against the median of ten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from analysis.records.runs import Run
from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.folder import Sweep, SweepArm, Trouble
from analysis.sweeps.measures import Measure, grains, measures, record_ms

NONE, AUTO = "none", "auto"
LOWAT, TARGET_DELAY = "LOWAT", "TARGET_DELAY"
_OF_A_VALUE = (LOWAT, TARGET_DELAY)


def network_of(words: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What an arm, whose knobs these are, shares with the others of its network, in the order of the words."""
    return tuple((name, word) for name, word in words.items() if name not in _OF_A_VALUE)


@dataclass(frozen=True, kw_only=True)
class Level:
    """One value of LOWAT in one network. value: in words; asked: how many repetitions there should be.

    estimates: of what was measured, None where nobody counted; empty if no repetition is ok.
    """

    value: str
    asked: int
    estimates: Mapping[Measure, Estimate | None]
    troubles: tuple[Trouble, ...] = ()

    @property
    def lowat_bytes(self) -> int | None:
        """None if it is unset, or steered."""
        return int(self.value) if self.value.isdecimal() else None

    @property
    def is_steered(self) -> bool:
        """Whether LOWAT=auto chose it."""
        return self.value.partition(" ")[0] == AUTO

    @property
    def is_good(self) -> bool:
        """Whether anything is known of it."""
        return bool(self.estimates)

    @property
    def repetitions(self) -> int:
        """How many are ok."""
        return self.asked - len(self.troubles)

    def estimate(self, measure: Measure) -> Estimate:
        """Of what every good run has. Raises KeyError if nothing is known."""
        found = self.estimates[measure]
        if found is None:
            raise KeyError(measure)
        return found


@dataclass(frozen=True, kw_only=True)
class Network:
    """One network. name: what makes it this one among the sweep's; knobs: all of its words, without LOWAT's.

    levels: by LOWAT, the smallest first, unset after all of them, steered ones last.
    words: what to write after `priolab run` to have it, but for LOWAT.
    pair: one value of LOWAT and its twin, None without a twin. grains: the smallest differences that mean anything.
    record_ms: what a TLS record of 16 KiB takes at the link's rate.
    """

    name: str
    knobs: Mapping[str, str]
    words: tuple[str, ...]
    levels: tuple[Level, ...]
    pair: tuple[Level, Level] | None
    grains: Mapping[Measure, float]
    record_ms: float

    def level(self, value: str) -> Level | None:
        """The one with this value, None if it was not tried."""
        return next((level for level in self.levels if level.value == value), None)

    @property
    def fixed(self) -> list[Level]:
        """Values of LOWAT that somebody could set, the smallest first, of which enough is known."""
        return [level for level in self.levels if level.lowat_bytes is not None and self._is_known(level)]

    @property
    def unset(self) -> Level | None:
        """LOWAT=none; None if it was not tried, or not enough is known of it."""
        level = self.level(NONE)
        return level if level and self._is_known(level) else None

    @property
    def thin(self) -> list[Level]:
        """Values that could be set, unset among them, of which something is known, and not enough."""
        return [level for level in self.levels if level.is_good and not level.is_steered and not self._is_known(level)]

    @property
    def enough(self) -> int:
        """So many good runs a value needs: half of what the fullest has."""
        return ceil(max((level.repetitions for level in self.levels), default=0) / 2)

    def _is_known(self, level: Level) -> bool:
        return level.is_good and level.repetitions >= self.enough

    @property
    def steered(self) -> list[Level]:
        """LOWAT=auto, with whatever steers it."""
        return [level for level in self.levels if level.is_steered]


def networks(sweep: Sweep) -> list[Network]:
    """In the order of the sweep. Raises FolderError if a run that is ok lacks what such a run has."""
    grid = sweep.document["grid"]
    varied = [name for name, values in grid.items() if len(values) > 1]
    chosen = list(dict.fromkeys([*sweep.document["fixed"], *grid]))
    groups: dict[tuple[tuple[str, str], ...], list[SweepArm]] = {}
    for arm in sweep.arms:
        groups.setdefault(tuple(sorted(network_of(arm.knobs))), []).append(arm)
    return [_network(arms, varied, chosen) for arms in groups.values()]


def _network(arms: Sequence[SweepArm], varied: Sequence[str], chosen: Sequence[str]) -> Network:
    knobs = dict(network_of(arms[0].knobs))
    by_value: dict[str, SweepArm] = {}
    for arm in arms:
        if arm.twin_of is None:
            by_value.setdefault(_value(arm, varied), arm)
    levels = sorted((_level(value, arm) for value, arm in by_value.items()), key=_rank)
    runs = [run for arm in arms for run in arm.good]
    return Network(
        name=_name(knobs, varied),
        knobs=knobs,
        words=tuple(f"{name}={knobs[name]}" for name in chosen if name in knobs),
        levels=tuple(levels),
        pair=_pair(arms, varied),
        grains=_grains(runs),
        record_ms=record_ms(runs[0]) if runs else 0.0,
    )


def _level(value: str, arm: SweepArm) -> Level:
    """What an arm's runs amount to together."""
    found = [measures(run) for run in arm.good]
    estimates: dict[Measure, Estimate | None] = {}
    for measure in Measure if found else ():
        known = [amount for each in found if (amount := each[measure]) is not None]
        estimates[measure] = Estimate.of(known) if known else None
    return Level(
        value=value,
        asked=arm.asked,
        estimates=estimates,
        troubles=arm.troubles,
    )


def _pair(arms: Sequence[SweepArm], varied: Sequence[str]) -> tuple[Level, Level] | None:
    for arm in arms:
        if arm.twin_of is not None:
            original = next(each for each in arms if each.name == arm.twin_of)
            value = _value(original, varied)
            return _level(value, original), _level(value, arm)
    return None


def _grains(runs: Sequence[Run]) -> Mapping[Measure, float]:
    found = [grains(run) for run in runs]
    return {measure: max(each[measure] for each in found) for measure in (found[0] if found else ())}


def _value(arm: SweepArm, varied: Sequence[str]) -> str:
    word = arm.knobs.get(LOWAT, NONE)
    if word != AUTO or TARGET_DELAY not in varied:
        return word
    return f"{word} {TARGET_DELAY}={arm.knobs[TARGET_DELAY]}"


def _rank(level: Level) -> tuple[bool, bool, int, str]:
    return level.is_steered, level.lowat_bytes is None, level.lowat_bytes or 0, level.value


_TELLING = ("RATE", "DELAY", "CC", "SERVER")


def _name(knobs: Mapping[str, str], varied: Sequence[str]) -> str:
    """Words of the knobs of which the sweep has several values; of a single network, those that say most."""
    names = [name for name in varied if name in knobs] or [name for name in _TELLING if name in knobs]
    return " ".join(f"{name}={knobs[name]}" for name in names)
