"""Sorts the arms of a sweep into networks, with the estimates for every LOWAT in each network. Pure.

1. Arms that differ in LOWAT only are a network. TARGET_DELAY, which steers LOWAT=auto, belongs to the value: with two
   TARGET_DELAYs, auto is two values. If a sweep has several VIA_LOWATs, arms that differ in VIA_LOWAT only are a
   network, too, in which VIA_LOWAT is recommended; if LOWAT does not vary, these are all networks.
   Arms that differ in JS_DELAY as well are the same value at several instants. A repetition of the value is then the
   mean over the instants with the same seed, and needs a good run at each of them.
2. A fixed LOWAT that occurs with several TARGET_DELAYs is a single value, because TARGET_DELAY does not affect a fixed
   LOWAT. Only older sweeps have such arms. The first such arm counts, because the others are the same scenario with the
   same seeds, and so the same runs again.
3. The twin of an arm is not a value. The twin is the other half of the A/A pair: the same scenario, with other seeds.
   A network of VIA_LOWAT without a twin has the pair of arms that differ from it in LOWAT and VIA_LOWAT only.
4. A run that is missing or not ok does not count, and is listed (`Level.troubles`).
5. A value needs at least half as many good runs as the value with the most good runs. Otherwise it is not considered
   for the recommendation, and is listed (`Network.thin`). Without this rule a single run, which has no interval,
   would be compared with the median of ten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median

from priolab.analysis.records.runs import Run
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.folder import Sweep, SweepArm, Trouble
from priolab.analysis.sweeps.measures import Measure, grains, measures, record_ms
from priolab.analysis.sweeps.network_knobs import AUTO, JS_DELAY, LOWAT, NONE, RECOMMENDED, TARGET_DELAY, network_of


@dataclass(frozen=True, kw_only=True)
class Level:
    """A value of LOWAT in a network, with its estimates.

    value: LOWAT as text, or VIA_LOWAT, as `knob` says. asked: the number of repetitions that this value should have.
    estimates: the estimate of each measure; None for a measure that was not counted. The mapping is empty if no
    repetition is ok. troubles: the repetitions that do not count. instants: by JS_DELAY in milliseconds, the median of
    the script's first byte; empty if the page does not use JS_DELAY.
    """

    value: str
    asked: int
    estimates: Mapping[Measure, Estimate | None]
    troubles: tuple[Trouble, ...] = ()
    knob: str = LOWAT
    instants: Mapping[int, float] = field(default_factory=dict)

    @property
    def lowat_bytes(self) -> int | None:
        """The value in bytes; None if LOWAT is unset or auto."""
        return int(self.value) if self.value.isdecimal() else None

    @property
    def is_steered(self) -> bool:
        """True for LOWAT=auto."""
        return self.value.partition(" ")[0] == AUTO

    @property
    def is_good(self) -> bool:
        """True if at least one repetition is ok."""
        return bool(self.estimates)

    @property
    def repetitions(self) -> int:
        """The number of ok repetitions."""
        return self.asked - len({trouble.run.rpartition(".")[2] for trouble in self.troubles})

    def estimate(self, measure: Measure) -> Estimate:
        """Returns the estimate of a measure. Raises KeyError if the measure has no estimate."""
        found = self.estimates[measure]
        if found is None:
            raise KeyError(measure)
        return found


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network of a sweep.

    name: the knobs that distinguish the network in the sweep. knob: the knob whose values are compared, LOWAT or
    VIA_LOWAT. knobs: all its knobs, without this one and, for LOWAT, TARGET_DELAY. words: those to give to `priolab
    run` for this network. levels: fixed values,
    the smallest first, then LOWAT unset, then LOWAT=auto. pair: a value of LOWAT and its twin; None without a twin.
    grains: the smallest meaningful difference of each measure. record_ms: the transmission time of a TLS record of
    16 KiB at the link's rate. has_important: True if the page marks a resource as important.
    """

    name: str
    knobs: Mapping[str, str]
    words: tuple[str, ...]
    levels: tuple[Level, ...]
    pair: tuple[Level, Level] | None
    grains: Mapping[Measure, float]
    record_ms: float
    knob: str = LOWAT
    has_important: bool = True

    @property
    def instants(self) -> list[int]:
        """The values of JS_DELAY in milliseconds at which the values were tried."""
        return sorted({instant for level in self.levels for instant in level.instants})

    def level(self, value: str) -> Level | None:
        """Returns the level with this value; None if the sweep does not have the value."""
        return next((level for level in self.levels if level.value == value), None)

    @property
    def fixed(self) -> list[Level]:
        """The fixed values of LOWAT with enough good runs, the smallest first."""
        return [level for level in self.levels if level.lowat_bytes is not None and self._is_known(level)]

    @property
    def unset(self) -> Level | None:
        """The level of LOWAT=none; None if LOWAT=none was not tried, or has too few good runs."""
        level = self.level(NONE)
        return level if level and self._is_known(level) else None

    @property
    def thin(self) -> list[Level]:
        """The levels, except LOWAT=auto, that have some good runs, but too few.

        Too few are fewer than half as many as the level with the most good runs.
        """
        return [level for level in self.levels if level.is_good and not level.is_steered and not self._is_known(level)]

    @property
    def enough(self) -> int:
        """The number of good runs that a value needs: half as many as the value with the most good runs."""
        return ceil(max((level.repetitions for level in self.levels), default=0) / 2)

    def _is_known(self, level: Level) -> bool:
        return level.is_good and level.repetitions >= self.enough

    @property
    def steered(self) -> list[Level]:
        """The levels of LOWAT=auto, one for each TARGET_DELAY."""
        return [level for level in self.levels if level.is_steered]


