"""Carries out the steps of a run, in this order: servers, link, calibration, page loads, checks, counters."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from priolab.client.plan import with_decoys
from priolab.common.formats.decisions import JOURNAL, Decision
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import OptionsSample, ProcessSample, SocketSample
from priolab.experiments.errors import InvalidRun, StepFailed
from priolab.experiments.host.npm import modules_of
from priolab.experiments.host.origin_process import OriginSettings
from priolab.experiments.host.processes import Process
from priolab.experiments.host.program_logs import first_complaint
from priolab.experiments.host.tools import FRONT, Tools
from priolab.experiments.results.run_folder import RunFolder, read_json, write_json
from priolab.experiments.run.browser import check_browser, observed_browser, payload_span
from priolab.experiments.run.capture import capturing
from priolab.experiments.run.checks.limits import check_memory, observed_limits
from priolab.experiments.run.checks.pictures import AFTER, BEFORE, check_pictures
from priolab.experiments.run.checks.rate_steps import check_steps, observed_steps
from priolab.experiments.run.checks.settings import (
    NO_SOCKET,
    check_connection,
    check_ferry,
    check_kept,
    check_live_socket,
    check_record,
    check_settings,
    check_tuned,
    check_unchanged,
    live_socket_state,
)
from priolab.experiments.run.checks.sockets import check_sockets
from priolab.experiments.run.checks.traffic import check_carried, check_cross, check_datagrams, observed_cross
from priolab.experiments.run.environment import Environment
from priolab.experiments.run.page_loads import Conditions, load_pages
from priolab.experiments.run.second_hop import RunningHop, second_hop
from priolab.experiments.run.servers_words import in_the_servers_words, in_words
from priolab.experiments.scenario.scenario import LOWAT_AUTO, Scenario, ShaperAt
from priolab.experiments.testbed.namespaces.cross_traffic import JOURNAL as CROSS_JOURNAL
from priolab.experiments.testbed.namespaces.front_shaper import check_at, observed_at
from priolab.experiments.testbed.places import (
    FRONT_PORT,
    ORIGIN_PORT,
    SERVER_NAME,
    ActiveCross,
    ActiveLink,
    ActiveTuner,
    Places,
    Portrayed,
)
from priolab.netem import calibration, disciplines
from priolab.netem.calibration import Tolerance
from priolab.netem.link import Qdisc
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.certificate_files import certificates_in
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.server import CATALOGUE
from priolab.proxy.switch import HTTP1

_ENDED = "it ended "
"""The beginning of the reason of StepFailed if a program has ended (experiments/host/processes.py)."""


def run_arm(
    folder: RunFolder,
    places: Places,
    conditions: Conditions,
    *,
    observed: dict[str, Any],
    tell: Callable[[str], None],
) -> None:
    """Runs the arm and fills the run folder.

    places: the namespaces or containers of client, link, front and origin. conditions: the order, the tolerance, and
    the alignment of the client's start. observed: a dict into which the function writes the settings and figures that
    it found. tell: called with the name of each step. Raises StepFailed, Unavailable, and InvalidRun if a setting
    asked for and the setting observed differ.
    """
    order = conditions.order
    scenario, tools = order.scenario, order.tools
    with ExitStack() as stack:
        environment = Environment(folder, tools, places)
        places.apply_settings(scenario)

        tell("origin and front")
        page = with_decoys(scenario.page) if scenario.disturb else scenario.page
        write_json(folder.page, page.as_document())
        origin = stack.enter_context(places.start_origin(_origin_settings(folder, tools)))
        environment.origin_answers(origin.clock)
        observed |= {"clock_resolution_ns": environment.resolution_ns}
        if scenario.via is not None:
            tell("second front, and the link between the fronts")
        hop = stack.enter_context(second_hop(places, folder, order, conditions.tolerance, origin.process, observed))
        front = _front(places, scenario, folder, tools, hop)
        write_json(folder.asked / "front.json", front.command)
        with _blaming_the_users_files(scenario, folder):
            server = stack.enter_context(places.start_front(front, scenario, origin.process))
        observed |= places.settings()
        check_settings(scenario, observed)

        tell("link")
        sampled_ns = None if order.sampling is None else order.sampling.measured_ns
        starting = places.start_link(
            scenario.link,
            order.shaper,
            scenario.shaper_at,
            seed=order.seed,
            folder=folder.link,
            interval_ns=sampled_ns,
        )
        link = stack.enter_context(starting)
        write_json(folder.asked / "link.json", link.commands)
        observed |= {"shaper": link.shaper, "shaper_reason": link.instead_of_netem}
        by_tc = link.shaper is Shaper.NETEM and scenario.shaper_at is ShaperAt.LINK
        if by_tc and scenario.link.qdisc is not Qdisc.FIFO:
            check_kept(scenario.link, link.counters(), BEFORE)
        observed |= _calibrate(places, scenario, conditions.tolerance, folder, link)

        with (
            _crossing(places, scenario, link.shaper, folder, sampled_ns) as cross,
            capturing(places, tools, folder) if order.capture else nullcontext(()) as taps,
        ):
            servers = (server, origin.process, *taps, *(cross.processes if cross else ()))
            servers += tuple(hop.processes) if hop else ()
            with _tuning(places, scenario, server, folder) as tuner:
                observed |= {"tuner": tuner and tuner.kind, "tuner_reason": tuner and tuner.reason}
                portrayed = _portrayed(places, cross)
                observed |= {"unusual": sorted({each for of in portrayed for each in of.unusual})}
                check_pictures(portrayed, BEFORE)
                with _limited_by_memory(scenario, folder), in_the_servers_words(folder):
                    span, came, ends = load_pages(places, folder, servers, (link, tuner, hop), conditions)
                portrayed = _portrayed(places, cross)
                check_pictures(portrayed, AFTER)
            if cross is not None:
                observed |= observed_cross(cross.carried(), folder.link / CROSS_JOURNAL)
                check_cross(scenario, observed, span)
        if not portrayed:
            check_unchanged(observed, places.settings())
        if scenario.client.is_browser:
            observed |= observed_browser(folder, environment.resolution_ns)
            check_browser(observed["browser"])
        own = scenario.front.own or scenario.program is not None or scenario.config is not None
        for name, options in ends.items():
            check_sockets(name, options, own=own and name == "front")
        sockets = read_journal(folder.front / "sockets.jsonl", SocketSample)
        processes = read_journal(folder.front / "process.jsonl", ProcessSample)
        if front.settings.server.over_tcp:
            observed |= live_socket_state(sockets, processes)
            load = payload_span(folder)
            if scenario.disturb is None:  # a disturbance has a connection of its own, which may be sampled meanwhile
                check_memory([each for each in sockets if not scenario.client.is_browser or each.t_ns in load])
            observed |= observed_limits(sockets, load)
            check_live_socket(scenario, observed)
            check_carried(came, folder, scenario, sockets)
            seen = read_journal(folder.front / "options.jsonl", OptionsSample)
            check_sockets("front", [*ends.get("front", ())[:1], *seen], own=own)
            check_connection(read_json(folder.client / "socket.json")["port"], processes, load)
            observed |= {"record_bytes": _largest_record(folder.client / "socket.json")}
            check_record(scenario, observed)
        else:
            observed |= NO_SOCKET
            check_datagrams(came, folder, scenario)
        if scenario.lowat == LOWAT_AUTO:
            check_tuned(scenario, processes, read_journal(folder.front / JOURNAL, Decision), places.addresses.client)

        tell("counters")
        counters = link.counters()
        write_json(folder.link / "counters.json", counters)
        observed |= {"shaper_at": observed_at(counters)}
        check_at(scenario, counters)
        if by_tc and not portrayed:
            check_kept(scenario.link, counters, AFTER)
        if scenario.link.ecn:
            observed |= {"ce_marks": disciplines.ce_marks(counters)}
        if link.shaper is Shaper.FERRY:
            check_ferry(counters, conditions.tolerance)
    # The link's journal of the rate steps is complete only when the link has ended.
    observed |= {"rate_steps": observed_steps(scenario.link, folder.link, span)}
    check_steps(observed["rate_steps"], conditions.tolerance)


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
    """If the loads fail and the memory for TCP was short, raises InvalidRun, which tells the reason."""
    try:
        yield
    except StepFailed:
        if scenario.disturb is None and not scenario.client.is_browser:
            check_memory(read_journal(folder.front / "sockets.jsonl", SocketSample))
        raise


def _portrayed(places: Places, cross: ActiveCross | None) -> Sequence[Portrayed]:
    return [*places.portrayed(), *([cross.portrayed()] if cross is not None else ())]


def _largest_record(account: Path) -> int | None:
    """Returns the size of the largest TLS record that the client decrypted, in bytes; None if it is not in the account.

    account: the file client/socket.json, which need not exist.
    """
    found: int | None = read_json(account).get("largest_record_bytes") if account.exists() else None
    return found


def _tuning(
    places: Places, scenario: Scenario, server: Process, folder: RunFolder
) -> AbstractContextManager[ActiveTuner | None]:
    return places.tuning(server, scenario, folder.front) if scenario.lowat == LOWAT_AUTO else nullcontext()


def _crossing(
    places: Places, scenario: Scenario, shaper: Shaper, folder: RunFolder, interval_ns: int | None
) -> AbstractContextManager[ActiveCross | None]:
    return places.crossing(scenario, shaper, folder.link, interval_ns) if scenario.cross else nullcontext()


def _origin_settings(folder: RunFolder, tools: Tools) -> OriginSettings:
    return OriginSettings(
        program=tools.programs["node"],
        page=folder.page,
        folder=folder.origin,
    )


def _front(places: Places, scenario: Scenario, folder: RunFolder, tools: Tools, hop: RunningHop | None) -> Front:
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
            upstream=scenario.via.http.level if scenario.via else HTTP1,
            round_trip_s=scenario.via.link.round_trip_ns / 10**9 if scenario.via else 0.0,
            size_bytes=scenario.page.largest_bytes,
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
    places: Places, scenario: Scenario, tolerance: Tolerance, folder: RunFolder, link: ActiveLink
) -> dict[str, Any]:
    link.check_alive()
    measured, attempts = places.calibrate(scenario.link, tolerance, link.pid)
    link.check_alive()
    found = asdict(measured)
    if reasons := calibration.unmeasured(scenario.link):
        found["unmeasured"] = reasons
    write_json(folder.link / "calibration.json", found | {"attempts": attempts, "tolerance": asdict(tolerance)})
    for what, asked, seen in calibration.disagreements(scenario.link, measured, tolerance):
        raise InvalidRun(f"calibration of {what}", asked, seen)
    return found
