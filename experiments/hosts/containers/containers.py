"""Places as containers: the services of compose.yaml. Each run has its own compose project and networks.

Services see the run folder at another path (mounts.py). The addresses of the networks are chosen at random, because two
projects must not use the same addresses.
"""

import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from priolab.common.clock_route import ClockRoute
from priolab.common.descriptors import read_beginning
from priolab.common.errors import StepFailed, Unavailable
from priolab.common.formats.files import write_json
from priolab.common.formats.samples import OptionsSample
from priolab.common.process.processes import Process
from priolab.common.process.program_logs import tail
from priolab.common.timeouts import READY_S
from priolab.common.tuning import TunerKind
from priolab.experiments.hosts.containers import docker_engine, engine_kernel, user_files
from priolab.experiments.hosts.containers.compose_override import ComposeOverride
from priolab.experiments.hosts.containers.docker_engine import STEP_S
from priolab.experiments.hosts.containers.mounts import INSIDE, SERVICES, TAPS, Mounts
from priolab.experiments.hosts.containers.pictures import HIDDEN, ContainerPictures
from priolab.experiments.hosts.containers.services import END_S, Services, granted
from priolab.experiments.hosts.counting import counting
from priolab.experiments.hosts.experiment_hosts import (
    CAPTURES,
    FRONT_PORT,
    ActiveTuner,
    Addresses,
    LiveSockets,
    Sampling,
    gso_segments_in,
)
from priolab.experiments.hosts.namespaces.front_tuner import INSTEAD, tuning
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.origin_process import OriginSettings, RunningOrigin
from priolab.experiments.setup.tools import Tools
from priolab.netem.calibration import Calibration, Tolerance
from priolab.netem.interface_counters import received
from priolab.netem.link import Link
from priolab.netem.rate_limiter import changing
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.counters import FrontCounters
from priolab.proxy.front import Front
from priolab.proxy.sampler_program import ENDED
from priolab.testbed import ActiveCross, ActiveLink, Portrayed, cgroup, no_look, packet_capture

NOBODY = (65534, 65534)
_PLACES = ("origin", "front", "link", "client")
_CALIBRATION_PORT = 7007
_CALIBRATION_ROUNDS = 50
_CALIBRATION_TRAIN_S = 60.0
_ADDRESSES_TRIED = 20
_GAUGE_CHECK_NS = 10**8
_ELSEWHERE = "the engine's containers are no processes of this machine"


class _NoSockets:
    """The connections of no place."""

    samples: Mapping[str, Sequence[OptionsSample]] = MappingProxyType({})

    def look(self, now_ns: int) -> None:
        """Looks at nothing."""


