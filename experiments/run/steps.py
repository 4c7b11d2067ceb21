"""Carries out the steps of a run, in this order: servers, link, calibration, page loads, checks, counters."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from priolab.client.plan import with_decoys
from priolab.common.errors import InvalidRun, StepFailed
from priolab.common.formats.decisions import JOURNAL, Decision
from priolab.common.formats.files import read_json, write_json
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import OptionsSample, ProcessSample, SocketSample
from priolab.common.formats.scenario import AUTO
from priolab.common.process.processes import Process
from priolab.common.process.program_logs import first_complaint
from priolab.experiments.hosts.experiment_hosts import FRONT_PORT, ORIGIN_PORT, SERVER_NAME, ActiveTuner, Hosts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.run.browser import check_browser, observed_browser, payload_span
from priolab.experiments.run.capture import capturing
from priolab.experiments.run.checks.handshake import check_handshake
from priolab.experiments.run.checks.limits import check_memory, observed_limits
from priolab.experiments.run.checks.pictures import AFTER, BEFORE, STANDING, check_pictures
from priolab.experiments.run.checks.rate_steps import check_steps, observed_steps
from priolab.experiments.run.checks.settings import (
    NO_SOCKET,
    check_connection,
    check_ferry,
    check_kept,
    check_live_socket,
    check_record,
    check_settings,
    check_sysctl,
    check_tuned,
    check_unchanged,
    live_socket_state,
)
from priolab.experiments.run.checks.sockets import check_sockets
from priolab.experiments.run.checks.traffic import (
    check_carried,
    check_cross,
    check_datagrams,
    check_sending,
    observed_cross,
)
from priolab.experiments.run.environment import Environment
from priolab.experiments.run.page_loads import Conditions, Loaded, load_pages
from priolab.experiments.run.server_error import in_the_servers_words, in_words
from priolab.experiments.run.upstream_proxy import RunningHop, second_hop
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.npm import modules_of
from priolab.experiments.setup.origin_process import OriginSettings
from priolab.experiments.setup.tools import FRONT, Tools
from priolab.netem import calibration, disciplines
from priolab.netem.calibration import Tolerance
from priolab.netem.link import Qdisc
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.certificate_files import certificates_in
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.server import CATALOGUE
from priolab.proxy.switch import HTTP1
from priolab.testbed import ActiveCross, ActiveLink, Portrayed, cross_traffic

_ENDED = "it ended "
"""The beginning of the reason of StepFailed if a program has ended (common/process/processes.py)."""


def run_arm(
    folder: RunFolder,
    places: Hosts,
    conditions: Conditions,
    *,
    observed: dict[str, Any],
    tell: Callable[[str], None],
) -> None:
    """Runs the arm and fills the run folder.

    places: the namespaces or containers of client, link, front and origin. conditions: the order, the tolerance, and
    the alignment of the client's start. observed: a dict into which the function writes the settings and figures that
    it found (common/formats/run.py, Observed). tell: called with the name of each step. Raises StepFailed, Unavailable,
    and InvalidRun if a requested and an observed setting differ.
    """
    arm = _Arm(folder, places, conditions, observed)
    with ExitStack() as stack:
        places.apply_settings(arm.scenario)
        tell("origin and front")
        servers = arm.start_servers(stack, tell)
        tell("link")
        link = arm.start_link(stack)
        loaded, portrayed = arm.load(servers, link)
        if not portrayed:
            check_unchanged(observed, places.settings())
        arm.check_loads(servers, loaded)
        tell("counters")
        arm.read_counters(link, portrayed=bool(portrayed))
    # The link's journal of the rate steps is complete only when the link has ended.
    observed |= {"rate_steps": observed_steps(arm.scenario.link, folder.link, loaded.span)}
    check_steps(observed["rate_steps"], conditions.tolerance)


@dataclass(frozen=True, kw_only=True)
class _Servers:
    """The running servers of an arm. over_tcp: True if the front speaks to the client over TCP."""

    environment: Environment
    origin: Process
    front: Process
    over_tcp: bool
    hop: RunningHop | None


class _Arm:
    """The steps of one run, in the order in which run_arm calls them."""

    def __init__(self, folder: RunFolder, places: Hosts, conditions: Conditions, observed: dict[str, Any]) -> None:
        self._folder = folder
        self._places = places
        self._conditions = conditions
        self._observed = observed
        self._spec = conditions.spec
        self._standing: Sequence[Portrayed] = ()
        self._stood_ns = 0
        self._sending_us: Sequence[int] = ()
        self.scenario = conditions.spec.scenario

    @property
    def _interval_ns(self) -> int | None:
        return None if self._spec.sampling is None else self._spec.sampling.measured_ns

    def start_servers(self, stack: ExitStack, tell: Callable[[str], None]) -> _Servers:
        """Starts the origin, the second front if there is one, and the front."""
        scenario, folder, places, tools = self.scenario, self._folder, self._places, self._spec.tools
        environment = Environment(folder, tools, places)
        page = with_decoys(scenario.whole_page) if scenario.disturb else scenario.whole_page
        write_json(folder.page, page.as_document())
        origin = stack.enter_context(places.start_origin(_origin_settings(folder, tools)))
        environment.origin_answers(origin.clock)
        self._observed |= {"clock_resolution_ns": environment.resolution_ns}
        if scenario.via is not None:
            tell("second front, and the link between the fronts")
        tolerance = self._conditions.tolerance
        hop = stack.enter_context(second_hop(places, folder, self._spec, tolerance, origin.process, self._observed))
        front = _front(places, scenario, folder, tools, hop)
        write_json(folder.asked / "front.json", front.command)
        with _blaming_the_users_files(scenario, folder):
            process = stack.enter_context(places.start_front(front, scenario, origin.process))
        self._observed |= places.settings()
        check_settings(scenario, self._observed)
        return _Servers(
            environment=environment,
            origin=origin.process,
            front=process,
            over_tcp=front.settings.server.over_tcp,
            hop=hop,
        )

    def start_link(self, stack: ExitStack) -> ActiveLink:
        """Starts and calibrates the link between client and front."""
        scenario, places = self.scenario, self._places
        starting = places.start_link(
            self._spec.shaper, seed=self._spec.seed, folder=self._folder.link, interval_ns=self._interval_ns
        )
        link = stack.enter_context(starting)
        write_json(self._folder.asked / "link.json", link.commands)
        self._observed |= {"shaper": link.shaper, "shaper_reason": link.instead_of_netem}
        if link.shaper is Shaper.NETEM and scenario.link.qdisc is not Qdisc.FIFO:
            check_kept(scenario.link, link.counters(), BEFORE)
        self._observed |= _calibrate(places, scenario, self._conditions.tolerance, self._folder, link)
        return link

    def load(self, servers: _Servers, link: ActiveLink) -> tuple[Loaded, Sequence[Portrayed]]:
        """Loads the pages beside cross traffic, capture and tuner if requested; returns the last pictures, too."""
        scenario, folder, places, hop = self.scenario, self._folder, self._places, servers.hop
        with (
            _crossing(places, scenario, link.shaper, folder, self._interval_ns) as cross,
            capturing(places, self._spec.tools, folder) if self._spec.capture else nullcontext(()) as taps,
        ):
            processes = (servers.front, servers.origin, *taps, *(cross.processes if cross else ()))
            processes += tuple(hop.processes) if hop else ()
            with _tuning(places, scenario, servers.front, folder) as tuner:
                self._observed |= {"tuner": tuner and tuner.kind}
                portrayed = _portrayed(places, cross)
                self._observed |= {"unusual": sorted({each for of in portrayed for each in of.unusual})}
                check_pictures(portrayed, BEFORE)
                with _limited_by_memory(scenario, folder), in_the_servers_words(folder):
                    loaded = load_pages(
                        places,
                        folder,
                        processes,
                        (link, tuner, hop),
                        self._conditions,
                        partial(self._note_standing, cross),
                    )
                check_pictures(self._standing, STANDING)
                portrayed = _portrayed(places, cross)
                check_pictures(portrayed, AFTER)
            if cross is not None:
                passed_ns = time.monotonic_ns() - self._stood_ns
                check_sending(passed_ns, self._sending_us, cross.sending_us(), self._conditions.tolerance)
                self._observed |= observed_cross(cross.carried(), folder.link / cross_traffic.JOURNAL)
                check_cross(scenario, self._observed, loaded.span)
        return loaded, portrayed

    def _note_standing(self, cross: ActiveCross | None, t_ns: int) -> None:
        """Reads the settings of client and front when their connection stands, and how long cross traffic has sent."""
        self._stood_ns = t_ns
        self._standing = self._places.portrayed_beside_loads()
        if cross is not None:
            self._sending_us = cross.sending_us()

    def check_loads(self, servers: _Servers, loaded: Loaded) -> None:
        """Reads what was recorded beside the loads, and checks that the requested settings held."""
        scenario, folder, observed = self.scenario, self._folder, self._observed
        if scenario.client.is_browser:
            observed |= observed_browser(folder, servers.environment.resolution_ns)
            check_browser(observed["browser"])
        own = scenario.front.own or scenario.program is not None or scenario.config is not None
        for name, options in loaded.options.items():
            check_sockets(name, options, own=own and name == "front")
        processes = read_journal(folder.front / "process.jsonl", ProcessSample)
        if servers.over_tcp:
            self._check_tcp(loaded, processes, own=own)
        else:
            observed |= NO_SOCKET
            check_datagrams(loaded.received, folder, scenario)
        if scenario.lowat == AUTO:
            decisions = read_journal(folder.front / JOURNAL, Decision)
            check_tuned(scenario, processes, decisions, self._places.addresses.client)

    def _check_tcp(self, loaded: Loaded, processes: Sequence[ProcessSample], *, own: bool) -> None:
        scenario, folder, observed = self.scenario, self._folder, self._observed
        sockets = read_journal(folder.front / "sockets.jsonl", SocketSample)
        observed |= live_socket_state(sockets, processes)
        load = payload_span(folder)
        if scenario.disturb is None:  # a disturbance has a connection of its own, which may be sampled meanwhile
            check_memory([each for each in sockets if not scenario.client.is_browser or each.t_ns in load])
        observed |= observed_limits(sockets, load)
        check_live_socket(scenario, observed)
        check_sysctl(scenario, processes)
        settings = {each.place: each.asked for each in self._standing}
        if settings and not scenario.client.is_browser and (negotiated := loaded.readings[0].negotiated):
            client, front = settings["client"], settings["front"]
            check_handshake(negotiated, client, front, ecn=scenario.link.ecn, own=own)
        check_carried(loaded.received, folder, scenario, sockets, loaded.readings)
        options = read_journal(folder.front / "options.jsonl", OptionsSample)
        check_sockets("front", [*loaded.options.get("front", ())[:1], *options], own=own)
        check_connection(read_json(folder.client / "socket.json")["port"], processes, load)
        observed |= {"record_bytes": _largest_record(folder.client / "socket.json")}
        check_record(scenario, observed)

    def read_counters(self, link: ActiveLink, *, portrayed: bool) -> None:
        """Reads the link's counters. portrayed: True if the places' pictures have the link's qdiscs."""
        scenario, counters = self.scenario, link.counters()
        write_json(self._folder.link / "counters.json", counters)
        if link.shaper is Shaper.NETEM and not portrayed:
            check_kept(scenario.link, counters, AFTER)
        if scenario.link.ecn:
            self._observed |= {"ce_marks": disciplines.ce_marks(counters)}
        if link.shaper is Shaper.FERRY:
            check_ferry(counters, self._conditions.tolerance)


