"""One experiment: its arms, side by side, into one folder that appears only when it is complete."""

import os
import secrets
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from analysis.findings import NOTHING, findings
from analysis.journals import FolderError
from analysis.load import load_evidence, load_layers
from experiments import capture, jobs, reuse
from experiments.errors import LabError, StepFailed
from experiments.fabrics.fabric import Fabric
from experiments.instruments import instruments
from experiments.order import Order, Tools
from experiments.processes import in_utc, tail
from experiments.record import RUN_FORMAT, PartialFolder, RunFolder, read_json, write_json
from experiments.request import Arm, Request
from experiments.run import SERVER_NAME
from experiments.scenario import LOWAT_AUTO, Scenario, as_document
from experiments.tuners import TunerOrder, prepare
from proxy.certificates import issue
from proxy.server import catalogue

_ROOT = Path(__file__).resolve().parent.parent
_WALL_LIMIT_S = 300.0
_UNQUOTABLE = '"$\\'
_SLOWEST_BYTES_PER_S = 200_000
"""Wall time of an arm in the guest depends on the bytes it moves, hardly on link time; an idle machine does 4 MB/s."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Who wants to hear what.

    step: a run has taken one; ended: a run has, with this status and reason; reused: this folder serves instead.
    """

    step: Callable[[str, str], None]
    ended: Callable[[str, str, str | None], None]
    reused: Callable[[Path], None] = lambda _: None


def load_deadline_ns(scenario: Scenario) -> int:
    """Longer than any page load that is still getting anywhere, link time."""
    moved_ns = scenario.link.transmission_ns(2 * scenario.size_bytes)
    losses = 1 + 20 * scenario.link.loss
    waits_ns = 200 * scenario.link.round_trip_ns + scenario.script_delay_ns
    return round(60 * 10**9 + 5 * losses * moved_ns + waits_ns)


def run_experiment(request: Request, progress: Progress) -> Path:
    """Run all arms, unless others will do; the finished folder. Raises LabError, and leaves nothing if interrupted.

    Whether the fabric can be used was asked when it was chosen (`fabrics.fabric.choose`).
    """
    scenarios = [arm.scenario for arm in request.arms]
    if request.capture:
        capture.check(own_tcpdump=request.fabric.own_programs)
    request.fabric.prepare(scenarios, partial(progress.step, "preparation"))
    tools = request.fabric.tools(scenarios[0], capture=request.capture)
    fingerprint = reuse.fingerprint_here(request, tools)
    if request.reuse and (found := reuse.newest(request.results.resolve(), fingerprint)):
        progress.reused(found)
        return found
    tuner = prepare(scenarios, request.tuner)
    started = datetime.now(UTC)
    final = _results_folder(request.results) / f"{request.name}-{started:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    with PartialFolder(final) as partial_folder:
        runs = [(arm, repetition) for repetition in range(1, request.repeat + 1) for arm in request.arms]
        tasks = []
        for arm, repetition in runs:
            folder = RunFolder(partial_folder.path / f"{arm.name}.{repetition}")
            folder.create()
            if request.capture:
                folder.wire.mkdir()
            issue(folder.asked, SERVER_NAME)
            order = _order(arm, repetition, request, tools, tuner)
            order.write(folder)
            ended = partial(_end_run, folder, arm, repetition, request, progress, partial_folder)
            tasks.append(
                jobs.Task(
                    name=folder.path.name,
                    command=partial(request.fabric.command, arm.scenario, folder),
                    # A guest is one processor; its threads on two of the host's wait for each other's wake-ups.
                    one_cpu=request.fabric.virtual_clock,
                    log=folder.path / "console.log",
                    timeout_s=_wall_limit_s(order, arm.scenario, request.fabric),
                    finished=ended,
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
                "fabric": request.fabric.name,
                "started_at": started.isoformat(timespec="seconds"),
                "git_revision": _git_revision(),
                "fingerprint": fingerprint,
                "runs": [
                    f"{arm.name}.{repetition}" for arm in request.arms for repetition in range(1, request.repeat + 1)
                ],
            },
        )
        return partial_folder.publish()


