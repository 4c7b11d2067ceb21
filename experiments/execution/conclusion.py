"""Lays out a run's folder before the run, and writes its run.json afterwards.

Experiments and sweeps choose the runs and the paths of the run folders, and use this module for each run.
"""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from priolab.analysis.loads.contradiction import Allowance, Contradiction
from priolab.client.flow_control_probe import MOST_PARKED_TURNS, MOST_STEPS
from priolab.client.plan import STEPS
from priolab.common.errors import InvalidRun, LabError, StepFailed
from priolab.common.formats.files import read_json, write_json
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import Findings, RunRecord
from priolab.common.formats.scenario import AUTO
from priolab.common.packets import ACKNOWLEDGMENT_BYTES, PACKET_BYTES, SEGMENT_BYTES
from priolab.common.process.program_logs import tail
from priolab.experiments.execution.measurement_overhead import instruments
from priolab.experiments.execution.request import Arm, RunSettings
from priolab.experiments.execution.server_record import front_record
from priolab.experiments.hosts.experiment_hosts import SERVER_NAME
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.results import digest
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run import capture
from priolab.experiments.scenario.knobs import with_absolute_paths
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.tools import BROWSERS, Tools
from priolab.netem.link_options import packed_traces
from priolab.proxy.certificates import issue
from priolab.proxy.server import catalogue, server_of
from priolab.testbed import study_kernels

_MOMENT_NS = 10**6
"""The tolerance, in nanoseconds, when times from two logs are compared: the logs may use different clocks."""

_LEAST_FLIGHT_BYTES = 4 * SEGMENT_BYTES
"""A sender whose packets are dropped again and again still has a few on their way."""

_WALL_LIMIT_S = 300.0
_SLOWEST_BYTES_PER_S = 200_000
"""The lowest speed of a guest, in bytes per second of wall time; on an idle machine the speed is 15 MB/s.

The wall time of a run in a guest depends on the bytes that the run moves, and hardly on link time. With a browser,
the wall time depends on link time, too.
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run: one repetition of an arm.

    seed: the seed of everything random in the run. In the same repetition, the runs of all arms have the same seed.
    """

    arm: Arm
    repetition: int
    seed: int

    @property
    def name(self) -> str:
        """The name of the run folder."""
        return f"{self.arm.name}.{self.repetition}"


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The status of a run that has ended. reason: why the status is not ok; None if the status is ok."""

    status: str
    reason: str | None


def lay_out(run: Run, folder: RunFolder, run_settings: RunSettings, tools: Tools) -> None:
    """Makes the run folder, with the certificate and the spec (run_spec.py) in it."""
    folder.create()
    if run_settings.capture:
        folder.wire.mkdir()
    if run.arm.scenario.via is not None:
        (folder.second / "link").mkdir(parents=True)
    issue(folder.asked, SERVER_NAME, seed=run.seed)
    _spec(run, run_settings, tools).write(folder)


def load_checks() -> None:
    """Imports what evaluates runs. This takes a tenth of a second, in which the first runs can be at work."""
    from priolab.analysis.loads import contradictions, findings  # noqa: F401


def conclude(
    run: Run, folder: RunFolder, run_settings: RunSettings, *, final: Path, wall_s: float, trouble: str | None
) -> Ending:
    """Evaluates the files of a run that has ended, and writes run.json. Raises OSError.

    A run whose files cannot be evaluated has failed.
    final: the final path of the experiment folder, the run folder's parent. wall_s: the wall time of the run. trouble:
    the error of the executor or the job, if any.
    """
    try:
        outcome, found = _outcome_and_findings(run, folder, run_settings, trouble)
        record = _record(
            run, folder, run_settings, final, wall_s, outcome | {"instruments": instruments(folder)}, found
        )
    except OSError:
        raise
    except Exception as error:  # a bug in the lab: the traceback goes to a log, the run is marked as failed
        log = folder.path / "judging.log"
        log.write_text(traceback.format_exc())
        return give_up(
            run,
            folder,
            run_settings,
            final=final,
            wall_s=wall_s,
            why=str(StepFailed(run.name, f"its files could not be evaluated: {type(error).__name__}: {error}", log)),
        )
    return _write(folder, record)


def give_up(run: Run, folder: RunFolder, run_settings: RunSettings, *, final: Path, wall_s: float, why: str) -> Ending:
    """Writes run.json for a failed run, without reading the run's files. why: the reason. Raises OSError.

    final: the final path of the experiment folder, the run folder's parent. wall_s: the wall time of the run.
    """
    outcome = {"status": "failed", "reason": why, "observed": {}, "instruments": {}}
    return _write(folder, _record(run, folder, run_settings, final, wall_s, outcome, Findings()))


def _outcome_and_findings(
    run: Run, folder: RunFolder, run_settings: RunSettings, trouble: str | None
) -> tuple[dict[str, Any], Findings]:
    outcome = _outcome(folder, trouble)
    finishing: list[Callable[[RunFolder], None]] = []
    # Both import libraries that other runs do not need.
    if run_settings.capture:
        from priolab.experiments.run import segments

        finishing += [segments.finish, capture.finish]
    if run.arm.scenario.via is not None:
        from priolab.experiments.run import upstream_timing

        finishing.append(upstream_timing.finish)
    for finish in finishing:
        try:
            finish(folder)
        except StepFailed as error:
            # A run that had failed already may have no complete captures either; its first reason stays.
            if outcome["status"] == "ok":
                outcome |= {"status": "failed", "reason": str(error)}
    if outcome["status"] != "ok":
        return outcome, Findings()
    try:
        return outcome, _judge(run.arm.scenario, folder, run_settings, outcome["observed"])
    except InvalidRun as error:
        return outcome | {"status": "invalid", "reason": str(error)}, Findings()
    except (LabError, FolderError) as error:
        return outcome | {"status": "failed", "reason": f"the run's files are incomplete: {error}"}, Findings()


def _record(
    run: Run,
    folder: RunFolder,
    run_settings: RunSettings,
    final: Path,
    wall_s: float,
    outcome: dict[str, Any],
    found: Findings,
) -> RunRecord:
    if outcome["reason"]:
        # Paths in the reason must be right once the folders have their final names.
        outcome["reason"] = (
            outcome["reason"]
            .replace(str(folder.path), str(final / run.name))
            .replace(str(folder.path.parent), str(final))
        )
    return RunRecord(
        run=run.name,
        experiment=final.name,
        arm=run.arm.name,
        repetition=run.repetition,
        seed=run.seed,
        fabric=run_settings.fabric.name,
        lab=digest.lab(),
        kernel=run_settings.fabric.kernel_record(),
        wall_s=round(wall_s, 3),
        knobs=dict(run.arm.knobs),
        scenario=run.arm.scenario,
        front=front_record(run.arm.scenario, folder),
        **outcome,
        **vars(found),
    )


def _write(folder: RunFolder, record: RunRecord) -> Ending:
    write_json(folder.run, record.as_document())
    folder.outcome.unlink(missing_ok=True)
    return Ending(status=record.status, reason=record.reason)


def wall_limit_s(scenario: Scenario, run_settings: RunSettings) -> float:
    """Returns the limit of a run's wall time. A run that takes longer is assumed to hang."""
    fabric: Fabric = run_settings.fabric
    limit_s = _WALL_LIMIT_S
    if fabric.virtual_clock:
        limit_s += (scenario.reloads + 1) * scenario.whole_page.total_bytes / _SLOWEST_BYTES_PER_S
    if not fabric.virtual_clock or scenario.client.is_browser:
        limit_s += (scenario.reloads + 1) * _deadline_ns(scenario, run_settings) / 10**9
    return limit_s