@contextmanager
def _blaming_the_users_files(scenario: Scenario, folder: RunFolder) -> Iterator[None]:
    """Adds the front's own words to StepFailed at its start.

    If a front with the user's files ends at once, these are the front's first line about an error.
    """
    try:
        yield
    except StepFailed as error:
        given = [("SERVER", scenario.server if scenario.front.own else None)]
        given += [("PROGRAM", scenario.program), ("CONFIG", scenario.config)]
        files = [f"{knob}={text}" for knob, text in given if text is not None]
        said = first_complaint(folder.front / name for name in ("output.log", "error.log"))
        if not files or said is None or not error.reason.startswith(_ENDED):
            raise in_words(error, folder, {}) from error
        line, log = said
        raise StepFailed(f"{error.step} with {' '.join(files)}", f"it did not start: {line}", log) from error


@contextmanager
def _limited_by_memory(scenario: Scenario, folder: RunFolder) -> Iterator[None]:
    """Raises InvalidRun with the reason if the loads fail and the memory for TCP was short."""
    try:
        yield
    except StepFailed:
        if scenario.disturb is None and not scenario.client.is_browser:
            check_memory(read_journal(folder.front / "sockets.jsonl", SocketSample))
        raise


def _portrayed(places: Hosts, cross: ActiveCross | None) -> Sequence[Portrayed]:
    return [*places.portrayed(), *([cross.portrayed()] if cross is not None else ())]


