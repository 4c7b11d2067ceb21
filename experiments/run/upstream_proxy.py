"""Runs the second hop (VIA): the second front, the link between the fronts, and their samplers and captures."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from priolab.common.errors import InvalidRun
from priolab.common.formats.counters import Counters, FrontReading
from priolab.common.formats.files import write_json
from priolab.common.process.processes import Process
from priolab.experiments.hosts.experiment_hosts import ORIGIN_PORT, SECOND_PORT, SERVER_NAME, Hosts, SecondHosts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.capture import LAST_PACKETS_S, realtime_minus_monotonic_ns
from priolab.experiments.run.checks.settings import check_hop
from priolab.experiments.scenario.scenario import Scenario, Via
from priolab.experiments.setup.npm import modules_of
from priolab.experiments.setup.tools import SECOND, Tools
from priolab.netem import calibration
from priolab.netem.calibration import Tolerance
from priolab.proxy.certificate_files import certificates_in
from priolab.proxy.counters import FrontCounters
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.server import CATALOGUE
from priolab.testbed import Look


@dataclass(frozen=True, kw_only=True)
class RunningHop:
    """The running second hop.

    origin: HOST:PORT of the second front, for the front. processes: the second front and the captures. looks: the
    periodic functions of its samplers. counters: those of the second front; `readings` takes what they read.
    check_alive: raises StepFailed if the link between the fronts has ended.
    """

    origin: str
    processes: Sequence[Process]
    looks: Sequence[Look]
    counters: FrontCounters
    readings: list[FrontReading]
    check_alive: Callable[[], None]


@contextmanager
def second_hop(
    places: Hosts, folder: RunFolder, spec: RunSpec, tolerance: Tolerance, origin: Process, observed: dict[str, Any]
) -> Iterator[RunningHop | None]:
    """Runs the second hop while the context is open; yields None without VIA.

    observed: gets the key `second`, with settings and shaper. origin: the running origin. Raises
    StepFailed, Unavailable and InvalidRun.
    """
    scenario, second = spec.scenario, places.second
    if scenario.via is None or second is None:
        yield None
        return
    seen = observed["second"] = {}
    with ExitStack() as stack:
        front = _front(second, scenario, scenario.via, folder, spec.tools, places)
        write_json(folder.asked / "second.json", front.command)
        server = stack.enter_context(second.start_front(front, scenario, origin))
        seen |= second.settings()
        check_hop(scenario, scenario.via, seen)
        interval_ns = None if spec.sampling is None else spec.sampling.measured_ns
        journals = folder.second / "link"
        starting = second.start_link(spec.shaper, seed=spec.seed, folder=journals, interval_ns=interval_ns)
        link = stack.enter_context(starting)
        seen |= {"shaper": link.shaper}
        measured, attempts = second.calibrate(tolerance, link.pid)
        write_json(journals / "calibration.json", measured.figures(scenario.via.link) | {"attempts": attempts})
        for what, asked, found in calibration.disagreements(scenario.via.link, measured, tolerance):
            raise InvalidRun(f"calibration of {what} between the fronts", asked, found)
        taps = stack.enter_context(_capturing(second, spec.tools, folder))
        sampled = stack.enter_context(second.sampling(folder.second, interval_ns))
        readings: list[FrontReading] = []
        yield RunningHop(
            origin=f"{second.address}:{SECOND_PORT}",
            processes=(server, *taps),
            looks=(sampled.look, link.look),
            counters=stack.enter_context(second.counting(server)),
            readings=readings,
            check_alive=link.check_alive,
        )
        write_json(folder.second / "counters.json", asdict(Counters(readings=tuple(readings))))
        write_json(journals / "counters.json", link.counters())


@contextmanager
def _capturing(second: SecondHosts, tools: Tools, folder: RunFolder) -> Iterator[Sequence[Process]]:
    with second.capturing(tools.programs["tcpdump"], folder.second) as taps:
        yield taps
        write_json(folder.second / "clock.json", {"realtime_minus_monotonic_ns": realtime_minus_monotonic_ns()})
        time.sleep(LAST_PACKETS_S)


def _front(second: SecondHosts, scenario: Scenario, via: Via, folder: RunFolder, tools: Tools, places: Hosts) -> Front:
    """Returns the second front. It holds whole responses if it can, and has no LOWAT of its own."""
    server, modules, seen = via.front, modules_of(via.front), places.seen(folder)
    return Front(
        FrontSettings(
            server=server,
            native="off",
            buffering=next(iter(server.buffering.levels)),
            program=tools.programs[SECOND],
            server_name=SERVER_NAME,
            address=second.address,
            port=SECOND_PORT,
            origin=f"{places.addresses.origin}:{ORIGIN_PORT}",
            size_bytes=scenario.whole_page.largest_bytes,
            certificates=certificates_in(seen.asked),
            config=seen.asked / f"second-{server.config_name}",
            state=second.state,
            as_root=places.as_root,
            log=seen.second / "error.log",
            output=seen.second / "output.log",
            modules=modules and places.front_sees(modules),
            catalogue=places.front_sees(CATALOGUE),
            root=Path(tools.second_root) if tools.second_root else None,
            listener=via.http.level,
        )
    )
