"""The grid of a sweep: lists of values, and every combination of them an arm. Pure.

Rules:
1. A combination is an arm; they come in the order in which knobs and values were given. One value alone is fixed.
   TARGET_DELAY applies to LOWAT=auto alone: with any other LOWAT its values make one arm, not several equal ones.
2. A network is everything but the front's use of LOWAT: arms that agree in all the rest share one
   (`analysis.sweeps.networks.network_of`).
3. In every network one arm has a twin: the control (LOWAT unset) if it is there, else the first. The A/A pair is the
   same scenario with other seeds. The difference between the two is the network's noise band.
4. Everything is checked before anything is made: each value, duplicates, and each combination.
5. LOWAT is in bytes, `none` or `auto`, however it was given, because readers of results compare values. The other knobs
   keep their words.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from analysis.sweeps.networks import LOWAT, NONE, TARGET_DELAY, network_of
from experiments.errors import GridError, ScenarioError
from experiments.execution.request import Arm
from experiments.scenario.knobs import KNOBS, with_defaults
from experiments.scenario.scenario import LOWAT_AUTO

_TWIN = "twin"
_LONGEST_NAME = 180
"""Letters; a folder's name may have 255 bytes, the repetition and an ending included."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """levels: the values, in words, of each knob that has several. fixed: those of knobs that were given one."""

    levels: Mapping[str, tuple[str, ...]]
    fixed: Mapping[str, str]

    @property
    def combinations(self) -> int:
        """The number of arms without twins."""
        if TARGET_DELAY not in self.levels:
            return prod(map(len, self.levels.values()))
        lowats = self.levels.get(LOWAT, (LOWAT_AUTO,))
        of_lowat = sum(len(self.levels[TARGET_DELAY]) if lowat == LOWAT_AUTO else 1 for lowat in lowats)
        return self.networks * of_lowat

    @property
    def aims_at_several(self) -> bool:
        """True if some values of TARGET_DELAY do not make an arm with every LOWAT."""
        return TARGET_DELAY in self.levels and LOWAT in self.levels

    @property
    def networks(self) -> int:
        """The number of networks, which is that of twins."""
        return prod(len(self.levels[name]) for name, _ in network_of(dict.fromkeys(self.levels, "")))

    def knobs(self, levels: Mapping[str, str]) -> dict[str, str]:
        """All words of a combination, defaults included."""
        return with_defaults({**self.fixed, **levels})

    def some(self, most: int) -> Iterator[dict[str, str]]:
        """Draws combinations evenly and always the same, without making the whole grid; yields their words."""
        draw = random.Random(0)
        for _ in range(most):
            yield self.knobs({name: draw.choice(values) for name, values in self.levels.items()})


@dataclass(frozen=True, kw_only=True)
class Point:
    """An arm and its position in the grid. twin_of: the name of an arm.

    levels: its values of the knobs that vary, except those that do not apply to it.
    """

    arm: Arm
    levels: Mapping[str, str]
    twin_of: str | None = None

    @property
    def network(self) -> tuple[tuple[str, str], ...]:
        """The key shared by all arms that differ from it in LOWAT alone."""
        return network_of(self.levels)


def grid_from(values: Mapping[str, Sequence[str]]) -> Grid:
    """Builds the grid of these values by knob. Raises ScenarioError for an empty list, a duplicate, a bad value."""
    for name, given in values.items():
        _check_values(name, given)
    values = {name: tuple(map(_in_bytes, given)) if name == LOWAT else given for name, given in values.items()}
    targets, lowats = values.get(TARGET_DELAY, ()), values.get(LOWAT, (KNOBS[LOWAT].default,))
    if len(targets) > 1 and LOWAT_AUTO not in lowats:
        given = f"{TARGET_DELAY}={','.join(targets)}"
        raise GridError(f"{given}: only LOWAT={LOWAT_AUTO} aims at it, which is not among the values of LOWAT")
    levels = {name: tuple(given) for name, given in values.items() if len(given) > 1}
    if not levels:
        raise GridError("nothing varies: at least one knob needs several values, as in LOWAT=none,4096,16384")
    return Grid(levels=levels, fixed={name: given[0] for name, given in values.items() if len(given) == 1})


def _check_values(name: str, given: Sequence[str]) -> None:
    knob = KNOBS[name]
    seen: dict[object, str] = {}
    if not given:
        raise ScenarioError(name, "", f"at least one value; {knob.allowed}")
    for text in given:
        try:
            value = knob.parse(text)
        except ValueError:
            raise ScenarioError(name, text, knob.allowed) from None
        if value in seen:
            same = "is there twice" if seen[value] == text else f"and {seen[value]} are the same value"
            raise GridError(f"{name}={','.join(given)}: {text} {same}; each may be there once")
        seen[value] = text


def _in_bytes(text: str) -> str:
    """Turns a valid value of LOWAT into the form that results keep."""
    value = KNOBS[LOWAT].parse(text)
    return NONE if value is None else str(value)


def _combinations(grid: Grid) -> Iterator[dict[str, str]]:
    """The varying values of every arm."""
    for values in product(*grid.levels.values()):
        levels = dict(zip(grid.levels, values, strict=True))
        if TARGET_DELAY in levels and grid.knobs(levels)[LOWAT] != LOWAT_AUTO:
            if levels[TARGET_DELAY] != grid.levels[TARGET_DELAY][0]:
                continue
            del levels[TARGET_DELAY]
        yield levels


def expand(grid: Grid) -> tuple[Point, ...]:
    """Every arm, twins last. Raises GridError if some combinations are not allowed."""
    points, refused = [], []
    for levels in _combinations(grid):
        arm = Arm(name=_name(levels), knobs=grid.knobs(levels))
        try:
            _ = arm.scenario
        except ScenarioError as error:
            refused.append((arm.name, str(error)))
        points.append(Point(arm=arm, levels=levels))
    if refused:
        name, why = refused[0]
        raise GridError(f"{len(refused)} of the grid's {len(points)} arms cannot be; the first is {name}: {why}")
    if max(len(point.arm.name) for point in points) > _LONGEST_NAME:
        points = [_numbered(number, point) for number, point in enumerate(points, start=1)]
    return (*points, *_twins(points))


def _name(levels: Mapping[str, str]) -> str:
    """The arm's name, readable and fit for a folder: lowat-4096_cc-bbr."""
    return "_".join(_letters(f"{name}-{value}") for name, value in levels.items())


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9.-]", "-", text.lower().replace("%", "pct"))


def _numbered(number: int, point: Point) -> Point:
    return Point(arm=Arm(name=f"arm-{number}", knobs=point.arm.knobs), levels=point.levels)


def _twins(points: Sequence[Point]) -> Iterator[Point]:
    networks: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for point in points:
        networks.setdefault(point.network, []).append(point)
    for members in networks.values():
        first = min(members, key=lambda point: point.arm.knobs[LOWAT] != NONE)
        twin = Arm(name=f"{first.arm.name}_{_TWIN}", knobs=first.arm.knobs)
        yield Point(arm=twin, levels=first.levels, twin_of=first.arm.name)
