"""The places of the second hop (VIA) as network namespaces: the second front, and the link between the two fronts."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from priolab.common.process.processes import Process
from priolab.experiments.hosts.counting import counting
from priolab.experiments.hosts.experiment_hosts import SECOND_PORT, Sampling
from priolab.experiments.hosts.namespaces import front_place
from priolab.experiments.hosts.namespaces.experiment_topology import FRONT, HOP, SECOND, TO_SECOND
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.calibration import Calibration, Tolerance
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.connections import ConnectionSampler
from priolab.proxy.counters import FrontCounters
from priolab.proxy.front import Front
from priolab.testbed import ActiveLink, Network, end_settings


class SecondHop:
    """The places of the second hop."""

    def __init__(self, network: Network, state: Path, back_s: int | None) -> None:
        """state: a folder for the second server's own files. back_s: as for Namespaces."""
        self._network = network
        self.state = state
        self.place = network.hosts[SECOND]
        self.address = network.topology.wire(SECOND).address
        self._back_s = back_s

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the second front's place: lowat and tcp_wmem."""
        lowat, wmem = (self.place.read_sysctl(name) for name in (end_settings.LOWAT, end_settings.WMEM))
        return {"lowat": int(lowat), "tcp_wmem": wmem}

    def start_front(self, front: Front, scenario: Scenario, origin: Process) -> AbstractContextManager[Process]:
        """Starts the second front, and waits until it answers a request."""
        name = f"the second front ({front.settings.server.name})"
        cc = scenario.congestion_control
        return front_place.started(self.place, name, front, congestion_control=cc, origin=origin, back_s=self._back_s)

    def start_link(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Starts the link between the fronts. The parameters are those of Hosts.start_link."""
        return self._network.shaping(HOP, shaper, seed=seed, folder=folder, interval_ns=interval_ns)

    def calibrate(self, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Measures the link between the fronts, as Hosts.calibrate does for the client's link."""
        return front_place.calibrate(self._network, HOP, tolerance, pid)

    @contextmanager
    def sampling(self, folder: Path, interval_ns: int | None) -> Iterator[Sampling]:
        """Samples the second front's sockets of all connections from the front, into connections.jsonl."""
        with self.place.entered():
            before = self._network.topology.wire(FRONT, TO_SECOND).address
            sampler = ConnectionSampler(before, SECOND_PORT, folder, interval_ns)
        with sampler:
            yield Sampling(look=sampler.look)

    def counting(self, server: Process) -> AbstractContextManager[FrontCounters]:
        """Counts by this kernel what the second server does."""
        return counting(server.pid)

    def capturing(self, program: str, folder: Path) -> AbstractContextManager[Sequence[Process]]:
        """Captures the packets between the fronts at both ends, into front.pcap and second.pcap."""
        return self._network.capturing(HOP, program, folder)
