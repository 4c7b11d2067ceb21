"""The interface of a run's places, which every fabric implements."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from priolab.common.clock_route import ClockRoute
from priolab.common.formats.samples import OptionsSample
from priolab.common.kernel_sampling import BatchSampler
from priolab.common.process.processes import Process
from priolab.common.tuning import TunerKind
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.tools import Tools
from priolab.netem.calibration import Calibration, Tolerance
from priolab.netem.shaper_kind import Shaper
from priolab.testbed import ActiveCross, ActiveLink, Look, Portrayed, work_folder

if TYPE_CHECKING:  # `priolab run` imports this module; only the process of a run needs these modules
    from priolab.experiments.setup.origin_process import OriginSettings, RunningOrigin
    from priolab.proxy.counters import FrontCounters
    from priolab.proxy.front import Front

SERVER_NAME = "maps.test"
FRONT_PORT = 443
CLIENT_PORT = 40_000
"""The client's fixed port. A port that the kernel chose would depend on earlier connections, also of earlier runs."""
ORIGIN_PORT = 8080
SECOND_PORT = 80

CAPTURES: Mapping[str, str] = {"client": "client", "front": "server"}
"""The hosts at which packets are captured, and the name of the files of each."""
HOP_CAPTURES = ("front", "second")
"""The names of the files of the captures at the two ends of the link between the fronts (VIA)."""


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """The IPv4 addresses of client, front and origin. Client and front reach each other only through the link."""

    client: str
    front: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The running sampling of the front's socket.

    look: takes a sample, if one is due. in_batches: the sampler, if the kernel can take its samples.
    """

    look: Look
    in_batches: BatchSampler | None = None


class LiveSockets(Protocol):
    """Looks at the options of the connections of the places' programs."""

    def look(self, now_ns: int) -> None:
        """Looks at all connections."""

    @property
    def samples(self) -> Mapping[str, Sequence[OptionsSample]]:
        """The samples, by the name of the place. The first sample of a place is that of a new socket."""


@dataclass(frozen=True, kw_only=True)
class ActiveTuner:
    """The running tuner.

    kind: the kind of tuner. look: the function to call when its decisions are due to be written.
    """

    kind: TunerKind
    look: Look


def gso_segments_in(details: str) -> int:
    """Returns gso_max_segs from the output of `ip -details link show` for one device."""
    words = details.split()
    return int(words[words.index("gso_max_segs") + 1])


def run_label(folder: RunFolder) -> str:
    """Returns the run's name for a cgroup or a compose project, which may outlive the process that makes it."""
    return f"priolab-{folder.path.parent.name.removesuffix(work_folder.PARTIAL)}-{folder.path.name}"


