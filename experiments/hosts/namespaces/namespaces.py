"""The places of a run as network namespaces of the kernel that runs this code."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from priolab.client import __main__ as client
from priolab.common import clock_quality
from priolab.common.clock_route import ClockRoute, route_of
from priolab.common.errors import StepFailed
from priolab.common.process.processes import CopiedProcess, Process, ProcessSettings
from priolab.common.process.program_logs import tail
from priolab.common.process.search_path import program_environment
from priolab.common.snapshot.settings_snapshot import SettingsSnapshot
from priolab.common.socket_diag import SocketDiag
from priolab.common.timeouts import BLAME_S
from priolab.experiments.hosts.counting import counting
from priolab.experiments.hosts.experiment_hosts import FRONT_PORT, ORIGIN_PORT, ActiveTuner, Addresses, Sampling
from priolab.experiments.hosts.namespaces import front_place
from priolab.experiments.hosts.namespaces.end_sockets import EndSockets
from priolab.experiments.hosts.namespaces.experiment_topology import CLIENT, FRONT, LINK, ORIGIN, SECOND
from priolab.experiments.hosts.namespaces.upstream_proxy import SecondHop
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.origin_process import CLOCK_READER, OriginSettings, RunningOrigin, wait_for_origin
from priolab.experiments.setup.tools import Tools
from priolab.netem.calibration import Calibration, Tolerance
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.counters import FrontCounters
from priolab.proxy.front import Front
from priolab.proxy.sampler import FrontLost, Sampler
from priolab.testbed import WIRE, ActiveCross, ActiveLink, Portrayed, Topology, build, end_settings

if TYPE_CHECKING:
    from priolab.experiments.hosts.namespaces.front_tuner import FrontTuner

_NO_IPV6 = "net.ipv6.conf.all.disable_ipv6"
"""The sysctl that disables IPv6. An interface's IPv6 address becomes valid only a second after the interface is up. A
browser drops its requests on such a change: ERR_NETWORK_CHANGED."""
_UNQUOTABLE = set('"$\\{}')
_FORKED = ("-P", "-m", "priolab.client")


def tuner_of(spec: RunSpec, group_name: str) -> "FrontTuner | None":
    """Returns the tuner of a run's front; None without LOWAT=auto. group_name: the name of the front's cgroup."""
    if spec.tuner is None:
        return None
    from priolab.experiments.hosts.namespaces.front_tuner import FrontTuner  # no other run loads it

    return FrontTuner(spec.tuner, group_name)


class Namespaces:
    """The places of a run as namespaces. A context manager, whose exit removes the places."""

    python = sys.executable
    server_folder: Path | None = None
    as_root = os.geteuid() == 0

    def __init__(
        self,
        topology: Topology,
        usual: Shaper | None,
        tuner: "FrontTuner | None",
        *,
        forks_client: bool = False,
        moved: Mapping[Path, Path] = MappingProxyType({}),
        back_s: int | None = None,
    ) -> None:
        """usual: the shaper for SHAPER=auto; None for netem if the kernel has it, otherwise the ferry.

        tuner: the front's tuner; None without LOWAT=auto. forks_client: True if the lab's own client is a fork of this
        process, which has loaded the client's modules. moved: the paths at which the fronts see folders, by their paths
        on this machine; other folders have the same path. back_s: as for ProcessSettings, for fronts that read the
        processor's clock.
        """
        self._back_s = back_s
        self._moved = moved
        self._usual = usual
        self._topology = topology
        self.addresses = Addresses(**{name: topology.wire(name).address for name in (CLIENT, FRONT, ORIGIN)})
        self.second: SecondHop | None = None
        self._forks_client = forks_client
        self._tuner = tuner

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.front_state, self._scratch = (_made(stack, prefix) for prefix in ("front-", "link-"))
            network = self._network = stack.enter_context(build(self._topology, self._usual, self._scratch))
            self._client, self._front, self._origin = (network.hosts[name] for name in (CLIENT, FRONT, ORIGIN))
            if SECOND in network.hosts:
                self.second = SecondHop(network, _made(stack, "second-"), self._back_s)
            self._begin_portraits()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def seen(self, folder: RunFolder) -> RunFolder:
        """Returns the same folder, or a link to it if no server's configuration file could contain its path.

        Each server has quoting rules of its own.
        """
        if not set(str(folder.path)) & _UNQUOTABLE:
            return folder
        link = self._scratch / "run"
        if not link.is_symlink():
            link.symlink_to(folder.path)
        return RunFolder(link)

    def front_sees(self, folder: Path) -> Path:
        """Returns the path at which the fronts see a folder of this machine: the same, if it was not made another."""
        return self._moved.get(folder, folder)

    def describe(self) -> Mapping[str, Any]:
        """Returns an empty mapping: the places have only the kernel of this process, which env.json has already."""
        return {}

    def python_clock(self) -> Mapping[str, Any]:
        """Returns the quality of this process's clock. The client has the same interpreter and the same kernel."""
        return clock_quality.describe()

    def node_route(self, tools: Tools) -> ClockRoute:
        """Runs Node, and returns the way in which it reads the clock: through the vDSO, or by a system call."""
        return _node_route(tools.programs["node"])

    def _begin_portraits(self) -> None:
        """Begins the portraits with the references of this kernel, or with the places' own pictures."""
        known = _references if self.second is None else {}
        for place in self._network.hosts.values():
            place.portrait.begin(known.get(place.name) or place.picture())

    def references(self) -> Mapping[str, SettingsSnapshot]:
        """Returns the pictures of the places, by their names, for places of the same kernel that are made later."""
        return {name: place.picture() for name, place in self._network.hosts.items()}

    def portrayed(self) -> Sequence[Portrayed]:
        """Returns, for each place, the requested and the observed settings."""
        return [place.portrayed() for place in self._network.hosts.values()]

    def portrayed_beside_loads(self) -> Sequence[Portrayed]:
        """Returns the settings of the two ends of the client's connection."""
        return [self._client.portrayed(), self._front.portrayed()]

    def apply_settings(self, scenario: Scenario) -> None:
        """Sets sysctls, and GSO by ip(8). CC may not be settable by sysctl, and is then set once the front runs."""
        if scenario.client.is_browser:
            with contextlib.suppress(StepFailed):  # the guest's kernel has no IPv6
                self._client.write_sysctl(_NO_IPV6, "1")
        self._network.apply_settings()

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the front's namespace, and tcp_ecn in the client's namespace."""
        front = self._front
        return {
            "tcp_ecn": [int(place.read_sysctl(end_settings.ECN)) for place in (self._client, front)],
            "lowat": int(front.read_sysctl(end_settings.LOWAT)),
            "tcp_wmem": front.read_sysctl(end_settings.WMEM),
            "gso_segments": front.gso_segments(WIRE),
            "front_qdisc": front.qdisc(WIRE),
        }

    @contextmanager
    def start_origin(self, origin: OriginSettings) -> Iterator[RunningOrigin]:
        """Starts the origin, and waits until it answers a request from the place before it, that of a front."""
        address, port = self.addresses.origin, ORIGIN_PORT
        command = origin.command
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOST": address, "PORT": str(port)}
        log = origin.folder / "output.log"
        environment |= origin.environment
        with self._origin.start("the origin", command, log, ProcessSettings(environment=environment)) as process:
            with self._network.hosts[self._topology.wire(ORIGIN).router].entered():
                running = wait_for_origin(process, address, port)
            yield running

    @contextmanager
    def start_front(self, front: Front, scenario: Scenario, origin: Process) -> Iterator[Process]:
        """Starts the front, and waits until it answers a request.

        Then sets the congestion control of the front's sockets, if the sysctl could not be set.
        """
        name = f"the front ({front.settings.server.name})"
        self._front_log = front.settings.log
        with (
            nullcontext() if self._tuner is None else self._tuner.group() as cgroup,
            front_place.started(
                self._front,
                name,
                front,
                congestion_control=scenario.congestion_control,
                origin=origin,
                cgroup=cgroup,
                users_program=scenario.program is not None,
                service=scenario.service_time,
                back_s=self._back_s,
            ) as process,
        ):
            yield process

    def start_link(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Shapes the packets that pass the link's place. The parameters are those of Hosts.start_link."""
        return self._network.shaping(LINK, shaper, seed=seed, folder=folder, interval_ns=interval_ns)

    def calibrate(self, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Calibrates the link between two sockets of this process, in the client's place and in the front's place."""
        return front_place.calibrate(self._network, LINK, tolerance, pid)

    def exchange(self) -> None:
        """Makes a connection and sends a datagram from the client to the front, and from the front to the origin."""
        self._network.exchange(CLIENT, FRONT)
        self._network.exchange(FRONT, ORIGIN)

    def crossing(self, shaper: Shaper, folder: Path, interval_ns: int | None) -> AbstractContextManager[ActiveCross]:
        """Runs the cross traffic from a namespace of its own behind the link."""
        return self._network.crossing(shaper, folder=folder, interval_ns=interval_ns)

    @contextmanager
    def sampling(self, front: Process, folder: Path, interval_ns: int | None) -> Iterator[Sampling]:
        """Takes the samples in this process. Sampling raises StepFailed if a worker of the server has ended.

        interval_ns: the sampling interval; None for a single sample.
        """
        with self._front.entered():
            sampler = Sampler(front.pid, self.addresses.client, FRONT_PORT, folder, interval_ns)

        def look(now_ns: int) -> int:
            try:
                return sampler.look(now_ns)
            except FrontLost as error:
                # If the whole front has ended, this is the error to report. It may be noticed after its worker's end.
                front.wait(BLAME_S)
                front.check_alive()
                log = self._front_log.resolve()
                raise StepFailed(front.name, f"{error}: {tail(log)}", log) from error

        with sampler:
            yield Sampling(look=look, in_batches=sampler)

    @contextmanager
    def counting(self, front: Process, *, over_tcp: bool) -> Iterator[FrontCounters]:
        """Counts by this kernel. over_tcp: True if the front speaks to the client over TCP."""
        with self._front.entered():
            diag = SocketDiag(self.addresses.client, FRONT_PORT) if over_tcp else None
        with counting(front.pid, diag) as counters:
            yield counters

    def tuning(self, front: Process, scenario: Scenario, folder: Path) -> AbstractContextManager[ActiveTuner]:
        """Runs the tuner in the kernel, as a program attached to the front's cgroup."""
        del front  # its cgroup is known
        assert self._tuner is not None, "LOWAT=auto has a tuner"
        return self._tuner.running(scenario, folder)

    def capturing(self, program: str, folder: Path) -> AbstractContextManager[Sequence[Process]]:
        """Captures packets on the client's wire to the link, and on the front's wire to the link."""
        return self._network.capturing(LINK, program, folder)

    def start_client(self, command: Sequence[str], log: Path, stdout: int) -> Process:
        """Starts the client in its namespace."""
        if self._forks_client and tuple(command[1:4]) == _FORKED:
            with self._client.entered():
                return CopiedProcess("the client", partial(_become_client, command), log, stdout)
        return self._client.start("the client", command, log, ProcessSettings(stdout=stdout))

    def live_sockets(self, client: Process | None) -> EndSockets:
        """Returns what looks at the connections of the places. client: the lab's own client; None for a browser."""
        second = [] if self.second is None else [self.second.place]
        return EndSockets([self._front, *second, self._origin], None if client is None else (self._client, client.pid))


def _made(stack: ExitStack, prefix: str) -> Path:
    """Makes a folder outside the run folder, which ends with the stack.

    A server started as root gives its files to its worker's user, who must be able to reach them.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
    folder.chmod(0o711)
    return folder


def _become_client(command: Sequence[str]) -> int:
    """Runs the client in this process, with the arguments of `python -m priolab.client ...`; returns the exit code."""
    sys.argv = ["client", *command[4:]]
    return client.main()


@cache
def _node_route(node: str) -> ClockRoute:
    """Returns the way in which Node reads the clock. The answer is cached; a guest asks for it before its first run."""
    return route_of([node, *CLOCK_READER], program_environment())


def known_beforehand(node: str) -> None:
    """Caches facts about the clocks of Python and Node. They hold for all places of this process and its forks.

    node: the path of Node.
    """
    clock_quality.describe()
    _node_route(node)


_references: Mapping[str, SettingsSnapshot] = {}


def refer_to(references: Mapping[str, SettingsSnapshot]) -> None:
    """Sets the references of all places that this process and its forks make; see Namespaces.references."""
    global _references
    _references = references