def _largest_record(account: Path) -> int | None:
    """Returns the size of the largest TLS record that the client decrypted, in bytes; None if it is not in the account.

    account: the file client/socket.json, which need not exist.
    """
    found: int | None = read_json(account).get("largest_record_bytes") if account.exists() else None
    return found


def _tuning(
    places: Hosts, scenario: Scenario, server: Process, folder: RunFolder
) -> AbstractContextManager[ActiveTuner | None]:
    return places.tuning(server, scenario, folder.front) if scenario.lowat == AUTO else nullcontext()


def _crossing(
    places: Hosts, scenario: Scenario, shaper: Shaper, folder: RunFolder, interval_ns: int | None
) -> AbstractContextManager[ActiveCross | None]:
    return places.crossing(shaper, folder.link, interval_ns) if scenario.cross else nullcontext()


def _origin_settings(folder: RunFolder, tools: Tools) -> OriginSettings:
    return OriginSettings(
        program=tools.programs["node"],
        page=folder.page,
        folder=folder.origin,
    )


def _front(places: Hosts, scenario: Scenario, folder: RunFolder, tools: Tools, hop: RunningHop | None) -> Front:
    server, seen = scenario.front, places.seen(folder)
    modules = modules_of(server)
    return Front(
        FrontSettings(
            server=server,
            native=scenario.native,
            buffering=scenario.buffering,
            program=tools.programs[FRONT],
            server_name=SERVER_NAME,
            address=places.addresses.front,
            port=FRONT_PORT,
            origin=hop.origin if hop else f"{places.addresses.origin}:{ORIGIN_PORT}",
            listener=server.listens,
            upstream=scenario.via.http.level if scenario.via else HTTP1,
            round_trip_s=scenario.via.link.round_trip_ns / 10**9 if scenario.via else 0.0,
            size_bytes=scenario.whole_page.largest_bytes,
            certificates=certificates_in(seen.asked),
            config=seen.asked / server.config_name,
            state=places.front_state,
            as_root=places.as_root,
            log=seen.front / "error.log",
            output=seen.front / "output.log",
            modules=modules and places.front_sees(modules),
            record_bytes=scenario.record_bytes,
            server_folder=places.server_folder,
            catalogue=places.front_sees(CATALOGUE),
            root=Path(tools.root) if tools.root else None,
        )
    )


def _calibrate(
    places: Hosts, scenario: Scenario, tolerance: Tolerance, folder: RunFolder, link: ActiveLink
) -> dict[str, Any]:
    link.check_alive()
    measured, attempts = places.calibrate(tolerance, link.pid)
    link.check_alive()
    found = measured.figures(scenario.link)
    if reasons := calibration.unmeasured(scenario.link):
        found["unmeasured"] = reasons
    write_json(folder.link / "calibration.json", found | {"attempts": attempts, "tolerance": asdict(tolerance)})
    for what, asked, seen in calibration.disagreements(scenario.link, measured, tolerance):
        raise InvalidRun(f"calibration of {what}", asked, seen)
    return found
