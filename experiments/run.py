"""One arm, from nothing to its last counter, in the order in which it happens."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from client.plan import STEPS, Plan, PlanKind, Protocol, maps_plan
from client.priorities import Priorities
from experiments.browsing import check_browser, client_command, last_event_ns, observed_browser, payload_span
from experiments.capture import capturing
from experiments.environment import Environment
from experiments.errors import InvalidRun
from experiments.listening import Listening
from experiments.npm import modules_of
from experiments.order import Tools
from experiments.places.egress import check_at, observed_at
from experiments.places.places import (
    CLIENT_PORT,
    FRONT_PORT,
    ORIGIN_PORT,
    ActiveLink,
    ActiveTuner,
    Look,
    OriginSettings,
    Places,
    no_look,
)
from experiments.processes import Process
from experiments.rate_steps import Span, check_steps, observed_steps
from experiments.record import RunFolder, read_json, write_json
from experiments.scenario import LOWAT_AUTO, ClientKind, Scenario
from experiments.tuning import (
    NO_SOCKET,
    check_connection,
    check_ferry,
    check_live_socket,
    check_record,
    check_settings,
    check_tuned,
    live_socket_state,
)
from netem import calibration
from netem.calibration import Tolerance
from netem.shaper import Shaper
from proxy.certificates import certificates_in
from proxy.front import Front, FrontSettings
from proxy.sampler import read_process_samples
from proxy.server import catalogue
from proxy.socket_diag import read_samples
from proxy.tuner.journal import NAME, read_decisions

SERVER_NAME = "maps.test"
_CHECK_NS = 10**9
_UNSEEN_NS = 3 * 10**9
_NEVER_NS = 2**63
_BLAME_S = 0.5  # whoever watches the front needs a moment to see that it was the first to go


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How is run, not what. shaper: None lets the place decide; seed: of what is random in the link.

    sample_ns: how often the front's socket and the link's queue are looked at; None for once.
    capture: whether packets are written down.
    """

    shaper: Shaper | None
    tolerance: Tolerance
    seed: int
    sample_ns: int | None
    load_deadline_ns: int
    capture: bool


def run_arm(
    scenario: Scenario,
    folder: RunFolder,
    tools: Tools,
    places: Places,
    conditions: Conditions,
    *,
    observed: dict[str, Any],
    tell: Callable[[str], None],
) -> None:
    """Run the arm in these places and fill its folder; `observed` receives what was found in place of what was asked.

    Raises StepFailed, Unavailable, and InvalidRun if something asked for is not what was observed.
    """
    with ExitStack() as stack:
        environment = Environment(folder, tools, places)
        places.tune(scenario)

        tell("origin and front")
        origin = stack.enter_context(places.start_origin(_origin_settings(scenario, folder, tools)))
        environment.origin_answers(origin.clock)
        observed |= {"clock_resolution_ns": environment.resolution_ns}
        front = _front(places, scenario, folder, tools)
        write_json(folder.asked / "front.json", front.command)
        server = stack.enter_context(places.start_front(front, scenario))
        observed |= places.settings()
        check_settings(scenario, observed)

        tell("link")
        starting = places.start_link(
            scenario.link,
            conditions.shaper,
            scenario.shaper_at,
            seed=conditions.seed,
            folder=folder.link,
            interval_ns=conditions.sample_ns,
        )
        link = stack.enter_context(starting)
        write_json(folder.asked / "link.json", link.commands)
        observed |= {"shaper": link.shaper} | _calibrate(places, scenario, conditions.tolerance, folder)

        with capturing(places, tools, folder) if conditions.capture else nullcontext(()) as taps:
            servers = (server, origin.process, *taps)
            with _tuning(places, scenario, server, folder) as tuner:
                observed |= {"tuner": tuner and tuner.kind, "tuner_reason": tuner and tuner.reason}
                span = _load_pages(places, scenario, folder, servers, (link, tuner), conditions, tools)
        if scenario.client is ClientKind.CHROMIUM:
            observed |= observed_browser(folder, environment.resolution_ns)
            check_browser(observed["browser"], scenario.priorities.favoured)
        sockets = read_samples(folder.front / "sockets.jsonl")
        processes = read_process_samples(folder.front / "process.jsonl")
        if front.settings.server.over_tcp:
            observed |= live_socket_state(sockets, processes)
            check_live_socket(scenario, observed)
            check_connection(read_json(folder.client / "socket.json")["port"], processes, payload_span(folder))
            observed |= {"record_bytes": _largest_record(folder.client / "socket.json")}
            check_record(scenario, observed)
        else:
            observed |= NO_SOCKET
        if scenario.lowat == LOWAT_AUTO:
            check_tuned(scenario, processes, read_decisions(folder.front / NAME), places.addresses.client)

        tell("counters")
        counters = link.counters()
        write_json(folder.link / "counters.json", counters)
        observed |= {"shaper_at": observed_at(counters)}
        check_at(scenario, counters)
        if link.shaper is Shaper.FERRY:
            check_ferry(counters, conditions.tolerance)
    # The link's record of them is complete when it has ended.
    observed |= {"rate_steps": observed_steps(scenario.link, folder.link, span)}
    check_steps(observed["rate_steps"], conditions.tolerance)


def _largest_record(account: Path) -> int | None:
    """That the client decrypted, if it kept account of it."""
    found: int | None = read_json(account).get("largest_record_bytes") if account.exists() else None
    return found


def _tuning(
    places: Places, scenario: Scenario, server: Process, folder: RunFolder
) -> AbstractContextManager[ActiveTuner | None]:
    return places.tuning(server, scenario, folder.front) if scenario.lowat == LOWAT_AUTO else nullcontext()


