"""Runs an experiment for a study. Every run must be ok, because the study's results depend on every run."""

from collections.abc import Sequence
from pathlib import Path

from analysis.records.runs import Experiment, load_experiment
from experiments.commands.console import Report
from experiments.errors import InvalidRun
from experiments.execution.experiment import run_experiment
from experiments.execution.invocation import run_values
from experiments.execution.progress import Progress
from experiments.execution.request import Arm, Manner, Request
from experiments.run.fabrics import choose


def run_in_guest(name: str, arms: Sequence[Arm], results: Path, report: Report) -> Experiment:
    """Runs arms once each in the guest, with the default execution options.

    name: the experiment's name. results: the folder for the results. Raises LabError, also if a run is not ok.
    """
    run = run_values({})
    fabric, why = choose("virtual", [arm.scenario for arm in arms], None)
    request = Request(
        name=name,
        arms=tuple(arms),
        repeat=1,
        manner=Manner(fabric=fabric, fabric_reason=why, sample=run["SAMPLE"]),
        results=results,
        seed=run["SEED"],
    )
    return run_checked(request, report)


def run_checked(request: Request, report: Report) -> Experiment:
    """Runs the experiment, or reuses a finished experiment if the request allows reuse.

    Raises LabError, also if a run is not ok.
    """
    with report.progress(request) as progress:
        return run_checked_with(request, progress)


def run_checked_with(request: Request, progress: Progress) -> Experiment:
    """Runs the experiment, or reuses a finished experiment if the request allows reuse.

    progress: the caller's callbacks, which hear of each step and run. Raises LabError, also if a run is not ok.
    """
    experiment = load_experiment(run_experiment(request, progress))
    for run in experiment.runs:
        if run.status != "ok":
            raise InvalidRun(f"{experiment.path.name}, {run.path.name}", "a run that is ok", run.record.reason)
    return experiment
