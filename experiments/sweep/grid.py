"""The grid of a sweep: a list of values for each knob. Every combination of values is an arm. Pure.

Rules:
1. Arms are in the order in which knobs and values were given. A knob with one value is fixed. TARGET_DELAY applies to
   LOWAT=auto alone: with any other LOWAT its values make one arm, and not several equal arms.
2. Arms that differ only in LOWAT and TARGET_DELAY are in the same network
   (`priolab.analysis.sweeps.networks.network_of`).
3. In every network one arm has a twin: the control (LOWAT unset) if the network has one, otherwise the first arm. The
   twin is the same scenario with other seeds. The difference between arm and twin gives the network's noise band.
4. Values, duplicates and combinations are checked before the first run.
5. A server that is installed with BUFFERING=off is tried both ways if nobody gives BUFFERING (`as_installed`), because
   a recommendation for large buffers does not hold for small ones.
6. Arms that differ in JS_DELAY only have the same network. If nobody gives JS_DELAY, every arm is tried at several
   instants (`at_instants`, instants.py). The twin has the first instant.
7. LOWAT and VIA_LOWAT are stored in bytes, or as `none` or `auto`, however they were given, so that readers of
   results can compare texts. The values of other knobs are stored as given.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from priolab.analysis.sweeps.network_knobs import JS_DELAY, LOWAT, NONE, RECOMMENDED, TARGET_DELAY, network_of
from priolab.common.errors import GridError, ScenarioError
from priolab.common.formats.scenario import AUTO
from priolab.experiments.execution.labels import labels
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import KNOBS, NAMED_BY_PATH, check_together, with_defaults
from priolab.experiments.sweep.instants import INSTANTS, can_vary, instants_ms
from priolab.proxy.server import server_of
from priolab.testbed import end_words

SERVER, BUFFERING, PAGE = "SERVER", "BUFFERING", "PAGE"
_TWIN = "twin"
_BOTH, _ONE = ("on", "off"), ("",)
_LONGEST_NAME = 180
"""The most characters of an arm's name. The name of a run's folder adds the repetition and a suffix, and may
have 255 bytes."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A sweep's grid. levels: the values, as text, of knobs with several values. fixed: values of other knobs.

    buffering: by server, the levels of BUFFERING that are tried with it; only for servers that are tried both ways.
    instants: the number of JS_DELAYs at which each arm is tried; 1 if JS_DELAY is among levels, fixed or as usual.
    """

    levels: Mapping[str, tuple[str, ...]]
    fixed: Mapping[str, str]
    buffering: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instants: int = 1

    @property
    def every_level(self) -> Mapping[str, tuple[str, ...]]:
        """The levels, and those of BUFFERING if servers are tried both ways."""
        return {**self.levels, **({BUFFERING: _BOTH} if self.buffering else {})}

    @property
    def servers(self) -> tuple[str, ...]:
        """The values of SERVER."""
        return self.levels.get(SERVER, (self.fixed.get(SERVER, KNOBS[SERVER].default),))

    def _size(self, names: Iterable[str]) -> int:
        """Returns the number of combinations of these knobs' values, and of the ways in which servers are tried."""
        ways = [len(self.buffering.get(server, _ONE)) for server in self.servers]
        lengths: list[int] = [len(self.levels[name]) for name in names if name != SERVER]
        return sum(ways) * prod(lengths)

    @property
    def combinations(self) -> int:
        """The number of arms, not counting twins."""
        if TARGET_DELAY not in self.levels:
            return self._size(self.levels) * self.instants
        lowats = self.levels.get(LOWAT, (AUTO,))
        of_lowat = sum(len(self.levels[TARGET_DELAY]) if lowat == AUTO else 1 for lowat in lowats)
        lengths = (len(values) for name, values in self.levels.items() if name == JS_DELAY)
        return self.networks * of_lowat * next(lengths, self.instants)

    @property
    def aims_at_several(self) -> bool:
        """True if TARGET_DELAY and LOWAT both vary, so that not each of their combinations is an arm."""
        return TARGET_DELAY in self.levels and LOWAT in self.levels

    @property
    def networks(self) -> int:
        """The number of networks, which is also the number of twins."""
        return self._size(name for name, _ in network_of(dict.fromkeys(self.levels, "")))

    def knobs(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Returns the values of all knobs of an arm, defaults included. levels: its values of the knobs that vary."""
        return with_defaults({**self.fixed, **levels})

    def some(self, most: int) -> Iterator[dict[str, str]]:
        """Yields the knobs of `most` random combinations, the same in every call. Does not make the whole grid."""
        draw = random.Random(0)
        for _ in range(most):
            yield self.knobs({name: draw.choice(values) for name, values in self.levels.items()})


@dataclass(frozen=True, kw_only=True)
class Point:
    """An arm and its position in the grid.

    levels: the arm's values of the knobs that vary, except knobs that do not apply to the arm. twin_of: the name of the
    arm whose twin this is; None if this is no twin.
    """

    arm: Arm
    levels: Mapping[str, str]
    twin_of: str | None = None

    @property
    def network(self) -> tuple[tuple[str, str], ...]:
        """A key that is the same for all arms of a network."""
        return network_of(self.levels)


def grid_from(values: Mapping[str, Sequence[str]]) -> Grid:
    """Builds a grid. values: the values by knob. Raises ScenarioError for an empty list, a duplicate or a bad value."""
    for name, given in values.items():
        _check_values(name, given)
    check_together(values)
    values = {
        name: tuple(_in_bytes(name, text) for text in given) if name in RECOMMENDED else given
        for name, given in values.items()
    }
    targets, lowats = values.get(TARGET_DELAY, ()), values.get(LOWAT, (KNOBS[LOWAT].default,))
    if len(targets) > 1 and AUTO not in lowats:
        given = f"{TARGET_DELAY}={','.join(targets)}"
        raise GridError(f"{given}: applies to LOWAT={AUTO} alone, which is not among the values of LOWAT")
    levels = {name: tuple(given) for name, given in values.items() if len(given) > 1}
    if not levels:
        raise GridError("nothing varies: at least one knob needs several values, as in LOWAT=none,4096,16384")
    return Grid(levels=levels, fixed={name: given[0] for name, given in values.items() if len(given) == 1})


def as_installed(grid: Grid) -> Grid:
    """Returns the grid in which servers that are installed with BUFFERING=off are tried with both levels (rule 5).

    A grid in which somebody gives BUFFERING, or a CONFIG of his own, stays as it is.
    """
    configs = grid.levels.get("CONFIG", (grid.fixed.get("CONFIG", end_words.STOCK),))
    if BUFFERING in (*grid.levels, *grid.fixed) or configs != (end_words.STOCK,):
        return grid
    return replace(grid, buffering={name: _BOTH for name in grid.servers if server_of(name).buffering.usual == "off"})


def at_instants(grid: Grid) -> Grid:
    """Returns the grid in which every arm is tried at several instants (rule 6).

    A grid in which somebody gives JS_DELAY, or whose pages do not all use it, stays as it is.
    """
    names = grid.levels.get(PAGE, (grid.fixed.get(PAGE, KNOBS[PAGE].default),))
    if JS_DELAY in (*grid.levels, *grid.fixed) or not all(map(can_vary, names)):
        return grid
    return replace(grid, instants=INSTANTS)


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
            same = "is given twice" if seen[value] == text else f"and {seen[value]} are the same value"
            raise GridError(f"{name}={','.join(given)}: {text} {same}; give each value once")
        seen[value] = text


def _in_bytes(name: str, text: str) -> str:
    """Turns a valid value of LOWAT or VIA_LOWAT into the form that is stored in results: bytes, `none` or `auto`."""
    value = KNOBS[name].parse(text)
    return NONE if value is None else str(value)


def _combinations(grid: Grid) -> Iterator[dict[str, str]]:
    """Yields the values of the varying knobs of every arm."""
    for values in product(*grid.levels.values()):
        levels = dict(zip(grid.levels, values, strict=True))
        if TARGET_DELAY in levels and grid.knobs(levels)[LOWAT] != AUTO:
            if levels[TARGET_DELAY] != grid.levels[TARGET_DELAY][0]:
                continue
            del levels[TARGET_DELAY]
        server = levels.get(SERVER, grid.servers[0])
        for way in grid.buffering.get(server, _ONE):
            yield from _at_instants(grid, {**levels, **({BUFFERING: way} if way else {})})


def _at_instants(grid: Grid, levels: Mapping[str, str]) -> Iterator[dict[str, str]]:
    if grid.instants == 1:
        yield dict(levels)
        return
    try:
        found = instants_ms(grid.knobs(levels), grid.instants)
    except ValueError:
        found = tuple(range(grid.instants))  # the link cannot be, which the scenario says in better words
    for instant_ms in found:
        yield {**levels, JS_DELAY: f"{instant_ms}ms"}


def expand(grid: Grid) -> tuple[Point, ...]:
    """Returns every arm, twins last. Raises GridError if a combination is not allowed."""
    points, refused = [], []
    known_as = {
        name: labels(values, NAMED_BY_PATH[name]) for name, values in grid.levels.items() if name in NAMED_BY_PATH
    }
    for levels in _combinations(grid):
        named = {name: known_as[name][value] if name in known_as else value for name, value in levels.items()}
        arm = Arm(name=_name(named), knobs=grid.knobs(levels))
        try:
            _ = arm.scenario
        except ScenarioError as error:
            refused.append((arm.name, str(error)))
        points.append(Point(arm=arm, levels=levels))
    if refused:
        name, why = refused[0]
        raise GridError(f"{len(refused)} of the grid's {len(points)} arms are not allowed; the first is {name}: {why}")
    names = {point.arm.name for point in points}
    if len(names) < len(points) or max(map(len, names)) > _LONGEST_NAME:
        points = [_numbered(number, point) for number, point in enumerate(points, start=1)]
    return (*points, *_twins(points))


def _name(levels: Mapping[str, str]) -> str:
    """Returns the arm's name, such as lowat-4096_cc-bbr, which can be a folder's name."""
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
