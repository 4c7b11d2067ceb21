"""Experiments and sweeps as values: the part of `import priolab` that makes and reads runs.

Times are in milliseconds since the request of the measured load's page, and sizes in bytes, unless a name says
otherwise. What reads a folder raises FolderError, which names the damaged file. What runs something raises LabError,
with the words of the command `priolab`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from priolab.analysis.exports.recording import album
from priolab.analysis.exports.tables import Table, tables
from priolab.analysis.records import runs as recorded
from priolab.analysis.reports.markdown import Table as TextTable
from priolab.analysis.reports.summary import summarize, typical
from priolab.analysis.sweeps import folder as swept
from priolab.analysis.sweeps import summary as of_sweep
from priolab.analysis.sweeps import table, validation
from priolab.common.errors import InvalidRun, ScenarioError, StepFailed, Unavailable
from priolab.experiments.commands.drawing import no_figures
from priolab.experiments.execution.cli_request import request_from, split_words
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Request
from priolab.experiments.setup.python_packages import installing
from priolab.experiments.sweep.sweep import SweepProgress, run_sweep, sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.runs import Run

if TYPE_CHECKING:
    from priolab.experiments.commands.console import Report

Value = str | int | float | bool | None | Path
"""A knob's value: its text, or a number; None for `none`, True for `yes`, False for `no`."""

FRAMES = ("pandas", "polars")


def run(
    scenario: str | Mapping[str, Mapping[str, Value]] | None = None,
    /,
    *,
    progress: "Callable[[str], None] | Report | None" = None,
    **knobs: Value | Sequence[Value],
) -> "Experiment":
    """Runs an experiment, as `priolab run` does. Returns it, also if a run is not ok (`Experiment.check`).

    scenario: a name that `priolab list` shows, or a path that ends in .toml; or the arms: for each, by its name, the
    knobs in which it differs. knobs: LOWAT=131072, SERVER="h2o", RELOADS=0, LOWAT=[None, 16384] for several arms;
    docs/reference/knobs.md has all. RESULTS, by default the folder results in the current one, gets the experiment's
    folder. progress: called with a line for each step; by default lines go to standard error. The lab's own commands
    give the report that shows their runs. Raises ScenarioError for a value that is not allowed, Unavailable, and
    StepFailed.
    """
    if isinstance(scenario, Mapping):
        of_arms = {name: {knob: _text(value) for knob, value in own.items()} for name, own in scenario.items()}
        request = request_from(split_words(_words(None, knobs)), of_arms)
    else:
        request = request_from(split_words(_words(scenario, knobs)))
    with _shown(progress, request) as told:
        return load_experiment(run_experiment(request, told))


def sweep(
    name: str | None = None, /, *, progress: Callable[[str], None] | None = None, **knobs: Value | Sequence[Value]
) -> "Sweep":
    """Runs every combination of the values, or resumes doing so, as `priolab sweep` does. Returns the finished sweep.

    name: a sweep that `priolab list` shows, or a path that ends in .toml; None if the knobs make up the grid. knobs,
    progress: as for `run`, with a sequence for several values of a knob. Raises as `run`.
    """
    tell = progress or _tell
    wanted = sweep_from(sweep_request_from(_words(name, knobs)), yes=False)
    told = SweepProgress(
        step=tell,
        opened=lambda folder: tell(f"results: {folder.path}"),
        ended=lambda one, ending, _: tell(f"{one.name}: {ending.status}"),
        reused=lambda folder: tell(f"the results in {folder} are used again"),
        note=tell,
    )
    executor = Local(wanted.run_settings, bearable(wanted.scenarios, wanted.run_settings.fabric))
    return load_sweep(run_sweep(wanted, executor, told))


def load_experiment(folder: str | Path) -> "Experiment":
    """Returns the experiment in a folder, which `priolab run` or `priolab sweep` has finished. Raises FolderError."""
    return Experiment(recorded.load_experiment(Path(folder)))


