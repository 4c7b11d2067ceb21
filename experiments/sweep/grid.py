"""The grid of a sweep: lists of values, and every combination of them an arm. Pure.

Rules:
1. A combination is an arm; they come in the order in which knobs and values were given. One value alone is fixed.
2. A network is everything but what the front does about LOWAT: arms that agree in all the rest share one.
3. In every network one arm has a twin, the control (LOWAT unset) if it is there, else the first: an A/A pair, the same
   scenario with other seeds. What lies between the two is what "no difference" means there.
4. All of it is checked before anything is made: each value, twice the same, and each combination.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from experiments.errors import GridError, ScenarioError
from experiments.request import Arm
from experiments.scenario import KNOBS

WITHIN_A_NETWORK = ("LOWAT", "TARGET_DELAY", "TUNER")
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
        """Arms without twins."""
        return prod(map(len, self.levels.values()))

    @property
    def networks(self) -> int:
        """As many as there are twins."""
        return prod(len(values) for name, values in self.levels.items() if name not in WITHIN_A_NETWORK)

    def knobs(self, levels: Mapping[str, str]) -> dict[str, str]:
        """All of a combination's words, defaults included."""
        return {name: knob.default for name, knob in KNOBS.items()} | dict(self.fixed) | dict(levels)

    def some(self, most: int) -> Iterator[dict[str, str]]:
        """Words of so many combinations, drawn evenly and always the same, without making the whole grid."""
        draw = random.Random(0)
        for _ in range(most):
            yield self.knobs({name: draw.choice(values) for name, values in self.levels.items()})


def counted(number: int, noun: str) -> str:
    """As people write it: `1 arm`, `2,000 arms`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Point:
    """An arm and where in the grid it is. levels: its values of the knobs that vary. twin_of: the name of an arm."""

    arm: Arm
    levels: Mapping[str, str]
    twin_of: str | None = None

    @property
    def network(self) -> tuple[tuple[str, str], ...]:
        """What it shares with those that differ from it in LOWAT alone."""
        return tuple((name, value) for name, value in self.levels.items() if name not in WITHIN_A_NETWORK)


def grid_from(values: Mapping[str, Sequence[str]]) -> Grid:
    """The grid of these values by knob. Raises ScenarioError, naming what is empty, twice the same, or cannot be."""
    for name, given in values.items():
        _check_values(name, given)
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


def expand(grid: Grid) -> tuple[Point, ...]:
    """Every arm, twins last. Raises GridError if there are combinations that cannot be."""
    points, refused = [], []
    for values in product(*grid.levels.values()):
        levels = dict(zip(grid.levels, values, strict=True))
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
    """Of a folder, and readable: lowat-4096_cc-bbr."""
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
        first = min(members, key=lambda point: point.arm.knobs["LOWAT"] != "none")
        twin = Arm(name=f"{first.arm.name}_{_TWIN}", knobs=first.arm.knobs)
        yield Point(arm=twin, levels=first.levels, twin_of=first.arm.name)
