"""Runs a sweep, from the request to the folder that holds all of its runs."""

import hashlib
import json
import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from common.formats import RUN_FORMAT
from experiments.errors import GridError, ScenarioError, StepFailed, Unavailable
from experiments.execution.conclusion import Ending, Run
from experiments.execution.executor import Executor
from experiments.execution.experiment import git_revision, results_folder
from experiments.execution.fingerprint import fingerprint_here, newest
from experiments.execution.local import bearable
from experiments.execution.request import Manner, Request
from experiments.host.plural import counted
from experiments.host.tools import Tools
from experiments.run.fabrics import FABRICS, choose
from experiments.scenario.knobs import scenario_from
from experiments.scenario.scenario import Scenario, as_document
from experiments.sweep import estimate
from experiments.sweep.folder import SweepFolder
from experiments.sweep.grid import Grid, Point, expand
from experiments.sweep.invocation import Asked
from experiments.testbed.fabric import Fabric

_FORMAT = 1
_ASK_FROM = 10_000
_MOST = 1_000_000
_ENOUGH = 1000
"""Arms that the estimate for a large grid is based on."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep to run. order_seed: for the order in which runs are handed out; reuse: True if a finished one will do."""

    name: str
    title: str
    grid: Grid
    points: tuple[Point, ...]
    repeat: int
    seed: int
    order_seed: int
    manner: Manner
    results: Path
    reuse: bool = False

    @cached_property
    def scenarios(self) -> list[Scenario]:
        """The scenarios of all arms, in their order."""
        return [point.arm.scenario for point in self.points]

    def runs(self) -> dict[str, Run]:
        """Every run by name, arm by arm. Arms share the seed of a repetition; twins have seeds of their own."""
        runs = {}
        for point in self.points:
            first = self.seed + (self.repeat if point.twin_of else 0)
            for number in range(self.repeat):
                run = Run(arm=point.arm, repetition=number + 1, seed=first + number)
                runs[run.name] = run
        return runs

    def order(self) -> list[str]:
        """Names of the runs, shuffled, so that no arm has a time of day of its own."""
        names = list(self.runs())
        random.Random(self.order_seed).shuffle(names)
        return names


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """Progress callbacks.

    `step(text)`: a step before the runs. `opened(folder)`: the folder, with the runs already in it. `ended(run, ending,
    document)`: a run ended; document is its run.json. `reused(folder)`: this folder is used instead of running.
    """

    step: Callable[[str], None]
    opened: Callable[[SweepFolder], None]
    ended: Callable[[Run, Ending, Mapping[str, Any]], None]
    reused: Callable[[Path], None] = lambda _: None


def sweep_from(asked: Asked, *, yes: bool) -> Sweep:
    """Builds the checked sweep. Raises ScenarioError, Unavailable, and GridError for a large grid without `yes`."""
    points = expanded(asked, yes=yes)
    fabric, why = _fabric([point.arm.scenario for point in points], asked)
    return Sweep(
        name=asked.name,
        title=asked.title,
        grid=asked.grid,
        points=points,
        repeat=asked.run["REPEAT"],
        seed=asked.run["SEED"],
        order_seed=asked.run["SEED"],
        manner=Manner(
            fabric=fabric,
            fabric_reason=why,
            shaper=asked.run["SHAPER"],
            sample_ns=asked.run["SAMPLE"],
            load_deadline_ns=asked.run["DEADLINE"],
            tuner=asked.run["TUNER"],
        ),
        results=asked.run["RESULTS"],
        reuse=asked.run["REUSE"],
    )


def expanded(asked: Asked, *, yes: bool) -> tuple[Point, ...]:
    """Every arm. Raises GridError as `expand` does; before expanding, for a grid too large without `yes`."""
    if asked.runs > _MOST or (asked.runs >= _ASK_FROM and not yes):
        raise GridError(_too_many(asked))
    return expand(asked.grid)


