"""Runs a sweep, from the request to the folder that holds all of its runs."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from priolab.analysis.sweeps.network_knobs import JS_DELAY
from priolab.common.errors import GridError, ScenarioError, StepFailed, Unavailable
from priolab.common.formats.experiment import ExperimentRecord
from priolab.common.formats.run import RunRecord
from priolab.common.formats.sweep import SweepArmRecord, SweepRecord
from priolab.common.plural import counted
from priolab.experiments.commands.durations import duration
from priolab.experiments.execution import pace
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.execution.executor import Executor
from priolab.experiments.execution.experiment import git_revision
from priolab.experiments.execution.fingerprint import fingerprint_here, newest
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.execution.request import Request, RunSettings
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.results.results_folder import folder_name, results_folder
from priolab.experiments.run.fabrics import FABRICS, choose
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import FrontKey, Scenario
from priolab.experiments.setup.tools import Tools
from priolab.experiments.sweep import estimate
from priolab.experiments.sweep.folder import SweepFolder, read_record
from priolab.experiments.sweep.grid import Grid, Point, expand
from priolab.experiments.sweep.sweep_request import SweepRequest
from priolab.proxy.server import server_of

_ASK_FROM = 10_000
_MOST = 1_000_000
_ENOUGH = 1000
"""The number of randomly drawn arms from which the time of a large grid is estimated."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep to run.

    order_seed: the seed of the order in which runs are given out. reuse: True if a finished sweep with the same
    fingerprint may be used instead.
    """

    name: str
    title: str
    grid: Grid
    points: tuple[Point, ...]
    repeat: int
    seed: int
    order_seed: int
    run_settings: RunSettings
    results: Path
    reuse: bool = False

    @cached_property
    def scenarios(self) -> list[Scenario]:
        """The scenarios of all arms, in their order."""
        return [point.arm.scenario for point in self.points]

    def runs(self) -> dict[str, Run]:
        """Returns every run by name, arm by arm.

        A repetition has the same seed in all arms except twins, which have other seeds.
        """
        runs = {}
        for point in self.points:
            first = self.seed + (self.repeat if point.twin_of else 0)
            for number in range(self.repeat):
                run = Run(arm=point.arm, repetition=number + 1, seed=first + number)
                runs[run.name] = run
        return runs

    def order(self) -> list[str]:
        """Returns the names of the runs, shuffled, so that a change of the machine over time affects all arms alike."""
        names = list(self.runs())
        random.Random(self.order_seed).shuffle(names)
        return names


@dataclass(frozen=True, kw_only=True)
class SweepProgress:
    """Functions that the sweep calls to report its progress.

    `step(text)`: a step of the preparation begins. `opened(folder)`: the sweep's folder exists, perhaps with runs of an
    earlier process. `ended(run, ending, record)`: a run ended. `reused(folder)`: this finished sweep is used, and
    nothing is run. `note(text)`: tells why others are not.
    """

    step: Callable[[str], None]
    opened: Callable[[SweepFolder], None]
    ended: Callable[[Run, Ending, RunRecord], None]
    reused: Callable[[Path], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None


def sweep_from(request: SweepRequest, *, yes: bool) -> Sweep:
    """Builds the sweep and checks it. Raises ScenarioError, Unavailable, and GridError if the grid is not allowed.

    yes: True to allow a grid of 10,000 to a million runs.
    """
    points = expanded(request, yes=yes)
    fabric, why = _fabric([point.arm.scenario for point in points], request)
    return Sweep(
        name=request.name,
        title=request.title,
        grid=request.grid,
        points=points,
        repeat=request.run["REPEAT"],
        seed=request.run["SEED"],
        order_seed=request.run["SEED"],
        run_settings=RunSettings(
            fabric=fabric,
            fabric_reason=why,
            shaper=request.run["SHAPER"],
            sample=request.run["SAMPLE"],
            load_deadline_ns=request.run["DEADLINE"],
            tuner=request.run["TUNER"],
        ),
        results=request.run["RESULTS"],
        reuse=request.run["REUSE"],
    )


def expanded(request: SweepRequest, *, yes: bool) -> tuple[Point, ...]:
    """Returns every arm. Raises GridError if the grid has too many runs, or a combination of values is not allowed.

    The number of runs is checked first. yes: True to allow a grid of 10,000 to a million runs.
    """
    if request.runs > _MOST or (request.runs >= _ASK_FROM and not yes):
        raise GridError(_too_many(request))
    return expand(request.grid)


def run_sweep(sweep: Sweep, executor: Executor, progress: SweepProgress) -> Path:
    """Carries out the missing runs, or finds a finished sweep to reuse. Returns the finished folder.

    Raises LabError. After an error, complete runs are kept.
    """
    tools = executor.prepare(sweep.scenarios, progress.step)
    fingerprint = fingerprint_of(sweep, tools)
    if sweep.reuse and (found := newest(sweep.results.resolve(), fingerprint, progress.note, read_record)):
        progress.reused(found)
        return found
    results = results_folder(sweep.results)
    with SweepFolder.resume(results, fingerprint) or begin(sweep, results, fingerprint) as folder:
        runs = sweep.runs()
        if sorted(folder.order) != sorted(runs):
            raise StepFailed(
                "the sweep", f"{folder.path / 'sweep.json'}: its key `order` lists other runs than this sweep has"
            )
        progress.opened(folder)
        done = set(folder.done())
        waiting = [runs[name] for name in folder.order if name not in done]
        executor.carry_out(waiting, folder, lambda run, ending: progress.ended(run, ending, folder.run(run.name)))
        if missing := set(folder.order).difference(folder.done()):
            lost = counted(len(missing), "run")
            raise StepFailed("the sweep", f"{lost} ended without a result, for example {min(missing)}")
        return folder.publish(
            ExperimentRecord(
                experiment=folder.final.name,
                name=sweep.name,
                fabric=sweep.run_settings.fabric.name,
                started_at=folder.record.started_at,
                git_revision=git_revision(),
                fingerprint=fingerprint,
                runs=tuple(runs),
            )
        )


def estimate_here(
    request: SweepRequest, scenarios: Sequence[Scenario], executor: Executor | None = None
) -> estimate.TimeEstimate:
    """Estimates the time of a sweep.

    executor: the executor that is to carry out the runs; None for this machine. If this machine cannot use the fabric,
    the estimate is that of a similar machine.
    """
    try:
        fabric, _ = _fabric(scenarios, request)
    except Unavailable:
        fabric = FABRICS.get(request.run["FABRIC"], next(iter(FABRICS.values())))
    here = executor is None or isinstance(executor, Local)
    side_by_side = executor.side_by_side if executor else bearable(scenarios, fabric)
    machine = estimate.Machine(
        side_by_side=side_by_side,
        runs_per_command=executor.runs_per_command if executor else fabric.runs_per_command,
        virtual_clock=fabric.virtual_clock,
        pace=pace.learned(pace.kind(scenarios, fabric)),
        free=pace.free(side_by_side) if here and fabric.virtual_clock else 1.0,
    )
    return estimate.of_all(scenarios, request.runs, machine, sample=request.run["SAMPLE"])


def begin(sweep: Sweep, results: Path, fingerprint: Mapping[str, Any]) -> SweepFolder:
    """Makes and locks a new folder for the sweep. The folder has no runs."""
    started = datetime.now(UTC)
    name = folder_name(sweep.name, started)
    return SweepFolder.begin(
        results / name,
        SweepRecord(
            sweep=name,
            name=sweep.name,
            title=sweep.title,
            started_at=started.isoformat(timespec="seconds"),
            grid={knob: tuple(values) for knob, values in sweep.grid.every_level.items()} | _instants(sweep),
            fixed=dict(sweep.grid.fixed),
            repeat=sweep.repeat,
            seed=sweep.seed,
            order_seed=sweep.order_seed,
            fabric=sweep.run_settings.fabric.name,
            fingerprint=fingerprint,
            arms=tuple(
                SweepArmRecord(arm=point.arm.name, levels=point.levels, knobs=point.arm.knobs, twin_of=point.twin_of)
                for point in sweep.points
            ),
            order=tuple(sweep.order()),
            usual_buffering={name: server_of(name).buffering.usual for name in sweep.grid.servers},
        ),
    )


def _instants(sweep: Sweep) -> dict[str, tuple[str, ...]]:
    """Returns the values of JS_DELAY, if each arm is tried at several instants."""
    if sweep.grid.instants == 1:
        return {}
    return {JS_DELAY: tuple(dict.fromkeys(point.levels[JS_DELAY] for point in sweep.points))}


def fingerprint_of(sweep: Sweep, tools: Mapping[FrontKey, Tools]) -> dict[str, Any]:
    """Returns the sweep's fingerprint: the fingerprint of an experiment, with a digest in place of the arms."""
    request = Request(
        name=sweep.name,
        arms=(),
        repeat=sweep.repeat,
        run_settings=sweep.run_settings,
        results=sweep.results,
        seed=sweep.seed,
    )
    arms = hashlib.sha256()
    for point in sweep.points:
        document = {"arm": point.arm.name, **asdict(point.arm.scenario)}
        arms.update(json.dumps(document, sort_keys=True).encode())
    return fingerprint_here(request, tools) | {"arms": arms.hexdigest()}


