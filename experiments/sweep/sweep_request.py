"""Turns the arguments of `priolab sweep` into a request: words NAME=VALUE,..., a named sweep, or a file. Pure.

Without a knob, a scenario or a sweep, the request is the default sweep, without servers that are not installed.
If only knobs are given, they make up the grid. Knobs beside a named sweep, a file or a scenario replace the values of
the sweep, file or scenario.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from priolab.common.errors import GridError, ScenarioError
from priolab.experiments.execution.cli_request import RUN_KNOBS, run_values, unknown_knob
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.named import entry_of
from priolab.experiments.setup.setup_request import DEFAULT_SWEEP, RUN_WORDS
from priolab.experiments.sweep import sweep_file
from priolab.experiments.sweep.grid import Grid, as_installed, at_instants, grid_from
from priolab.experiments.sweep.sweep_file import SweepFile
from priolab.netem.link_profiles import layered

_SWEEP, _SCENARIO, _SERVER = "SWEEP", "SCENARIO", "SERVER"
_WORDS = (_SWEEP, _SCENARIO, *KNOBS, *RUN_WORDS)
_SAMPLE = "100ms"
"""The sampling interval of a sweep, ten times that of an experiment. First bytes stay as precise, because the client
records them. The part of the wait that the ledger explains changes by two thousandths. A run's folder takes a quarter
of the space, and the evaluation of a run takes a third of the time."""


@dataclass(frozen=True, kw_only=True)
class SweepRequest:
    """A grid and its execution options. run: the values of the options, by name."""

    name: str
    title: str
    grid: Grid
    run: Mapping[str, Any]

    @property
    def runs(self) -> int:
        """The number of runs, twins included."""
        return (self.grid.combinations + self.grid.networks) * int(self.run["REPEAT"])


def sweep_request_from(
    words: Sequence[str], over: Sequence[str] = (), is_absent: Callable[[str], bool] = lambda _: False
) -> SweepRequest:
    """Builds the request from words: NAME=VALUE,VALUE, or the name of a sweep.

    over: words that override `words`, such as make's variables. is_absent: returns True for a server that the default
    sweep must leave out; called for the default sweep alone. Raises ScenarioError, also for a name given twice.
    """
    given = _once(words) | dict(map(_split, over))
    scenario = {name: tuple(map(str.strip, given[name].split(","))) for name in given if name in KNOBS}
    sweep = sweep_file.named(given[_SWEEP]) if _SWEEP in given else None
    if not sweep and _SCENARIO not in given and not scenario:
        sweep = _without(is_absent, sweep_file.named(DEFAULT_SWEEP))
    entry = entry_of(given[_SCENARIO]) if _SCENARIO in given else None
    base = {name: (value,) for name, value in entry.knobs.items()} if entry else {}
    grid = at_instants(as_installed(grid_from(layered(layered(base, sweep.values if sweep else {}), scenario))))
    words_of_run = {name: given[name] for name in given if name in RUN_WORDS}
    return SweepRequest(
        name=sweep.name if sweep else "sweep",
        title=sweep.title if sweep else f"{' x '.join(grid.levels)}",
        grid=grid,
        run=run_values({"SAMPLE": _SAMPLE, **(sweep.run if sweep else {}), **words_of_run}),
    )


def _without(is_absent: Callable[[str], bool], sweep: SweepFile) -> SweepFile:
    """Returns the sweep without absent servers, and with a title that names them.

    Returns the sweep unchanged if all servers are absent.
    """
    here = tuple(name for name in sweep.values[_SERVER] if not is_absent(name))
    if not here or here == sweep.values[_SERVER]:
        return sweep
    left_out = ", ".join(name for name in sweep.values[_SERVER] if name not in here)
    return replace(
        sweep, title=f"{sweep.title}, without {left_out} (not installed)", values={**sweep.values, _SERVER: here}
    )


def _once(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, value in map(_split, words):
        if name in given:
            raise GridError(f"{name} is given twice, {given[name]} and {value}; write several values as A,B")
        given[name] = value
    return given


def _split(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        return _SWEEP, word
    if name in _WORDS:
        return name, value
    if name in RUN_KNOBS:
        raise ScenarioError(name, value, f"the knobs of a sweep: {', '.join(RUN_WORDS)}, and the knobs of a scenario")
    raise unknown_knob(name, _WORDS)
