"""The arms of the story and of the slider, run before they are shown: for the slides and `priolab demo --prepare`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from priolab.common.errors import StepFailed, Unavailable
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.request import Arm, Request, RunSettings
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.demo.arm_view import FinishedArm
from priolab.extras.demo.choices import LOWATS
from priolab.extras.demo.finished_arms import FinishedArms
from priolab.extras.demo.story import StoryStep, steps

_STEP = "running the story"


def prepare(run_settings: RunSettings, results: Path, report: Report) -> None:
    """Runs the missing arms of all steps and of all stops of the slider; reports what is ready. Raises LabError."""
    told = [step for step in steps() if can_be_run(step, run_settings, report)]
    stops = [{"LOWAT": value} for value in LOWATS if lack_of({"LOWAT": value}, run_settings) is None]
    arms = [arm_of_knobs(knobs) for knobs in (*(knobs for step in told for knobs in step.arms), *stops)]
    run_missing(arms, run_settings, results, report)
    report.say(f"ready: {len(told)} of {len(steps())} steps of the story, {len(stops)} stops of the slider", "green")


def can_be_run(step: StoryStep, run_settings: RunSettings, report: Report) -> bool:
    """Returns True if the step's arms can be run here; otherwise reports that the step is left out."""
    lack = next((error for knobs in step.arms if (error := lack_of(knobs, run_settings))), None)
    if lack:
        report.say(f"left out: {step.title}: {lack}", "yellow")
    return lack is None


def lack_of(knobs: Mapping[str, str], run_settings: RunSettings) -> Unavailable | None:
    """Returns why an arm cannot be run here, if so."""
    scenario = arm_of_knobs(knobs).scenario
    try:
        run_settings.fabric.check_usable(scenario, run_settings.shaper)
        run_settings.fabric.tools(scenario, capture=False)
    except Unavailable as error:
        return error
    return None


def arm_of_knobs(knobs: Mapping[str, str]) -> Arm:
    """Returns an arm, named after the knobs that differ from their defaults."""
    complete = with_defaults(knobs)
    unusual = [f"{name}-{value}" for name, value in complete.items() if value != KNOBS[name].default]
    return Arm(name="-".join(unusual).lower() or "usual", knobs=complete)


def run_missing(
    arms: Sequence[Arm], run_settings: RunSettings, results: Path, report: Report
) -> dict[str, FinishedArm]:
    """Runs the unfinished arms, as one experiment. Returns the finished arms by name.

    Raises LabError; StepFailed if a run is not ok.
    """
    finished = FinishedArms(results)
    found = _found(arms, run_settings, results, finished)
    if missing := _distinct([arm for arm in arms if arm.name not in found]):
        request = Request(name="story", arms=missing, repeat=1, run_settings=run_settings, results=results)
        report.announce(request)
        with report.progress(request) as progress:
            run_experiment(request, progress)
        found = _found(arms, run_settings, results, finished)
    if lack := next((arm for arm in arms if arm.name not in found), None):
        raise StepFailed(_STEP, f"the run of {lack.name} is not ok; `priolab show` gives the reason")
    return found


def _distinct(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    return tuple({arm.name: arm for arm in arms}.values())


def _found(
    arms: Sequence[Arm], run_settings: RunSettings, results: Path, finished: FinishedArms
) -> dict[str, FinishedArm]:
    """Returns the finished arms, by name."""
    asked = {
        arm.name: Request(name=arm.name, arms=(arm,), repeat=1, run_settings=run_settings, results=results)
        for arm in _distinct(arms)
    }
    return {name: shown for name, request in asked.items() if (shown := finished.find(request))}
