"""Carries out the trials of a gate: in the lab as runs of one experiment, and at a URL one probe after the other.

1. A server at a URL has neither link nor origin of the lab's, so trials that need these are not carried out there.
2. Probes at a URL are made one after the other: a server that mixes up connections would otherwise fail every check.
"""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from priolab.analysis.loads.findings import judgement
from priolab.analysis.loads.ledger import sentence
from priolab.analysis.loads.metrics import PageLoad, page_loads
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.records.runs import Experiment, Run, load_experiment, load_run
from priolab.client.plan import PlanKind
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import StepFailed
from priolab.common.formats.events import Event
from priolab.common.formats.reading import FolderError
from priolab.common.process.program_logs import first_complaint
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.console import short
from priolab.experiments.commands.target import Site, run_client
from priolab.experiments.commands.trial import Trial
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Request
from priolab.experiments.scenario.knobs import KNOBS
from priolab.extras.gate.checks import Check
from priolab.extras.gate.seen import LOG, Seen, Trials

_STEP = "gate"
_LIMIT_NS = 60 * 10**9
_LONGER = 10
"""A server at a URL that seems to have stopped may be busy. It is asked once more, with pauses that much longer."""

_THE_FRONT = "the front ("


class NotStarted(StepFailed):
    """The server under test did not start, or never became ready. The run's folder is removed."""


def request_of(checks: Iterable[Check], words: Mapping[str, str]) -> Request:
    """Returns the request for an experiment with an arm per trial. Raises LabError.

    words: the knobs and execution options that the user gave.
    """
    options = {name: text for name, text in words.items() if name not in KNOBS}
    own = {name: text for name, text in words.items() if name in KNOBS}
    arms = [trial.arm(_arm_name(check, role), **own) for check in checks for role, trial in check.trials()]
    for arm in arms:
        _ = arm.scenario  # raises ScenarioError here, before anything runs
    request = request_from({"SAMPLE": "100ms", **own, **options, "CONTROL": "no", "LOWAT": "none"})
    return replace(request, name=_STEP, arms=tuple(arms), repeat=1)


def carry_out(request: Request, checks: Iterable[Check], progress: Progress, kept: dict[tuple[str, str], Seen]) -> None:
    """Runs the experiment. Raises LabError, FolderError; NotStarted after the first run without a server.

    kept: gets the observation of each trial when its run has ended, so that these are there after an interruption.
    """
    folders: dict[str, Path] = {}
    trials = {
        f"{_arm_name(check, role)}.1".replace("+", "-"): (check.name, role, trial)
        for check in checks
        for role, trial in check.trials()
    }

    def begun(run: str, folder: Path) -> None:
        folders[run] = folder
        progress.begun(run, folder)

    def ended(run: str, status: str, reason: str | None) -> None:
        name, role, trial = trials[run]
        seen = None
        with contextlib.suppress(FolderError):  # the run left nothing
            kept[name, role] = seen = seen_in(load_run(folders[run]), trial, None)
        if seen is None or not _is_missing(seen):
            progress.ended(run, status, reason)
            return
        failure = LOG.sub("", str(seen.failure))  # the log is removed with the folder
        progress.ended(run, status, failure)
        said = first_complaint(folders[run] / "front" / file for file in ("output.log", "error.log"))
        if said and said[0] not in failure:
            failure += f"; it said: {said[0]}"
        kept[name, role] = replace(seen, failure=failure)
        raise NotStarted(_STEP, failure)

    path = run_experiment(request, replace(progress, begun=begun, ended=ended))
    made = {(name, role): f"{path}/{run}" for run, (name, role, _) in trials.items()}
    if kept.keys() < made.keys():  # an earlier experiment is used
        kept.update(seen_of(load_experiment(path), checks))
    else:
        kept.update({key: replace(each, folder=short(Path(made[key]))) for key, each in kept.items()})


def _is_missing(seen: Seen) -> bool:
    """Returns True if there was no server."""
    return bool(seen.failure) and not seen.events and str(seen.failure).startswith(_THE_FRONT)