def load_deadline_ns(scenario: Scenario) -> int:
    """Returns the default deadline of a page load, in link time: longer than any page load that makes progress.

    The link needs its time for the page, several times with losses, and as often again for each competing flow. A round
    trip carries at least _LEAST_FLIGHT_BYTES, unless the client's window is smaller; a window may take two round trips,
    and wait for a full queue in each.
    """
    link, page_bytes = scenario.link, scenario.whole_page.total_bytes
    moved_ns = page_bytes * 8 * 10**9 // min(link.rates_bit_s) if link.rates_bit_s else 0
    losses = 1 + 20 * link.loss
    waits_ns = (200 + page_bytes // _LEAST_FLIGHT_BYTES) * link.round_trip_ns + scenario.whole_page.longest_ns
    queued_ns = link.most_queue_bytes * 8 * 10**9 // min(link.rates_bit_s) if link.rates_bit_s else 0
    waits_ns += (
        2 * page_bytes // min(scenario.window_bytes, scenario.whole_window_bytes) * (link.round_trip_ns + queued_ns)
    )
    waits_ns += 2 * link.up_ns(page_bytes // SEGMENT_BYTES * ACKNOWLEDGMENT_BYTES + 2 * link.most_acknowledgment_bytes)
    waits_ns += 2 * link.up_ns(2 * len(scenario.resources) * PACKET_BYTES)
    if scenario.steps is not None:
        waits_ns += (MOST_STEPS + MOST_PARKED_TURNS) * (scenario.steps.quiet_ns - STEPS.quiet_ns)
    return round(60 * 10**9 + 5 * losses * (1 + scenario.cross) * moved_ns + waits_ns)


def _deadline_ns(scenario: Scenario, run_settings: RunSettings) -> int:
    return run_settings.load_deadline_ns or load_deadline_ns(scenario)


def _versions(scenario: Scenario, tools: Tools) -> dict[str, str]:
    """Returns the versions of the programs that the run uses. `tools` may list a browser that only another arm uses."""
    others = [
        name
        for browser in BROWSERS.values()
        if browser.name != scenario.client
        for name in (browser.name, browser.driver)
        if name is not None
    ]
    return {name: version for name, version in tools.versions.items() if name not in others}


def _spec(run: Run, run_settings: RunSettings, tools: Tools) -> RunSpec:
    return RunSpec(
        **run_settings.options(),
        knobs={**with_absolute_paths(run.arm.knobs), **packed_traces(run.arm.scenario.link)},
        page=run.arm.scenario.whole_page,
        fabric=run_settings.fabric.name,
        seed=run.seed,
        load_deadline_ns=_deadline_ns(run.arm.scenario, run_settings),
        programs=tools.programs,
        versions={**_versions(run.arm.scenario, tools), "priolab": "{version}, code {code}".format(**digest.lab())},
        node_route=tools.node_route,
        tuner=run_settings.tuner if run.arm.scenario.lowat == AUTO else None,
        root=tools.root,
        second_root=tools.second_root,
    )


def _outcome(folder: RunFolder, trouble: str | None) -> dict[str, Any]:
    if trouble is None and folder.outcome.exists():
        outcome: dict[str, Any] = read_json(folder.outcome)
        return {name: outcome[name] for name in ("status", "reason", "observed")}
    log = folder.path / "console.log"
    reason = trouble or str(
        StepFailed(folder.path.name, f"it ended without an outcome; its last output: {tail(log)}", log)
    )
    return {"status": "failed", "reason": reason, "observed": {}}


def is_stock(scenario: Scenario) -> bool:
    """Returns True if the front is a server of the catalogue in the lab's version and configuration, on its kernel.

    Another guest kernel may tell a front later that it takes bytes.
    """
    is_own = scenario.config is not None or scenario.program is not None
    return scenario.server in catalogue() and not is_own and not study_kernels.current().changes


def _judge(scenario: Scenario, folder: RunFolder, run_settings: RunSettings, observed: dict[str, Any]) -> Findings:
    """Computes a run's findings, and checks that the run's files do not contradict each other. Raises InvalidRun.

    On a real clock, adds to `observed` how late the machine made the first bytes; if this lateness exceeds the
    tolerance, the run is invalid.
    """
    from priolab.analysis.loads.contradictions import contradictions, outside, unexplained
    from priolab.analysis.loads.findings import findings
    from priolab.analysis.loads.hop_checks import hop_contradictions
    from priolab.analysis.loads.wire_checks import late_reads
    from priolab.analysis.records.runs import load_evidence, load_layers
    from priolab.experiments.execution.lateness import ROUND_TRIPS, check_lateness, observed_lateness, remedy_of

    expected_loads = scenario.reloads + 1
    server = server_of(scenario.server)
    evidence, layers = load_evidence(folder.path), load_layers(folder.path)
    _none_of(outside(evidence))
    found = findings(evidence, layers, scenario)
    if len(found.loads) != expected_loads:
        raise StepFailed("the client", f"{len(found.loads)} of {expected_loads} page loads are complete", folder.client)
    if not run_settings.fabric.virtual_clock:
        observed["lateness"] = late = observed_lateness(folder, evidence, layers, scenario)
        if late:
            check_lateness(late, run_settings.fabric.tolerance)
    tolerance = run_settings.fabric.tolerance
    allowance = Allowance(
        rate=tolerance.rate,
        moment_ns=_MOMENT_NS + (observed["clock_resolution_ns"] or 0),
        late_ns=ROUND_TRIPS * tolerance.round_trip_ns,
        is_exact=tolerance.clock_ns == 0,
    )
    stock = is_stock(scenario)
    takes_whole = server.takes_whole and stock and scenario.via is None and scenario.buffering == "on"
    none_of = _none_of if allowance.is_exact else partial(_none_of, remedy=partial(remedy_of, folder, allowance))
    none_of(contradictions(evidence, layers, scenario, allowance, is_stock=stock, takes_whole=takes_whole))
    none_of(unexplained(found.ledger, allowance))
    if not server.over_tcp and not scenario.client.is_browser:
        none_of(late_reads(read_json(folder.client / "socket.json").get("waited_longest_ns"), allowance))
    if scenario.via is not None:
        none_of(hop_contradictions(evidence, layers, scenario.via, expected_loads, allowance))
    return found


def _none_of(found: Iterable[Contradiction], remedy: Callable[[], str] = str) -> None:
    """Raises InvalidRun with the first contradiction, if there is one. remedy: returns what the user can do."""
    for each in found:
        raise InvalidRun(each.what, each.asked, each.seen, remedy())