def networks(sweep: Sweep) -> list[Network]:
    """Returns a sweep's networks, in the order of the sweep's arms. Raises FolderError if an ok run lacks data."""
    grid = sweep.record.grid
    varied = [name for name, values in grid.items() if len(values) > 1]
    chosen = list(dict.fromkeys([*sweep.record.fixed, *grid]))
    alike = _grouped(sweep.arms, *RECOMMENDED)
    found = []
    for knob in [name for name in RECOMMENDED if name in varied] or [LOWAT]:
        for arms in _grouped(sweep.arms, knob).values():
            others = alike[tuple(sorted(network_of(arms[0].knobs, *RECOMMENDED)))]
            found.append(_network(knob, arms, others, varied, chosen))
    return found


def _grouped(arms: Sequence[SweepArm], *knobs: str) -> dict[tuple[tuple[str, str], ...], list[SweepArm]]:
    """Groups arms that differ only in these knobs, and in those that go with them."""
    groups: dict[tuple[tuple[str, str], ...], list[SweepArm]] = {}
    for arm in arms:
        groups.setdefault(tuple(sorted(network_of(arm.knobs, *knobs))), []).append(arm)
    return groups


def _network(
    knob: str, arms: Sequence[SweepArm], alike: Sequence[SweepArm], varied: Sequence[str], chosen: Sequence[str]
) -> Network:
    knobs = dict(network_of(arms[0].knobs, knob))
    by_value: dict[str, dict[str, SweepArm]] = {}
    for arm in arms:
        if arm.twin_of is None:
            by_value.setdefault(_value(arm, varied, knob), {}).setdefault(arm.knobs.get(JS_DELAY, ""), arm)
    levels = sorted((_level(knob, value, [*at.values()]) for value, at in by_value.items()), key=_rank)
    runs = [run for arm in arms for run in arm.good]
    return Network(
        name=_name(knobs, varied),
        knobs=knobs,
        words=tuple(f"{name}={knobs[name]}" for name in chosen if name in knobs),
        levels=tuple(levels),
        pair=_pair(knob, arms, varied) or _pair(knob, alike, varied),
        grains=_grains(runs),
        record_ms=record_ms(runs[0]) if runs else 0.0,
        knob=knob,
        has_important=not runs or runs[0].scenario.whole_page.is_judged,
    )


def _level(knob: str, value: str, arms: Sequence[SweepArm]) -> Level:
    """Combines the runs of a value's arms, one for each instant, into a level."""
    repetitions: dict[str, list[Mapping[Measure, float | None]]] = {}
    instants: dict[int, list[float]] = {}
    for run in (run for arm in arms for run in arm.good):
        measured = measures(run)
        repetitions.setdefault(run.path.name.rpartition(".")[2], []).append(measured)
        first_ms, delay_ns = measured[Measure.FIRST_BYTE], run.scenario.script_delay_ns
        if first_ms is not None and delay_ns is not None:
            instants.setdefault(delay_ns // 10**6, []).append(first_ms)
    found = [each for each in repetitions.values() if len(each) == len(arms)]
    estimates: dict[Measure, Estimate | None] = {}
    for measure in Measure if found else ():
        amounts = [[amount for measured in each if (amount := measured[measure]) is not None] for each in found]
        known = [sum(each) / len(each) for each in amounts if each]
        estimates[measure] = Estimate.of(known) if known else None
    return Level(
        value=value,
        asked=arms[0].asked,
        estimates=estimates,
        troubles=tuple(trouble for arm in arms for trouble in arm.troubles),
        knob=knob,
        instants={instant: median(values) for instant, values in sorted(instants.items())},
    )


def _pair(knob: str, arms: Sequence[SweepArm], varied: Sequence[str]) -> tuple[Level, Level] | None:
    for arm in arms:
        if arm.twin_of is not None:
            original = next(each for each in arms if each.name == arm.twin_of)
            value = _value(original, varied, knob)
            return _level(knob, value, [original]), _level(knob, value, [arm])
    return None


def _grains(runs: Sequence[Run]) -> Mapping[Measure, float]:
    found = [grains(run) for run in runs]
    return {measure: max(each[measure] for each in found) for measure in (found[0] if found else ())}


def _value(arm: SweepArm, varied: Sequence[str], knob: str) -> str:
    word = arm.knobs.get(knob, NONE)
    if word != AUTO or TARGET_DELAY not in varied:
        return word
    return f"{word} {TARGET_DELAY}={arm.knobs[TARGET_DELAY]}"


def _rank(level: Level) -> tuple[bool, bool, int, str]:
    return level.is_steered, level.lowat_bytes is None, level.lowat_bytes or 0, level.value


_TELLING = ("LINK", "RATE", "DELAY", "CC", "SERVER")


def _name(knobs: Mapping[str, str], varied: Sequence[str]) -> str:
    """Returns a network's name: its values of the knobs in `varied`, or those that tell most if none varies.

    varied: the knobs of which the sweep has several values.
    """
    telling = [name for name in _TELLING if knobs.get(name, NONE) != NONE]
    names = [name for name in varied if name in knobs] or telling
    return " ".join(f"{name}={knobs[name]}" for name in names)
