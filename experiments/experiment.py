"""One experiment: its arms, side by side, into one folder that appears only when it is complete."""

import os
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from experiments import capture, jobs, reuse, tuners
from experiments.errors import StepFailed
from experiments.making import Run, conclude, lay_out, wall_limit_s
from experiments.order import Tools
from experiments.processes import in_utc
from experiments.programs import check_levels
from experiments.record import RUN_FORMAT, PartialFolder, RunFolder, write_json
from experiments.request import Manner, Request
from experiments.scenario import Scenario

_ROOT = Path(__file__).resolve().parent.parent
_UNQUOTABLE = '"$\\{}'


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Who wants to hear what.

    step: a run has taken one; ended: a run has, with this status and reason; reused: this folder serves instead.
    """

    step: Callable[[str, str], None]
    ended: Callable[[str, str, str | None], None]
    reused: Callable[[Path], None] = lambda _: None


def run_experiment(request: Request, progress: Progress) -> Path:
    """Run all arms, unless others will do; the finished folder. Raises LabError, and leaves nothing if interrupted.

    Whether the fabric can be used was asked when it was chosen (`fabrics.fabric.choose`).
    """
    manner = request.manner
    tools = prepare(manner, [arm.scenario for arm in request.arms], partial(progress.step, "preparation"))
    fingerprint = reuse.fingerprint_here(request, tools)
    if request.reuse and (found := reuse.newest(request.results.resolve(), fingerprint)):
        progress.reused(found)
        return found
    started = datetime.now(UTC)
    final = results_folder(request.results) / f"{request.name}-{started:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    with PartialFolder(final) as partial_folder:
        tasks = []
        for run in _runs(request):
            folder = RunFolder(partial_folder.path / run.name)
            lay_out(run, folder, manner, tools[run.arm.scenario.server])
            tasks.append(
                jobs.Task(
                    name=run.name,
                    command=partial(manner.fabric.command, [(run.arm.scenario, folder)]),
                    # A guest is one processor; its threads on two of the host's wait for each other's wake-ups.
                    one_cpu=manner.fabric.virtual_clock,
                    log=folder.path / "console.log",
                    overdue=partial(_overdue, run, folder, wall_limit_s(run.arm.scenario, manner)),
                    finished=partial(_end_run, run, folder, manner, final, progress),
                )
            )
        side_by_side = request.side_by_side or len(os.sched_getaffinity(0))
        jobs.run_all(tasks, side_by_side=side_by_side, progress=progress.step)
        write_json(
            partial_folder.path / "experiment.json",
            {
                "format": RUN_FORMAT,
                "experiment": final.name,
                "name": request.name,
                "fabric": manner.fabric.name,
                "started_at": started.isoformat(timespec="seconds"),
                "git_revision": git_revision(),
                "fingerprint": fingerprint,
                "runs": [
                    f"{arm.name}.{repetition}" for arm in request.arms for repetition in range(1, request.repeat + 1)
                ],
            },
        )
        return partial_folder.publish()


def prepare(manner: Manner, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[str, Tools]:
    """Make what all runs share, and find the programs that they need, by server. Raises LabError."""
    if manner.capture:
        capture.check(own_tcpdump=manner.fabric.own_programs)
    manner.fabric.prepare(scenarios, tell)
    tuner = tuners.prepare(scenarios, manner.tuner)
    served: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        served.setdefault(scenario.server, []).append(scenario)
    found = {}
    for server, asked in served.items():
        tools = manner.fabric.tools(asked[0], capture=manner.capture)
        check_levels(asked, tools.versions[server])
        found[server] = replace(tools, tuner=tuner)
    return found


def _runs(request: Request) -> list[Run]:
    """Repetition by repetition. The arms of one have the same seed, so that they differ in what is asked alone."""
    return [
        Run(arm=arm, repetition=repetition, seed=request.seed + repetition - 1)
        for repetition in range(1, request.repeat + 1)
        for arm in request.arms
    ]


def results_folder(results: Path) -> Path:
    """The folder, made if need be. Raises StepFailed if nothing can be written there."""
    if set(str(results.resolve())) & set(_UNQUOTABLE):
        # Paths stand in configuration files, each server's with rules of its own for these.
        raise StepFailed(
            "the results folder", f"{results.resolve()} holds one of {' '.join(_UNQUOTABLE)}, which is not allowed"
        )
    try:
        results.mkdir(parents=True, exist_ok=True)
        probe = results / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StepFailed("the results folder", f"{results} cannot be written: {error.strerror}") from error
    return results.resolve()


def _overdue(run: Run, folder: RunFolder, limit_s: float, wall_s: float) -> str | None:
    return jobs.too_long(run.name, limit_s, folder.path / "console.log") if wall_s > limit_s else None


def _end_run(
    run: Run,
    folder: RunFolder,
    manner: Manner,
    final: Path,
    progress: Progress,
    finish: jobs.Finish,
) -> None:
    ending = conclude(run, folder, manner, final=final, wall_s=finish.wall_s, trouble=finish.trouble)
    progress.ended(run.name, ending.status, ending.reason)


def git_revision() -> str | None:
    """Of the lab's own code; None where it is not a git checkout."""
    command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, env=in_utc())
    except OSError:
        return None
    return done.stdout.strip() or None