def _fabric(scenarios: Sequence[Scenario], request: SweepRequest) -> tuple[Fabric, str]:
    """Returns the fabric for all scenarios, and the reason for the choice.

    A check takes time. So only one scenario is checked for each combination of three properties: its congestion
    control, whether its link is shaped, and whether its page is the largest.
    """
    largest = max(scenario.whole_page.total_bytes for scenario in scenarios)
    kinds = {
        (each.congestion_control, each.link.shaped, each.whole_page.total_bytes == largest): each for each in scenarios
    }
    return choose(request.run["FABRIC"], list(kinds.values()), request.run["SHAPER"])


def _too_many(request: SweepRequest) -> str:
    grid, possible = request.grid, []
    for knobs in grid.some(_ENOUGH):
        try:
            possible.append(scenario_from(knobs))
        except ScenarioError:
            continue
    about = f"{request.runs:,} runs: {counted(grid.combinations, 'arm')} and {counted(grid.networks, 'twin')}"
    about += f", {request.run['REPEAT']} times each"
    if possible:
        about += f"; about {duration(estimate_here(request, possible).wall_s)} on this machine"
    remedy = "divide the grid" if request.runs > _MOST else "`priolab sweep` with --yes runs it all the same"
    return f"the grid has {about}; {remedy}"