class SecondHosts(Protocol):
    """The places of the second hop (VIA). Every method may raise StepFailed or Unavailable.

    address: the second front's address, as the front sees it. state: a folder for the second server's own files.
    """

    address: str
    state: Path

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the second front's place: lowat and tcp_wmem."""

    def start_front(self, front: "Front", scenario: Scenario, origin: Process) -> AbstractContextManager[Process]:
        """Starts the second front, and waits until it answers a request."""

    def start_link(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Starts the link between the fronts. The parameters are those of Hosts.start_link."""

    def calibrate(self, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Measures the link between the fronts, as Hosts.calibrate does for the client's link."""

    def sampling(self, folder: Path, interval_ns: int | None) -> AbstractContextManager[Sampling]:
        """Samples the second front's sockets of all connections from the front, into connections.jsonl."""

    def counting(self, server: Process) -> AbstractContextManager["FrontCounters"]:
        """Returns the second front's counters. server: its running server."""

    def capturing(self, program: str, folder: Path) -> AbstractContextManager[Sequence[Process]]:
        """Captures the packets between the fronts at both ends, into front.pcap and second.pcap."""


class Hosts(Protocol):
    """The places of one run, with the wires between them. Every method may raise StepFailed or Unavailable.

    python: the Python interpreter in the client's place. front_state: a folder in the front's place for the server's
    own files. server_folder: a user's server folder as the front sees it; None for its path on this machine.
    as_root: True if the front runs as root of its place.
    """

    addresses: Addresses
    python: str
    front_state: Path
    server_folder: Path | None
    as_root: bool

    @property
    def second(self) -> SecondHosts | None:
        """The places of the second hop; None without VIA."""

    def seen(self, folder: RunFolder) -> RunFolder:
        """Returns the run folder at the path at which programs in the places see it; in containers, a mount point."""

    def front_sees(self, folder: Path) -> Path:
        """Returns the path at which the fronts see a folder of this machine with programs of theirs."""

    def describe(self) -> Mapping[str, Any]:
        """Returns the entries about these places for env.json."""

    def python_clock(self) -> Mapping[str, Any]:
        """Returns the quality of the client's clock, for env.json (common/clock_quality.py)."""

    def node_route(self, tools: Tools) -> ClockRoute:
        """Returns the way in which the origin's Node reads the clock: through the vDSO, or by a system call."""

    def apply_settings(self, scenario: Scenario) -> None:
        """Sets send buffer, congestion control, LOWAT and GSO, as far as is possible before the front runs."""

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the place of a running front: lowat, tcp_wmem, gso_segments, front_qdisc.

        In namespaces also tcp_ecn, the sysctl in the places of client and front.
        """

    def portrayed(self) -> Sequence[Portrayed]:
        """Returns, for each place, the requested and the observed settings."""

    def portrayed_beside_loads(self) -> Sequence[Portrayed]:
        """Returns the same of client and front while a page loads; nothing where this takes long."""

    def start_origin(self, origin: "OriginSettings") -> AbstractContextManager["RunningOrigin"]:
        """Starts the origin and waits until it answers."""

    def start_front(self, front: "Front", scenario: Scenario, origin: Process) -> AbstractContextManager[Process]:
        """Starts the front, waits until it answers, and makes the settings that need a running front.

        Stops waiting if the origin has ended.
        """

    def start_link(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Starts the link.

        shaper: the shaper; None for netem if the kernel has it, otherwise the ferry. folder: for the journal of the
        queue. interval_ns: the interval of the queue's samples; None for no samples.
        """

    def calibrate(self, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Measures the link until the result is within tolerance, a few times at most.

        Returns the result and the number of attempts. pid: the process id of the ferry, if any. Stops waiting if the
        ferry has ended.
        """

    def crossing(self, shaper: Shaper, folder: Path, interval_ns: int | None) -> AbstractContextManager[ActiveCross]:
        """Runs the cross traffic of the scenario through the running link.

        shaper: the link's shaper. folder: for the journal of the traffic. interval_ns: the interval of the journal's
        samples; None for a long one.
        """

    def sampling(self, front: Process, folder: Path, interval_ns: int | None) -> AbstractContextManager[Sampling]:
        """Samples the front's socket of the client's connection while the context is open.

        Yields the Sampling, whose function `look` takes the samples. The samples are in the folder at the end.
        interval_ns: the sampling interval; None for a single sample.
        """

    def counting(self, front: Process, *, over_tcp: bool) -> AbstractContextManager["FrontCounters"]:
        """Returns the front's counters. over_tcp: True if the front speaks to the client over TCP."""

    def tuning(self, front: Process, scenario: Scenario, folder: Path) -> AbstractContextManager[ActiveTuner]:
        """Runs the tuner of LOWAT=auto on the front's connections, with its journal in the folder."""

    def capturing(self, program: str, folder: Path) -> AbstractContextManager[Sequence[Process]]:
        """Captures packets at the client, and at the front toward the link. The files are in the folder at the end.

        program: this machine's tcpdump, for places that use this machine's programs. Also raises InvalidRun if a packet
        was missed.
        """

    def start_client(self, command: Sequence[str], log: Path, stdout: int) -> AbstractContextManager[Process]:
        """Starts a program in the client's place. stdout: the descriptor for its standard output."""

    def live_sockets(self, client: Process | None) -> AbstractContextManager[LiveSockets]:
        """Returns what looks at the connections of the places. client: the lab's own client; None for a browser."""