def _results_folder(results: Path) -> Path:
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


def _order(arm: Arm, repetition: int, request: Request, tools: Tools, tuner: TunerOrder) -> Order:
    return Order(
        knobs=arm.knobs,
        fabric=request.fabric.name,
        shaper=request.shaper,
        # The same in every arm, so that arms differ in what is asked alone.
        seed=repetition,
        sample_ns=request.sample_ns,
        load_deadline_ns=request.load_deadline_ns or load_deadline_ns(arm.scenario),
        capture=request.capture,
        programs=tools.programs,
        versions=tools.versions,
        node_route=asdict(tools.node_route) if tools.node_route else None,
        tuner=asdict(tuner) if arm.scenario.lowat == LOWAT_AUTO else None,
    )


def _wall_limit_s(order: Order, scenario: Scenario, fabric: Fabric) -> float:
    if fabric.virtual_clock:
        moved_bytes = (scenario.reloads + 1) * 2 * scenario.size_bytes
        return _WALL_LIMIT_S + moved_bytes / _SLOWEST_BYTES_PER_S
    return _WALL_LIMIT_S + (scenario.reloads + 1) * order.load_deadline_ns / 10**9


def _end_run(
    folder: RunFolder,
    arm: Arm,
    repetition: int,
    request: Request,
    progress: Progress,
    experiment_folder: PartialFolder,
    wall_s: float,
    trouble: str | None,
) -> None:
    """Turn the outcome an arm left into its run.json."""
    outcome = _outcome(folder, trouble)
    if request.capture:
        try:
            capture.finish(folder)
        except StepFailed as error:
            # Of a run that went wrong before, its packets may have gone with it; the first reason stands.
            if outcome["status"] == "ok":
                outcome |= {"status": "failed", "reason": str(error)}
    if outcome["reason"]:
        # Paths in it must be right when somebody reads them.
        outcome["reason"] = outcome["reason"].replace(str(experiment_folder.path), str(experiment_folder.final))
    judged: Mapping[str, Any] = NOTHING
    if outcome["status"] == "ok":
        try:
            judged = _judge(folder, arm.scenario)
        except (LabError, FolderError) as error:
            outcome |= {"status": "failed", "reason": f"the record is incomplete: {error}"}
    write_json(
        folder.run,
        {
            "format": RUN_FORMAT,
            "run": folder.path.name,
            "experiment": experiment_folder.final.name,
            "arm": arm.name,
            "repetition": repetition,
            "seed": repetition,
            "fabric": request.fabric.name,
            **outcome,
            "instruments": instruments(folder),
            "wall_s": round(wall_s, 3),
            "knobs": dict(arm.knobs),
            "scenario": as_document(arm.scenario),
            "front": dict(catalogue()[arm.scenario.server].traits),
            **judged,
        },
    )
    folder.outcome.unlink(missing_ok=True)
    progress.ended(folder.path.name, outcome["status"], outcome["reason"])


def _outcome(folder: RunFolder, trouble: str | None) -> dict[str, Any]:
    if trouble is None and folder.outcome.exists():
        outcome: dict[str, Any] = read_json(folder.outcome)
        return outcome
    log = folder.path / "console.log"
    reason = trouble or str(StepFailed(folder.path.name, f"it ended without an outcome: {tail(log)}", log))
    return {"status": "failed", "reason": reason, "observed": {}}


def _judge(folder: RunFolder, scenario: Scenario) -> Mapping[str, Any]:
    expected_loads = scenario.reloads + 1
    traits = catalogue()[scenario.server].traits
    found = findings(load_evidence(folder.path), load_layers(folder.path), as_document(scenario), traits)
    if len(found["loads"]) != expected_loads:
        raise StepFailed("the client", f"{len(found['loads'])} of {expected_loads} loads are complete", folder.client)
    return found


def _git_revision() -> str | None:
    command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, env=in_utc())
    except OSError:
        return None
    return done.stdout.strip() or None