class Containers:
    """The four places of a run as containers. A context manager, whose exit collects the services' files.

    A script outside of this process later removes the containers, even if this process was killed.
    """

    python = "python3"
    front_state = Path("/run/front")
    second = None
    server_folder: Path | None = user_files.FOLDER
    as_root = False

    def __init__(self, spec: RunSpec, folder: RunFolder) -> None:
        user = _user()
        self._folder = folder
        self._scenario = spec.scenario
        self._mounts = Mounts(folder, user, spec.scenario)
        self._tuner = spec.tuner or TunerKind.BPF
        self._override = ComposeOverride(spec, user, self._mounts)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for _ in range(_ADDRESSES_TRIED):
            number = random.randrange(2, 256)  # `docker compose up` uses 198.18.0 and 198.18.1
            near, far = f"198.18.{number}", f"198.19.{number}"
            self.addresses = Addresses(client=f"{near}.3", front=f"{far}.3", origin=f"{far}.5")
            try:
                self._create(near, far)
            except StepFailed as error:
                if "overlap" not in error.reason.lower():
                    raise
                self._project.remove()
            else:
                place = self._services.start("client", "the client's place", self._folder.client / "place.log")
                self._place = self._stack.enter_context(place)
                return self
        raise StepFailed("making containers", "no free pair of networks in 198.18.0.0/15")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Collects the services' files. Does not remove containers. Raises StepFailed if the engine does not answer."""
        self._stack.close()
        for service in SERVICES:
            self._mounts.collect(service)
        if isinstance(error, StepFailed) and not docker_engine.answers():
            raise StepFailed("the Docker engine", "it no longer answers") from error

    def _create(self, near: str, far: str) -> None:
        override = self._folder.asked / "compose.json"
        write_json(override, self._override.document())
        words = self._override.words(near, far)
        write_json(self._folder.asked / "compose-environment.json", words)
        project = self._project = docker_engine.Project(docker_engine.project_name(self._folder), words, override)
        project.create(*_PLACES)
        self._services = Services(project.containers(*_PLACES))
        self._pictures = ContainerPictures(self._services.run)
        for network, addresses in (("near", near), ("far", far)):
            project.attach(self._services.ids["link"], network, f"{addresses}.4")

    def seen(self, folder: RunFolder) -> RunFolder:
        """Returns the run folder at the path where the services see it."""
        del folder
        return INSIDE

    def front_sees(self, folder: Path) -> Path:
        """Returns the same path: no front in containers needs a folder of this machine (Server.in_images)."""
        return folder

    def describe(self) -> Mapping[str, Any]:
        """Returns the engine's kernel and version, the compose command, each service's image, and unseen places."""
        ids = self._services.ids
        images = docker_engine.docker("inspect", "--format", "{{.Image}}", *ids.values()).split()
        return {
            "kernel": engine_kernel.asked().release,
            "engine": docker_engine.version_told(),
            "compose": list(docker_engine.compose_command()),
            "images": dict(zip(ids, images, strict=True)),
            "without_picture": list(HIDDEN),
        }

    def python_clock(self) -> Mapping[str, Any]:
        """Returns the quality of the clock of Python in the client's container."""
        clock: dict[str, Any] = json.loads(
            self._services.until(self._place, "client", [self.python, "-m", "priolab.common.clock_quality"])
        )
        return clock

    def node_route(self, tools: Tools) -> ClockRoute:
        """Returns the way in which Node reads the clock, as found in the origin's image before the run."""
        return tools.node_route or ClockRoute(route=None, reason="Node was not tried")

    def apply_settings(self, scenario: Scenario) -> None:
        """Does nothing: compose.yaml sets the sysctls, and other settings need a running front."""

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the container of the running front."""
        read = "cat /proc/sys/net/ipv4/tcp_notsent_lowat /proc/sys/net/ipv4/tcp_wmem; ip -details link show dev eth0"
        lowat, wmem, *details = self._services.run("front", ["sh", "-c", read]).splitlines()
        return {
            "lowat": int(lowat),
            "tcp_wmem": " ".join(wmem.split()),
            "gso_segments": gso_segments_in(" ".join(details)),
        }

    @contextmanager
    def start_origin(self, origin: OriginSettings) -> Iterator[RunningOrigin]:
        """Starts the origin, and waits until the origin answers a request from its own container."""
        log = origin.folder / "output.log"
        self._mounts.hand_in()
        with self._services.start("origin", "the origin", log) as process:
            answer = self._services.until(process, "origin", ["node", "ready.mjs", str(READY_S)])
            yield RunningOrigin.answering(process, answer)

    @contextmanager
    def start_front(self, front: Front, scenario: Scenario, origin: Process) -> Iterator[Process]:
        """Starts the front, and waits until the front answers. Then sets the settings that need a running front.

        The gauge, a container in the front's namespaces, sets GSO, and CC if its sysctl cannot be set.
        """
        del origin  # `Services` watches the origin's container
        front.configure(self._folder.asked)
        self._mounts.hand_in()
        name = f"the front ({front.settings.server.name})"
        output, log = (self._folder.front / path.name for path in (front.settings.output, front.settings.log))
        with self._services.start("front", name, output) as process, self._start_gauge(process):
            self._services.until(process, "front", ["python3", "-m", "priolab.proxy.readiness", str(READY_S)], log)
            if scenario.gso_segments is not None:
                limit = ["ip", "link", "set", "dev", "eth0", "gso_max_segs", str(scenario.gso_segments)]
                self._services.run("gauge", granted(["net_admin"], limit))
            if not self._override.cc_by_sysctl:
                choose = ["python3", "-m", "priolab.proxy.sampler_program", "congestion", scenario.congestion_control]
                self._services.run("gauge", granted(["net_admin", "sys_ptrace"], choose))
            yield process

    @contextmanager
    def _start_gauge(self, front: Process) -> Iterator[None]:
        # The gauge joins the front's namespaces: docker-compose can create the gauge only when they exist.
        self._services.wait("front", front.check_alive, "starting the front")
        self._project.create("gauge")
        self._services.ids.update(self._project.containers("gauge"))
        with self._services.start("gauge", "the gauge", self._folder.front / "gauge-place.log") as self._gauge:
            self._services.wait("gauge", front.check_alive, "starting the gauge")
            yield

    @contextmanager
    def start_link(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> Iterator[ActiveLink]:
        """Starts the link, and waits until it reports its counters.

        shaper: the shaper; None for netem if the kernel has it, otherwise the ferry. folder: for the journal of the
        queue. interval_ns: the interval of the queue's samples; None for no samples.
        """
        del shaper, seed, interval_ns  # variables of compose.yaml
        with self._services.start("link", "the link", folder / "output.log") as process:
            ask = ["python3", "-m", "priolab.netem.counters"]
            state = json.loads(self._services.until(process, "link", [*ask, str(READY_S)]))
            self._pictures.asked_of_link(
                state["commands"],
                changing(self._scenario.link, state["to_client"]) if self._scenario.link.rate_steps else (),
            )
            yield ActiveLink(
                shaper=Shaper(state["shaper"]),
                instead_of_netem=state["instead_of_netem"],
                pid=None,
                commands=state["commands"],
                check_alive=process.check_alive,
                counters=lambda: json.loads(self._services.run("link", ask))["counters"],
                carried=lambda: received(self._services.run("link", ["cat", "/proc/net/dev"]), state["to_front"]),
                look=no_look,
                begin=lambda began_ns: self._services.run(
                    "link", ["python3", "-m", "priolab.netem.control", str(began_ns)]
                ),
            )
        self._mounts.collect("link")

    def calibrate(self, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Calibrates the link between two programs, in the client's and in the front's container.

        Returns the result and the number of attempts. pid: not used here, because the ferry runs in a container.
        """
        del pid
        link, name = self._scenario.link, "calibration.json"
        write_json(self._folder.asked / name, {"link": link.as_document(), "tolerance": asdict(tolerance)})
        self._mounts.hand_in()
        far, port = self.addresses.front, str(_CALIBRATION_PORT)
        program = ["python3", "-m", "priolab.netem.calibrate"]
        log = self._folder.link / "far-end.log"
        self._services.wait("client", self._place.check_alive, "starting the client's place")
        far_end = [*program, "far", far, port]
        with self._services.process("the far end of the calibration", "front", far_end, log):
            found = self._services.run(
                "client", [*program, "near", far, port, str(INSIDE.asked / name)], timeout_s=_calibration_s(link)
            )
        document = json.loads(found)
        return Calibration(**document["measured"]), document["attempts"]

    def crossing(self, *_: object) -> AbstractContextManager[ActiveCross]:
        """Raises Unavailable: the compose project has no service for cross traffic."""
        lack = "the compose project has no service for cross traffic"
        raise Unavailable(f"CROSS={self._scenario.cross} with FABRIC=compose", lack, "use FABRIC=virtual or netns")

    @contextmanager
    def sampling(self, front: Process, folder: Path, interval_ns: int | None) -> Iterator[Sampling]:
        """Starts the sampling in the gauge, the container beside the front.

        The yielded Sampling takes no samples in this process: it checks that the gauge and the sampling program run.
        interval_ns: the sampling interval; None for a single sample.
        """
        del folder  # the gauge's files are collected into the folder
        what = [self.addresses.client, str(FRONT_PORT), str(INSIDE.front), str(interval_ns or 0)]
        command = granted(["sys_ptrace"], ["python3", "-m", "priolab.proxy.sampler_program", "look", *what])
        log = self._folder.front / "gauge.log"
        try:
            with self._services.process("the gauge", "gauge", command, log) as gauge:

                def look(now_ns: int) -> int:
                    if not (self._gauge.running and gauge.running):
                        # The gauge is in the front's namespaces and ends with the front: see if the front ended first.
                        front.wait(END_S)
                        front.check_alive()
                    self._gauge.check_alive()
                    if not gauge.running and ENDED in tail(log):
                        raise StepFailed(front.name, f"it {ENDED}", self._folder.front / "error.log")
                    gauge.check_alive()
                    return now_ns + _GAUGE_CHECK_NS

                yield Sampling(look=look)
        finally:
            self._mounts.collect("gauge")

    @contextmanager
    def counting(self, front: Process, *, over_tcp: bool) -> Iterator[FrontCounters]:
        """Counts by this machine's kernel, if the engine's containers are processes of this machine.

        The gauge's samples have the counters of the connection.
        """
        del front, over_tcp  # the process of `docker start`, not the front's
        pid = self._front_pid()
        if pid is None:
            yield FrontCounters(None, _ELSEWHERE, None)
            return
        with counting(pid) as counters:
            yield counters

    def _front_pid(self) -> int | None:
        """Returns the id of the front's first process; None if the engine runs on another kernel."""
        container = self._services.ids["front"]
        pid = int(docker_engine.docker("inspect", "--format", "{{.State.Pid}}", container))
        return pid if container in read_beginning(f"/proc/{pid}/cgroup") else None

    def tuning(self, front: Process, scenario: Scenario, folder: Path) -> AbstractContextManager[ActiveTuner]:
        """Runs the tuner in this machine's kernel, on the cgroup of the front's container. Raises Unavailable."""
        del front  # the process of `docker start`
        pid = self._front_pid()
        if pid is None:
            raise Unavailable("LOWAT=auto", _ELSEWHERE, INSTEAD)
        namespace = int(self._services.run("gauge", ["python3", "-m", "priolab.proxy.sampler_program", "namespace"]))
        try:
            group = cgroup.group_of(pid)
        except OSError as error:
            raise Unavailable("LOWAT=auto", error.strerror or str(error), INSTEAD) from error
        return tuning(group, self._tuner, scenario, folder, namespace)

    @contextmanager
    def capturing(self, program: str, folder: Path) -> Iterator[Sequence[Process]]:
        """Captures in two containers that share the network namespaces of client and front.

        The capture files are collected like the files of other services.
        """
        del program  # the image has its own
        with ExitStack() as stack:
            taps = []
            # The taps, like the gauge, can be created only when the containers that they join run.
            self._project.create(*TAPS.values())
            self._services.ids.update(self._project.containers(*TAPS.values()))
            for place, service in TAPS.items():
                container = self._services.ids[service]
                started = self._services.attached(
                    service, f"the capture at the {place}", folder / f"{CAPTURES[place]}.log"
                )
                end = partial(docker_engine.docker, "stop", container)
                taps.append(stack.enter_context(packet_capture.listening(started, end)))
            yield taps

    @contextmanager
    def start_client(self, command: Sequence[str], log: Path, stdout: int) -> Iterator[Process]:
        """Runs the client in its container. When the client has ended, collects its files into the run folder."""
        self._mounts.hand_to("client", "plan.json")
        try:
            with self._services.process("the client", "client", command, log, stdout=stdout) as client:
                yield client
        finally:
            self._mounts.collect("client")

    def portrayed(self) -> Sequence[Portrayed]:
        """Returns the settings of each place but the origin's, as requested and as they are."""
        return self._pictures.portrayed()

    def portrayed_beside_loads(self) -> Sequence[Portrayed]:
        """Returns nothing: programs of the engine would have to start in each container."""
        return ()

    def live_sockets(self, client: Process | None) -> AbstractContextManager[LiveSockets]:
        """Returns what looks at no connection: only the gauge can, which looks at that of front and client."""
        del client
        return nullcontext(_NoSockets())


def _user() -> tuple[int, int]:
    """Returns uid and gid of the containers' programs: those of this process, or of `nobody` instead of root.

    In a rootless engine the programs run as root, who outside the container is this process's user.
    """
    if "rootless" in docker_engine.docker("info", "--format", "{{.SecurityOptions}}"):
        return 0, 0
    return NOBODY if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def _calibration_s(link: Link) -> float:
    """Returns the time limit of a calibration in seconds. No calibration that makes progress takes as long."""
    return STEP_S + _CALIBRATION_ROUNDS * (_CALIBRATION_TRAIN_S + 2 * (link.round_trip_ns + link.jitter_ns) / 10**9)