def load_sweep(folder: str | Path) -> "Sweep":
    """Returns the sweep in a folder, which may be unfinished. Raises FolderError."""
    return Sweep(swept.load_sweep(Path(folder)))


@dataclass(frozen=True, kw_only=True)
class Arm:
    """An arm of an experiment: the medians of its runs, and the rest from the run with the median first byte.

    name: as in the table of results. status: ok, or the worst of its runs. reason: why a run is not ok, else None.
    verdict: inverted, kept, undecided or nothing-to-prioritize, and verdict_reason a sentence; None if no run is ok.
    first_byte_ms, available_ms: when the first byte of the focal resource came to the client, and when the origin had
    it. resources: the times of each resource of the measured load, by its name. ledger_ms: how long that first byte
    waited in each layer, by the layer's name; empty without a ledger. scenario, observed: what was asked for and what
    was seen, as in run.json. notes: sentences about what to heed. runs: its repetitions, in order.
    """

    name: str
    status: str
    reason: str | None
    verdict: str | None
    verdict_reason: str | None
    first_byte_ms: float | None
    available_ms: float | None
    resources: Mapping[str, Mapping[str, Any]]
    ledger_ms: Mapping[str, float]
    scenario: Mapping[str, Any]
    observed: Mapping[str, Any]
    notes: Sequence[str]
    runs: Sequence[Run] = field(repr=False)

    @property
    def median_run(self) -> Run | None:
        """The run with the median first byte; None if no run is ok."""
        return typical(self.runs)


class Experiment:
    """An experiment that is finished. Its `repr` has a line for each arm."""

    def __init__(self, experiment: recorded.Experiment) -> None:
        self._experiment = experiment

    def __repr__(self) -> str:
        return "\n".join([f"{self.path.name}: {self.status}", *map(_line, self.arms.values())])

    @property
    def path(self) -> Path:
        """The folder of the results (docs/reference/results.md)."""
        return self._experiment.path

    @property
    def started_at(self) -> str:
        """The date and time of the start, in ISO 8601."""
        return self._experiment.record.started_at

    @property
    def status(self) -> str:
        """The status: ok, or the worst of its runs: failed, invalid or unsupported."""
        return str(self.summary["status"])

    @cached_property
    def runs(self) -> Sequence[Run]:
        """All runs, arm by arm."""
        return [one for arm in self.arms.values() for one in arm.runs]

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The document that `priolab show --json` prints."""
        return summarize(self._experiment)

    @cached_property
    def arms(self) -> Mapping[str, Arm]:
        """The arms by name, in the order in which they were asked for."""
        runs = self._experiment.arms()
        return MappingProxyType({arm["name"]: _arm(arm, runs[arm["name"]]) for arm in self.summary["arms"]})

    def check(self) -> Self:
        """Returns the experiment if every run is ok. Raises InvalidRun, with the reason of the first that is not."""
        for arm in self.arms.values():
            if arm.status != "ok":
                raise InvalidRun(f"{self.path.name}, {arm.name}", "runs that are ok", arm.reason or arm.status)
        return self

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Returns a table's rows, with None for what is missing. Runs that are not ok are left out.

        table: loads, resources, ledger, events, arrivals, sockets or queue (docs/guide/exports.md has the columns).
        Raises ScenarioError for another name, and FolderError.
        """
        made = self._table(table)
        return [{name: row[name] for name in made.columns} for row in made.rows]

    def frame(self, table: str, library: str = "pandas") -> Any:
        """Returns a table as a DataFrame of pandas or polars. Raises Unavailable if the library is not installed.

        table: as for `rows`. library: pandas or polars. Raises ScenarioError for others, and FolderError.
        """
        if library not in FRAMES:
            raise ScenarioError("library", library, ", ".join(FRAMES))
        made = self._table(table)
        try:
            frames = import_module(library)
        except ModuleNotFoundError as error:
            raise Unavailable(library, "it is not installed", f"run {installing('frames')}") from error
        return frames.DataFrame({name: [row[name] for row in made.rows] for name in made.columns})

    def figure(self, name: str = "timeline", *, arms: Sequence[str] = ()) -> "Figure":
        """Returns a figure. Raises ScenarioError for another name, or if these runs have no such figure.

        name: timeline, filmstrip, ledger-bar, ledger-area, ladder or clients. arms: the names of those to show, by
        default all. Raises StepFailed if nothing can be drawn here.
        """
        figures = _drawing("all_figures").FIGURES
        if name not in figures:
            raise ScenarioError("figure", name, ", ".join(figures))
        if unknown := set(arms) - self.arms.keys():
            raise ScenarioError("arms", ", ".join(sorted(unknown)), ", ".join(self.arms))
        shown = tuple(one for one in self._experiment.runs if not arms or one.arm in arms)
        drawn = figures[name](replace(self._experiment, runs=shown))
        if drawn is None:
            raise ScenarioError("figure", name, "a figure for which the runs have data")
        return Figure(drawn)

    @cached_property
    def _tables(self) -> Mapping[str, Table]:
        return {table.name: table for table in tables(album(self._experiment))}

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            raise ScenarioError("table", name, ", ".join(self._tables))
        return self._tables[name]