def seen_of(experiment: Experiment, checks: Iterable[Check], *, prefix: str = "", repetition: int = 1) -> Trials:
    """Returns the observation of each trial of the checks. Raises FolderError, KeyError.

    prefix: what the names of the arms have before the name that request_of gives them.
    """
    of = {run.arm: run for run in experiment.runs if run.record.repetition == repetition}
    found = {}
    for check in checks:
        for role, trial in check.trials():
            run = of[(prefix + _arm_name(check, role)).replace("+", "-")]
            found[check.name, role] = seen_in(run, trial, short(run.path))
    return found


def _arm_name(check: Check, role: str) -> str:
    return f"{check.kind}.{check.dialect}.{role}"


def seen_in(run: Run, trial: Trial, folder: str | None) -> Seen:
    """Returns the observation in a run's folder. folder: the path to show for it, if it stays. Raises FolderError."""
    record, is_ok = run.record, run.status == "ok"
    try:
        evidence = run.evidence()
    except FolderError:  # the run failed before its client began
        if is_ok:
            raise
        return Seen(trial=trial, events=(), page=record.scenario.whole_page, failure=record.reason)
    loads: tuple[tuple[PageLoad, Judgement], ...] = ()
    if is_ok and trial.plan is PlanKind.LOADS:
        layers, scenario = run.layers(), record.scenario
        loads = tuple((load, judgement(load, evidence, layers, scenario)) for load in page_loads(evidence))
    return Seen(
        trial=trial,
        events=evidence.events,
        page=evidence.page,
        failure=None if is_ok else record.reason,
        loads=loads,
        ledger=sentence(record.ledger) if is_ok and record.ledger else None,
        folder=folder,
        took_s=record.wall_s,
        oracle=record.oracle if is_ok else None,
        waiting=record.ledger.other_bytes_at_available if is_ok and record.ledger else None,
    )


def at_url(
    url: str,
    connect: str | None,
    ca: Path | None,
    checks: Iterable[Check],
    tell: Callable[[str], None],
    kept: dict[tuple[str, str], Seen],
) -> None:
    """Carries out the probes at a running server. Raises ScenarioError, StepFailed.

    tell: called when a probe has ended. kept: gets the observation of each.
    """
    site = Site.at("URL", url, connect, ca)
    try:
        site, _ = site.reached(Deadline(time.monotonic_ns() + _LIMIT_NS, "connecting"))
    except TransportFailed as error:
        raise StepFailed(_STEP, str(error)) from None
    deadline = Deadline(time.monotonic_ns() + _LIMIT_NS, "the gate")
    with scratch_folder("priolab-probe-") as scratch:
        for check in (each for each in checks if not each.row.in_lab):
            for role, trial in check.trials():
                with tempfile.TemporaryDirectory(dir=scratch) as folder:
                    seen = _probed(site, trial, Path(folder), deadline)
                if seen.failure is None and seen.page.is_sequence and seen.competition.stalled:
                    patient = replace(site, steps=replace(site.steps, quiet_ns=_LONGER * site.steps.quiet_ns))
                    with tempfile.TemporaryDirectory(dir=scratch) as folder:
                        seen = _probed(patient, trial, Path(folder), deadline)
                kept[check.name, role] = seen
                tell(f"{check.name}, {role}: {kept[check.name, role].failure or 'seen'}")


def _probed(site: Site, trial: Trial, folder: Path, deadline: Deadline) -> Seen:
    """Carries out a probe. A probe that fails has the reason, and is no error of the gate's own."""
    failure, events = None, list[Event]()
    try:
        events = run_client(site.plan(trial), site.ca, folder, deadline, threading.Event())
        if not site.page(trial).is_sequence:
            site.probe_in(trial, events)
    except StepFailed as error:
        failure = error.reason
    except TransportFailed as error:
        failure = str(error)
    return Seen(trial=trial, events=events, page=site.page(trial), failure=failure)
