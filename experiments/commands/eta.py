"""Plans the work of an experiment or a sweep, and says in a line how far it is."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from priolab.experiments.commands.durations import about, clock, duration
from priolab.experiments.commands.link_clock import link_s
from priolab.experiments.commands.progress import Planned, Work
from priolab.experiments.execution import cost, pace
from priolab.experiments.execution.experiment import side_by_side
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Arm, Request, RunSettings


def work_of(
    arms: Iterable[Arm],
    runs: Mapping[str, str],
    run_settings: RunSettings,
    *,
    jobs: int,
    slowness: float | None,
    batches: int | None = None,
) -> Work:
    """Returns the progress of runs before the first one. runs: the arm of each run, by the run's name.

    jobs: the number of jobs side by side. slowness: see Work. batches: the number of guests that start in all; None if
    no guest starts later.
    """
    in_guests = run_settings.fabric.virtual_clock
    start_s, starts = cost.GUEST_S if in_guests else 0.0, min(jobs, len(runs) if batches is None else batches)
    later_s = start_s * ((batches or starts) - starts) / len(runs)
    return Work(
        arms={
            arm.name: Planned(
                cost_s=later_s + cost.cost_s(arm.scenario, virtual_clock=in_guests, sample=run_settings.sample),
                link_s=cost.link_s(arm.scenario),
            )
            for arm in arms
        },
        runs=runs,
        side_by_side=jobs,
        slowness=slowness,
        start_s=start_s,
        starts=starts,
        link_clock=link_s,
    )


def work_of_experiment(request: Request) -> Work:
    """Returns the progress of an experiment before its first run."""
    scenarios, fabric = [arm.scenario for arm in request.arms], request.run_settings.fabric
    return work_of(
        request.arms,
        {f"{arm.name}.{number}": arm.name for number in range(1, request.repeat + 1) for arm in request.arms},
        request.run_settings,
        jobs=request.side_by_side or side_by_side(scenarios, fabric),
        slowness=pace.learned(pace.kind(scenarios, fabric)) if fabric.virtual_clock else 1.0,
    )


def noted_in(work: Work, reused: Callable[[Path], None], note: Callable[[str], None]) -> Progress:
    """Returns the functions by which runs report to `work`. reused, note: see Progress."""
    return Progress(
        step=lambda name, text: work.step(name, text, time.monotonic()),
        ended=lambda name, status, _: work.ended(name, status, time.monotonic()),
        reused=reused,
        note=note,
        begun=lambda name, folder: work.begun(name, folder, time.monotonic()),
        carried_out=work.carried_out,
    )


def head(name: str, work: Work, now_s: float, wall_s: float) -> str:
    """Returns the line for an experiment. name: the experiment's name. wall_s: its wall time so far."""
    text = f"{name}: {work.runs_done} of {len(work.runs)} runs done, {clock(wall_s)}"
    if (left_s := work.left_s(now_s)) is not None:
        text += f", about {about(left_s)} left"
    return f"{text}; {work.aside}" if work.aside else text


def tally(work: Work, now_s: float, wall_s: float) -> str:
    """Returns the line for a sweep. wall_s: the wall time of this process's runs so far."""
    words = f"{work.arms_done} of {len(work.arms)} arms, {work.runs_done} of {len(work.runs)} runs"
    for status, count in list(work.statuses.items()):  # a copy, because another thread calls this
        words += f", {count} {status}" if status != "ok" else ""
    if work.link_s and wall_s > 0:
        words += f"; {duration(work.link_s)} of link time, {work.link_s / wall_s:.0f}x real time"
    if not work.runs_left:
        return f"{words}; took {duration(wall_s)}"
    left_s = work.left_s(now_s)
    return words if left_s is None else f"{words}; about {duration(left_s)} left"
