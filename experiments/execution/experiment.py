"""Runs an experiment: carries out its arms side by side, and publishes one folder when all results are in it."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from priolab.common.formats.experiment import ExperimentRecord
from priolab.common.formats.files import write_json
from priolab.common.formats.scenario import ClientKind
from priolab.common.home import ROOT, is_clone
from priolab.common.process.search_path import program_environment
from priolab.common.running import ProgramFailed, finished
from priolab.experiments.execution.conclusion import Run
from priolab.experiments.execution.fingerprint import fingerprint_here, newest
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Request
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.results.results_folder import folder_name, results_folder
from priolab.experiments.results.run_folder import PartialFolder, RunFolder
from priolab.experiments.scenario.scenario import Scenario

_GIT_S = 30.0


def run_experiment(request: Request, progress: Progress) -> Path:
    """Runs all arms, or finds a finished experiment to reuse; returns its folder. Raises LabError.

    An interruption leaves no folder. The caller must have checked that the fabric can be used.
    """
    run_settings = request.run_settings
    scenarios = [arm.scenario for arm in request.arms]
    executor = Local(
        run_settings, request.side_by_side or side_by_side(scenarios, run_settings.fabric), progress=progress
    )
    tools = executor.prepare(scenarios, partial(progress.step, "preparation"))
    fingerprint = fingerprint_here(request, tools)
    if request.reuse and (found := newest(request.results.resolve(), fingerprint, progress.note)):
        progress.reused(found)
        return found
    started = datetime.now(UTC)
    final = results_folder(request.results) / folder_name(request.name, started)
    with PartialFolder(final) as partial_folder:
        executor.carry_out(
            _runs(request),
            _ExperimentRuns(partial_folder.path, final),
            lambda run, ending: progress.ended(run.name, ending.status, ending.reason),
        )
        names = [f"{arm.name}.{number}" for arm in request.arms for number in range(1, request.repeat + 1)]
        record = ExperimentRecord(
            experiment=final.name,
            name=request.name,
            fabric=run_settings.fabric.name,
            started_at=started.isoformat(timespec="seconds"),
            git_revision=git_revision(),
            fingerprint=fingerprint,
            runs=tuple(names),
        )
        write_json(partial_folder.path / "experiment.json", asdict(record))
        return partial_folder.publish()


def side_by_side(scenarios: Sequence[Scenario], fabric: Fabric) -> int:
    """Returns how many arms of an experiment to run at once.

    With the lab's own client on real clocks, the limit is one arm per processor. Measurements show that this is
    accurate enough for a few arms. For the hours of a sweep nobody has measured it. Otherwise the limit is the one for
    sweeps (local.bearable): in guests one run per processor, else one per two processors, or fewer if memory is short.
    """
    if fabric.virtual_clock or any(scenario.client is not ClientKind.H2 for scenario in scenarios):
        return bearable(scenarios, fabric)
    return len(os.sched_getaffinity(0))


def _runs(request: Request) -> list[Run]:
    """Returns all runs, repetition by repetition. Arms of a repetition share a seed, so only their scenarios differ."""
    return [
        Run(arm=arm, repetition=repetition, seed=request.seed + repetition - 1)
        for repetition in range(1, request.repeat + 1)
        for arm in request.arms
    ]


class _ExperimentRuns:
    """The RunStore of an experiment. The experiment folder has a provisional name, the run folders have final ones."""

    def __init__(self, path: Path, final: Path) -> None:
        self.final = final
        self._path = path

    def building(self, name: str) -> RunFolder:
        return RunFolder(self._path / name)

    def file(self, name: str) -> None:
        """Does nothing. The RunStore of a sweep renames a finished run folder here; these have final names already."""


def git_revision() -> str | None:
    """Returns the git revision of the lab's code; None if the code is not in a clone, or git fails or is too slow."""
    if not is_clone():  # the code may be installed inside another repository
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return finished(command, _GIT_S, environment=program_environment()).out.strip() or None
    except ProgramFailed:
        return None
