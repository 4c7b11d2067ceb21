"""Carries out the trials of a gate as runs of the lab, in one experiment."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from priolab.analysis.loads.findings import judgement
from priolab.analysis.loads.ledger import sentence
from priolab.analysis.loads.metrics import PageLoad, page_loads
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.records.runs import Experiment, Run, load_experiment
from priolab.client.plan import PROBE_LEAST_BYTES, PlanKind
from priolab.common.formats.reading import FolderError
from priolab.experiments.commands.console import short
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Arm, Request
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.extras.gate.expectations import Check, Trial
from priolab.extras.gate.judging import trial_key
from priolab.extras.gate.seen import Seen

_NAME = "gate"
_SIZE = str(PROBE_LEAST_BYTES * 3 // 2)
_PROBE = {"PLAN": str(PlanKind.PROBE), "SIZE": _SIZE, "RATE": "unlimited", "DELAY": "0ms", "LOWAT": "none"}


def request_of(checks: Iterable[Check], words: Mapping[str, str]) -> Request:
    """Returns the request for an experiment with an arm per trial. Raises LabError.

    words: the knobs and execution options that the user gave.
    """
    options = {name: text for name, text in words.items() if name not in KNOBS}
    own = {name: text for name, text in words.items() if name in KNOBS}
    arms = [
        Arm(name=_arm_name(check, trial), knobs=with_defaults({**knobs_of(trial), **own}))
        for check in checks
        for trial in check.trials()
    ]
    for arm in arms:
        _ = arm.scenario  # raises ScenarioError here, before anything runs
    request = request_from({"SAMPLE": "100ms", **own, **options, "CONTROL": "no", "LOWAT": "none"})
    return replace(request, name=_NAME, arms=tuple(arms), repeat=1)


def knobs_of(trial: Trial) -> dict[str, str]:
    """Returns the knobs of a trial, without those of the server."""
    knobs = {
        "PLAN": str(trial.plan),
        "PAGE": trial.page,
        "DIALECT": trial.dialect,
        "PRIORITY": str(trial.priorities),
        "RELOADS": str(trial.loads - 1),
        "LOWAT": "none" if trial.lowat_bytes is None else str(trial.lowat_bytes),
    }
    if trial.plan is PlanKind.PROBE:
        knobs |= _PROBE
    if trial.disturbance is not None:
        knobs["DISTURB"] = str(trial.disturbance)
    if trial.native:
        knobs["NATIVE"] = "on"
    return knobs


def carry_out(request: Request, checks: Iterable[Check], progress: Progress) -> dict[tuple[str, str], Seen]:
    """Runs the experiment; returns the observation of each trial. Raises LabError, FolderError."""
    return seen_of(load_experiment(run_experiment(request, progress)), checks)


def seen_of(
    experiment: Experiment, checks: Iterable[Check], *, prefix: str = "", repetition: int = 1
) -> dict[tuple[str, str], Seen]:
    """Returns the observation of each trial of the checks. Raises FolderError, KeyError.

    prefix: what the names of the arms have before the name that request_of gives them.
    """
    of = {run.arm: run for run in experiment.runs if run.record.repetition == repetition}
    found = {}
    for check in checks:
        for trial in check.trials():
            run = of[prefix + _arm_name(check, trial)]
            found[trial_key(check, trial)] = seen_in(run, trial, short(run.path))
    return found


def _arm_name(check: Check, trial: Trial) -> str:
    return f"{check.kind}.{check.dialect}.{trial.role}".replace("+", "-")


def seen_in(run: Run, trial: Trial, folder: str) -> Seen:
    """Returns the observation in a run's folder. folder: the path to show for it. Raises FolderError."""
    record = run.record
    if run.status != "ok":
        try:
            evidence = run.evidence()
        except FolderError:  # the run failed before its client began
            return Seen(trial=trial, events=(), page=record.scenario.whole_page, failure=record.reason)
        return Seen(
            trial=trial,
            events=evidence.events,
            page=evidence.page,
            failure=record.reason,
            folder=folder,
            took_s=record.wall_s,
        )
    evidence = run.evidence()
    loads: tuple[tuple[PageLoad, Judgement], ...] = ()
    if trial.plan is PlanKind.LOADS:
        layers, scenario = run.layers(), record.scenario
        loads = tuple((load, judgement(load, evidence, layers, scenario)) for load in page_loads(evidence))
    return Seen(
        trial=trial,
        events=evidence.events,
        page=evidence.page,
        loads=loads,
        ledger=None if record.ledger is None else sentence(record.ledger),
        folder=folder,
        took_s=record.wall_s,
    )
