"""Runs an experiment for a study. Every run must be ok, because the study's results depend on every run."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from priolab.analysis.records.runs import Experiment, load_experiment
from priolab.common.errors import InvalidRun
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.cli_request import run_values
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.request import Arm, Request, RunSettings
from priolab.experiments.run.fabrics import choose
from priolab.experiments.setup.programs import browser_tools, tools_for


def check_programs(arms: Iterable[Arm]) -> None:
    """Checks that the servers and browsers of the arms are there. Raises Unavailable for the first missing one."""
    scenarios = [arm.scenario for arm in arms]
    for scenario in {each.front_key: each for each in scenarios}.values():
        tools_for(scenario, capture=False)
    for scenario in {each.client: each for each in scenarios}.values():
        browser_tools(scenario)


def run_in_guest(
    name: str, arms: Sequence[Arm], results: Path, report: Report, *, invalid_too: bool = False
) -> Experiment:
    """Runs arms in the guest, with the default execution options.

    name: the experiment's name. results: the folder for the results. invalid_too: True if the study shows which runs
    are invalid. Raises LabError, also if a run is not ok, with invalid_too only if it failed.
    """
    run = run_values({})
    fabric, why = choose("virtual", [arm.scenario for arm in arms], None)
    request = Request(
        name=name,
        arms=tuple(arms),
        repeat=1,
        run_settings=RunSettings(fabric=fabric, fabric_reason=why, sample=run["SAMPLE"]),
        results=results,
        seed=run["SEED"],
    )
    return run_checked(request, report, invalid_too=invalid_too)


def run_checked(request: Request, report: Report, *, invalid_too: bool = False, steps: bool = True) -> Experiment:
    """Runs the experiment, or reuses a finished experiment if the request allows reuse.

    invalid_too: as for run_in_guest. steps: as for Report.progress. Raises LabError, also if a run is not ok.
    """
    with report.progress(request, steps=steps) as progress:
        experiment = load_experiment(run_experiment(request, progress))
    allowed = ("ok", "invalid") if invalid_too else ("ok",)
    for run in experiment.runs:
        if run.status not in allowed:
            raise InvalidRun(f"{experiment.path.name}, {run.path.name}", "a run that is ok", run.record.reason)
    return experiment
