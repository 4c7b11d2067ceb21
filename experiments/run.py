"""One arm, from nothing to its last counter, in the order in which it happens."""

import json
import os
import platform
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from client.plan import maps_plan
from experiments.errors import InvalidRun, StepFailed
from experiments.origin import start_origin, wait_for_origin
from experiments.processes import Process
from experiments.record import RunFolder, write_json
from experiments.scenario import Scenario
from experiments.topology import CLIENT_ADDRESS, FRONT_ADDRESS, ORIGIN_ADDRESS, Places, four_places
from experiments.tuning import check_live_socket, check_settings, live_socket_state, tune, tune_front_process
from netem import calibration
from proxy.certificates import certificates_in
from proxy.front import Front, FrontSettings
from proxy.live_socket import LiveSocket, SocketSample
from proxy.readiness import NotReady
from proxy.server import catalogue

SERVER_NAME = "maps.test"
_FRONT_PORT = 443
_ORIGIN_PORT = 8080
_SAMPLE_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Programs by name (absolute paths), and what they call themselves."""

    programs: Mapping[str, str]
    versions: Mapping[str, str]


def run_arm(
    scenario: Scenario,
    folder: RunFolder,
    tools: Tools,
    *,
    load_deadline_ns: int,
    observed: dict[str, Any],
    tell: Callable[[str], None],
) -> None:
    """Run the arm and fill its folder; `observed` receives what was found in place of what was asked.

    Raises StepFailed, Unavailable, and InvalidRun if something asked for is not what was observed.
    """
    with ExitStack() as stack:
        tell("places")
        _record_environment(folder, tools)
        places = stack.enter_context(four_places())
        observed |= tune(places, scenario)
        check_settings(scenario, observed)

        tell("origin and front")
        origin = stack.enter_context(_running_origin(places, scenario, folder, tools))
        front = stack.enter_context(_running_front(places, scenario, folder, tools))
        tune_front_process(places.front, scenario, front.pid)

        tell("link")
        commands = places.apply_link(scenario.link)
        write_json(folder.asked / "tc.json", commands)
        measured = _calibrate(places, scenario, folder)
        observed |= asdict(measured)
        for what, asked, found in calibration.disagreements(scenario.link, measured, calibration.VIRTUAL):
            raise InvalidRun(f"calibration of {what}", asked, found)

        samples = _load_pages(places, scenario, folder, (front, origin), load_deadline_ns)
        observed |= live_socket_state(samples)
        check_live_socket(scenario, observed)

        tell("counters")
        counters = {direction: json.loads(text) for direction, text in places.link_counters().items()}
        write_json(folder.link / "counters.json", counters)


def _record_environment(folder: RunFolder, tools: Tools) -> None:
    monotonic = time.get_clock_info("monotonic")
    document = {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "clock": {"implementation": monotonic.implementation, "resolution_s": monotonic.resolution},
        "python": sys.version.split()[0],
        "versions": dict(tools.versions),
    }
    write_json(folder.environment, document)


@contextmanager
def _running_origin(places: Places, scenario: Scenario, folder: RunFolder, tools: Tools) -> Iterator[Process]:
    with start_origin(
        places.origin,
        tools.programs["node"],
        address=ORIGIN_ADDRESS,
        port=_ORIGIN_PORT,
        size_bytes=scenario.size_bytes,
        script_delay_ns=scenario.script_delay_ns,
        folder=folder.origin,
    ) as origin:
        with places.front.entered():
            wait_for_origin(origin, ORIGIN_ADDRESS, _ORIGIN_PORT)
        yield origin


@contextmanager
def _running_front(places: Places, scenario: Scenario, folder: RunFolder, tools: Tools) -> Iterator[Process]:
    server = catalogue()[scenario.server]
    front = Front(
        FrontSettings(
            server=server,
            native=scenario.native,
            program=tools.programs[server.program],
            server_name=SERVER_NAME,
            address=FRONT_ADDRESS,
            port=_FRONT_PORT,
            origin=f"{ORIGIN_ADDRESS}:{_ORIGIN_PORT}",
            size_bytes=scenario.size_bytes,
            certificates=certificates_in(folder.asked),
            config=folder.asked / server.template.name,
            # A server started as root gives these files to its worker's user, which a results folder may not allow.
            state=Path(tempfile.mkdtemp(prefix="front-")),
            log=folder.front / "error.log",
            output=folder.front / "output.log",
        )
    )
    write_json(folder.asked / "front.json", front.command)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, front.settings.state, ignore_errors=True)
        try:
            with places.front.entered():
                process = stack.enter_context(
                    front.running(lambda command, log: places.front.start(f"the front ({server.name})", command, log))
                )
        except NotReady as error:
            raise StepFailed(f"the front ({server.name})", str(error), front.settings.log) from error
        yield cast("Process", process)


def _calibrate(places: Places, scenario: Scenario, folder: RunFolder) -> calibration.Calibration:
    with places.client.entered():
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with places.front.entered():
        far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with near, far:
        near.bind((CLIENT_ADDRESS, 0))
        far.bind((FRONT_ADDRESS, 0))
        measured = calibration.calibrate(near, far, scenario.link)
    write_json(folder.link / "calibration.json", asdict(measured))
    return measured


def _load_pages(
    places: Places,
    scenario: Scenario,
    folder: RunFolder,
    servers: tuple[Process, Process],
    load_deadline_ns: int,
) -> list[SocketSample]:
    plan = maps_plan(
        address=FRONT_ADDRESS,
        port=_FRONT_PORT,
        server_name=SERVER_NAME,
        priorities=scenario.priorities,
        reloads=scenario.reloads,
        window_bytes=scenario.window_bytes,
        load_deadline_ns=load_deadline_ns,
    )
    plan_file = folder.client / "plan.json"
    plan_file.write_text(plan.to_json())
    command = (
        sys.executable,
        "-m",
        "client",
        str(plan_file),
        str(certificates_in(folder.asked).ca),
        str(folder.client),
    )
    front = servers[0]
    live = LiveSocket(front.pid, CLIENT_ADDRESS)
    samples: list[SocketSample] = []
    with (
        (folder.front / "sockets.jsonl").open("w") as journal,
        places.client.start("the client", command, folder.client / "output.log", own_stdout=False) as client,
    ):
        while not client.wait(_SAMPLE_S):
            for server in servers:
                server.check_alive()
            if (sample := live.sample()) is not None:
                samples.append(sample)
                journal.write(sample.to_json() + "\n")
        # A front that died is the reason, the client's broken connection only the consequence.
        for server in servers:
            server.check_alive()
        client.check_success()
    return samples