def run_sweep(sweep: Sweep, executor: Executor, hearing: Hearing) -> Path:
    """Runs what is missing, or finds a sweep to reuse; returns the finished folder.

    Raises LabError, and keeps the runs done by then.
    """
    tools = executor.prepare(sweep.scenarios, hearing.step)
    fingerprint = fingerprint_of(sweep, tools)
    if sweep.reuse and (found := newest(sweep.results.resolve(), fingerprint)):
        hearing.reused(found)
        return found
    results = results_folder(sweep.results)
    with SweepFolder.resume(results, fingerprint) or begin(sweep, results, fingerprint) as folder:
        runs = sweep.runs()
        if sorted(folder.order) != sorted(runs):
            raise StepFailed("the sweep", f"{folder.path / 'sweep.json'}: its order is not of the runs of this sweep")
        hearing.opened(folder)
        done = set(folder.done())
        waiting = [runs[name] for name in folder.order if name not in done]
        executor.carry_out(waiting, folder, lambda run, ending: hearing.ended(run, ending, folder.run(run.name)))
        if missing := set(folder.order).difference(folder.done()):
            lost = counted(len(missing), "run")
            raise StepFailed("the sweep", f"{lost} did not come back, {min(missing)} among them")
        return folder.publish(
            {
                "format": RUN_FORMAT,
                "experiment": folder.final.name,
                "name": sweep.name,
                "fabric": sweep.manner.fabric.name,
                "started_at": folder.document["started_at"],
                "git_revision": git_revision(),
                "fingerprint": fingerprint,
                "runs": list(runs),
            }
        )


def estimate_here(asked: Asked, scenarios: Sequence[Scenario], side_by_side: int | None = None) -> estimate.Estimate:
    """Estimates the time on this machine, or on a similar one with the fabric.

    side_by_side: None for as many as it bears.
    """
    try:
        fabric, _ = _fabric(scenarios, asked)
    except Unavailable:
        fabric = FABRICS.get(asked.run["FABRIC"], next(iter(FABRICS.values())))
    return estimate.of_all(
        scenarios,
        asked.runs,
        virtual_clock=fabric.virtual_clock,
        side_by_side=side_by_side or bearable(scenarios, fabric),
        runs_per_command=fabric.runs_per_command,
    )


def begin(sweep: Sweep, results: Path, fingerprint: Mapping[str, Any]) -> SweepFolder:
    """Makes a new folder for the sweep, without a run."""
    started = datetime.now(UTC)
    name = f"{sweep.name}-{started:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    return SweepFolder.begin(
        results / name,
        {
            "format": _FORMAT,
            "sweep": name,
            "name": sweep.name,
            "title": sweep.title,
            "started_at": started.isoformat(timespec="seconds"),
            "grid": {knob: list(values) for knob, values in sweep.grid.levels.items()},
            "fixed": dict(sweep.grid.fixed),
            "repeat": sweep.repeat,
            "seed": sweep.seed,
            "order_seed": sweep.order_seed,
            "fabric": sweep.manner.fabric.name,
            "fingerprint": fingerprint,
            "arms": [
                {
                    "arm": point.arm.name,
                    "levels": point.levels,
                    "knobs": point.arm.knobs,
                    "twin_of": point.twin_of,
                }
                for point in sweep.points
            ],
            "order": sweep.order(),
        },
    )


def fingerprint_of(sweep: Sweep, tools: Mapping[str, Tools]) -> dict[str, Any]:
    """The fingerprint, as an experiment's, but with the arms as a digest: there may be thousands."""
    request = Request(
        name=sweep.name,
        arms=(),
        repeat=sweep.repeat,
        manner=sweep.manner,
        results=sweep.results,
        seed=sweep.seed,
    )
    arms = hashlib.sha256()
    for point in sweep.points:
        document = {"arm": point.arm.name, **as_document(point.arm.scenario)}
        arms.update(json.dumps(document, sort_keys=True).encode())
    return fingerprint_here(request, tools) | {"arms": arms.hexdigest()}


def _fabric(scenarios: Sequence[Scenario], asked: Asked) -> tuple[Fabric, str]:
    """The fabric that can run all scenarios. Probing takes a moment, so it sees one scenario of each kind."""
    largest = max(scenario.size_bytes for scenario in scenarios)
    kinds = {(each.congestion_control, each.link.shaped, each.size_bytes == largest): each for each in scenarios}
    return choose(asked.run["FABRIC"], list(kinds.values()), asked.run["SHAPER"])


def _too_many(asked: Asked) -> str:
    possible = []
    for knobs in asked.grid.some(_ENOUGH):
        try:
            possible.append(scenario_from(knobs))
        except ScenarioError:
            continue
    about = f"{asked.runs:,} runs: {counted(asked.grid.combinations, 'arm')} and {counted(asked.grid.networks, 'twin')}"
    about += f", {asked.run['REPEAT']} times each"
    if possible:
        about += f"; about {estimate.duration(estimate_here(asked, possible).wall_s)} on this machine"
    remedy = "divide it" if asked.runs > _MOST else "`priolab sweep` with --yes runs it all the same"
    return f"the grid has {about}; {remedy}"