@dataclass(frozen=True, kw_only=True)
class SweepArm:
    """An arm of a sweep. knobs: the swept values as text, LOWAT in bytes, `none` or `auto`. ok, asked: counts of runs.

    first_byte_ms: of each ok run, the first byte of the focal resource. runs: the ok runs.
    """

    name: str
    knobs: Mapping[str, str]
    ok: int
    asked: int
    first_byte_ms: Sequence[float]
    runs: Sequence[Run] = field(repr=False)


class Sweep:
    """A sweep. Its `repr` has a line for each network, with the recommended value."""

    def __init__(self, found: swept.Sweep) -> None:
        self._sweep = found

    def __repr__(self) -> str:
        head = f"{self.path.name}: {len(self.arms)} arms" + ("" if self.is_finished else ", unfinished")
        lines = [f"{name}: {value or 'no recommendation'}" for name, value in self.recommended.items()]
        return "\n".join([head, *lines])

    @property
    def path(self) -> Path:
        """The folder of the results."""
        return self._sweep.path

    @property
    def is_finished(self) -> bool:
        """True if no run will be added."""
        return self._sweep.is_finished

    @cached_property
    def arms(self) -> Mapping[str, SweepArm]:
        """The arms by name."""
        return MappingProxyType(
            {
                arm.name: SweepArm(
                    name=arm.name,
                    knobs=arm.knobs,
                    ok=len(arm.good),
                    asked=arm.asked,
                    first_byte_ms=tuple(one.record.measured.first_byte_ms for one in arm.good),
                    runs=tuple(map(_run, arm.good)),
                )
                for arm in self._sweep.arms
            }
        )

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The document that `priolab knee --json` prints."""
        return of_sweep.summarize(self._sweep)

    @property
    def recommended(self) -> Mapping[str, str | None]:
        """The recommended LOWAT of each network, by the network's name; None without a recommendation."""
        return {each["network"]: each["knee"]["recommended"] for each in self.summary["networks"]}

    @property
    def tables(self) -> Mapping[str, TextTable]:
        """The table of each network, by the network's name, with a row for each LOWAT: `head` and `rows` are text."""
        return {each["network"]: table.of_values(each) for each in self.summary["networks"]}

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about what to heed in the tables."""
        return table.notes(self.summary)

    def confirm(self, experiment: Experiment) -> Mapping[str, Sequence[validation.Kept]]:
        """Compares new runs of the recommended LOWAT with what the sweep promises, for each network by its name.

        Each comparison has `words`, and `holds`. Raises FolderError if a network has no recommendation, or no new run.
        """
        return {each["network"]: validation.check(each, experiment.runs) for each in self.summary["networks"]}

    def experiment(self) -> Experiment:
        """Returns the runs as an experiment, for tables and figures. Raises FolderError if the sweep is unfinished."""
        return load_experiment(self.path)

    def figure(self) -> "Figure":
        """Returns the figure of `priolab knee`. Raises ScenarioError if no network has enough values of LOWAT."""
        drawn = _drawing("knee").draw(self._sweep)
        if drawn is None:
            raise ScenarioError("figure", "knee", "a sweep with several values of LOWAT")
        return Figure(drawn)


class Figure:
    """A figure, which notebooks display. vega_lite: its declaration in Vega-Lite."""

    def __init__(self, vega_lite: Mapping[str, Any]) -> None:
        self.vega_lite = vega_lite

    def __repr__(self) -> str:
        return "a figure of priolab; .save(PATH) writes SVG, PNG or HTML"

    @property
    def svg(self) -> str:
        """The figure as SVG. Reading it raises StepFailed if nothing can be drawn here."""
        return str(_drawing("picture").drawn(self.vega_lite))

    def _repr_png_(self) -> bytes:
        return self._as(".png")

    def save(self, path: str | Path) -> Path:
        """Writes the figure and returns the path, which ends in .svg, .png or .html. Raises ScenarioError, OSError."""
        file = Path(path)
        if file.suffix not in (".svg", ".png", ".html"):
            raise ScenarioError("path", str(path), "a file whose name ends in .svg, .png or .html")
        file.write_bytes(self._as(file.suffix))
        return file

    def _as(self, suffix: str) -> bytes:
        picture = _drawing("picture")
        if suffix == ".html":
            return bytes(picture.page(self.vega_lite, "priolab").encode())
        return bytes(self.svg.encode() if suffix == ".svg" else picture.png(self.svg))


def _drawing(module: str) -> Any:
    """Returns a module of analysis/figures, which needs a library that is an extra. Raises StepFailed."""
    if lack := no_figures():
        raise StepFailed("figure", lack)
    return import_module(f"priolab.analysis.figures.{module}")


@contextmanager
def _shown(progress: "Callable[[str], None] | Report | None", request: Request) -> Iterator[Progress]:
    if progress is not None and not callable(progress):
        with progress.progress(request) as shown:
            yield shown
        return
    tell = progress or _tell
    yield Progress(
        step=lambda name, step: tell(f"{name}: {step}"),
        ended=lambda name, status, reason: tell(f"{name}: {status}" + (f", {reason}" if reason else "")),
        reused=lambda folder: tell(f"the results in {folder} are used again"),
        note=tell,
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _words(name: str | None, knobs: Mapping[str, Value | Sequence[Value]]) -> list[str]:
    """Returns the words of a command line: the name of a scenario or a sweep, if any, and KNOB=VALUE."""
    return [*([name] if name else []), *(f"{knob}={_text(value)}" for knob, value in knobs.items())]


def _text(value: Value | Sequence[Value]) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str() | Path() | int() | float():
            return str(value)
        case _:
            return ",".join(map(_text, value))


def _run(one: recorded.Run) -> Run:
    return Run(path=one.path, record=one.record)


def _arm(document: Mapping[str, Any], runs: Sequence[recorded.Run]) -> Arm:
    loads = document["loads"]
    return Arm(
        name=document["name"],
        status=document["status"],
        reason=document["reason"],
        verdict=document["verdict"],
        verdict_reason=document["verdict_reason"],
        first_byte_ms=document["first_byte_ms"],
        available_ms=document["available_ms"],
        resources=loads[-1]["resources"] if loads else {},
        ledger_ms=(document["ledger"] or {}).get("parts_ms", {}),
        scenario=document["scenario"],
        observed=document["observed"],
        notes=document["warnings"],
        runs=tuple(map(_run, runs)),
    )


def _line(arm: Arm) -> str:
    if arm.status != "ok":
        return f"{arm.name}: {arm.status}, {arm.reason}"
    return f"{arm.name}: {arm.verdict}, first byte after {(arm.first_byte_ms or 0) / 1000:.2f} s; {arm.verdict_reason}"