def _origin_settings(scenario: Scenario, folder: RunFolder, tools: Tools) -> OriginSettings:
    return OriginSettings(
        program=tools.programs["node"],
        size_bytes=scenario.size_bytes,
        script_delay_ns=scenario.script_delay_ns,
        folder=folder.origin,
    )


def _front(places: Places, scenario: Scenario, folder: RunFolder, tools: Tools) -> Front:
    server = catalogue()[scenario.server]
    return Front(
        FrontSettings(
            server=server,
            native=scenario.native,
            buffering=scenario.buffering,
            program=tools.programs[server.program],
            server_name=SERVER_NAME,
            address=places.addresses.front,
            port=FRONT_PORT,
            origin=f"{places.addresses.origin}:{ORIGIN_PORT}",
            size_bytes=scenario.size_bytes,
            certificates=certificates_in(folder.asked),
            config=folder.asked / server.template.name,
            state=places.front_state,
            as_root=places.as_root,
            log=folder.front / "error.log",
            output=folder.front / "output.log",
            modules=modules_of(server),
            record_bytes=scenario.record_bytes,
        )
    )


def _calibrate(places: Places, scenario: Scenario, tolerance: Tolerance, folder: RunFolder) -> dict[str, Any]:
    measured, attempts = places.calibrate(scenario.link, tolerance)
    found = asdict(measured)
    write_json(folder.link / "calibration.json", found | {"attempts": attempts, "tolerance": asdict(tolerance)})
    for what, asked, seen in calibration.disagreements(scenario.link, measured, tolerance):
        raise InvalidRun(f"calibration of {what}", asked, seen)
    return found


def _load_pages(
    places: Places,
    scenario: Scenario,
    folder: RunFolder,
    servers: Sequence[Process],
    at_work: tuple[ActiveLink, ActiveTuner | None],
    conditions: Conditions,
    tools: Tools,
) -> Span:
    """When the measured load was."""
    link, tuner = at_work
    plan = _plan(places, scenario, conditions)
    plan_file = folder.client / "plan.json"
    plan_file.write_text(plan.to_json())
    command = client_command(scenario, folder, places.python, tools)

    def check_alive() -> None:
        for server in servers:
            server.check_alive()
        link.check_alive()

    began_ns = 0

    def begin(number: int, t_ns: int) -> None:
        nonlocal began_ns
        if number == plan.loads:
            began_ns = t_ns
            if scenario.link.rate_steps:
                link.begin(t_ns)

    over_tcp = catalogue()[scenario.server].over_tcp
    with (
        places.sampling(servers[0], folder.front, conditions.sample_ns) if over_tcp else _nothing(folder) as look,
        Listening(pass_on=lambda line: print(line, flush=True), began=begin) as listening,
        places.start_client(command, folder.client / "output.log", listening.writing) as client,
    ):
        tune = no_look if tuner is None else tuner.look
        listening.started()
        _watch(client, listening, (look, link.look, tune, _every(_CHECK_NS, check_alive)))
        # A front that died is the reason, the client's broken connection only the consequence.
        check_alive()
        look(time.monotonic_ns())
        if not client.succeeded:
            time.sleep(_BLAME_S)
            check_alive()
            look(time.monotonic_ns())
        client.check_success()
        ended_ns = time.monotonic_ns() if scenario.client is ClientKind.H2 else last_event_ns(folder)
    if not over_tcp:
        return Span(began_ns=began_ns, ended_ns=ended_ns)
    last_ns = max((sample.t_ns for sample in read_process_samples(folder.front / "process.jsonl")), default=ended_ns)
    if ended_ns - last_ns > _UNSEEN_NS:
        raise InvalidRun(
            "time since the last look at the front's socket", f"at most {_UNSEEN_NS} ns", ended_ns - last_ns
        )
    return Span(began_ns=began_ns, ended_ns=ended_ns)


def _plan(places: Places, scenario: Scenario, conditions: Conditions) -> Plan:
    """A browser is told nothing of priorities: its own are to favour what the lab's client favours."""
    own = scenario.client is ClientKind.CHROMIUM
    plan = maps_plan(
        address=places.addresses.front,
        port=FRONT_PORT,
        server_name=SERVER_NAME,
        priorities=Priorities.NONE if own else scenario.priorities,
        dialect=scenario.dialect,
        first=scenario.first,
        reloads=scenario.reloads,
        window_bytes=scenario.window_bytes,
        steps=STEPS if scenario.plan is PlanKind.PROBE else None,
        load_deadline_ns=conditions.load_deadline_ns,
        source_port=None if own else CLIENT_PORT,
        protocol=Protocol(catalogue()[scenario.server].protocol),
    )
    return replace(plan, favoured=scenario.priorities.favoured)


@contextmanager
def _nothing(folder: RunFolder) -> Iterator[Look]:
    """Looked at where there is no TCP: journals without a line."""
    for name in ("sockets.jsonl", "process.jsonl"):
        (folder.front / name).touch()
    yield no_look


def _watch(client: Process, listening: Listening, looks: Sequence[Look]) -> None:
    """Until the client has ended: each instrument looks when it is time, and all when the client said something."""
    next_ns = [0] * len(looks)
    while not client.wait(max(0, min(next_ns) - time.monotonic_ns()) / 10**9, listening.waited_for):
        if listening.hear():
            next_ns = [0] * len(looks)
        now_ns = time.monotonic_ns()
        for index, look in enumerate(looks):
            if next_ns[index] <= now_ns:
                due_ns = look(now_ns)
                next_ns[index] = _NEVER_NS if due_ns is None else due_ns
    listening.hear()


def _every(interval_ns: int, check: Callable[[], None]) -> Look:
    def look(now_ns: int) -> int:
        check()
        return now_ns + interval_ns

    return look
