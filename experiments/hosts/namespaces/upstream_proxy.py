"""The places of the second hop (VIA) as network namespaces: the second front, and the link between the two fronts."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from priolab.common.process.processes import Process
from priolab.experiments.hosts.experiment_hosts import SECOND_PORT, Sampling
from priolab.experiments.hosts.namespaces import front_place
from priolab.experiments.hosts.namespaces.front_place import End
from priolab.experiments.scenario.scenario import Scenario, Via
from priolab.netem.calibration import Calibration, Tolerance
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.connections import ConnectionSampler
from priolab.proxy.front import Front
from priolab.testbed import ActiveLink, LinkNamespace, Namespace, packet_capture, pair, wiring


class SecondHop:
    """The places of the second hop. A context manager, whose exit removes them."""

    address = wiring.SECOND

    def __init__(self, front: Namespace, usual: Shaper | None, via: Via, back_s: int | None = None) -> None:
        """front: the place of the front. usual: the shaper for SHAPER=auto, as for LinkNamespace.

        back_s: as for Namespaces.
        """
        self._front = front
        self._usual = usual
        self._via = via
        self._back_s = back_s

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._link, self.place = (
                stack.enter_context(Namespace(name, forwards=name.startswith("link")))
                for name in ("link between the fronts", "second front")
            )
            self.state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="second-")))
            self.state.chmod(0o711)  # as for the front's own
            self._scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hop-")))
            self.place.write_sysctl("net.ipv4.tcp_no_metrics_save", "1")
            self._link.write_sysctl("net.ipv4.ip_forward", "1")
            wiring.wire_hop(self._front, self._link, self.place)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def places(self) -> Sequence[Namespace]:
        """The places: the link between the fronts, and that of the second front."""
        return self._link, self.place

    def apply_settings(self, scenario: Scenario) -> None:
        """Sets the sysctls of the second front's place: SNDBUF and CC of the scenario, and VIA_LOWAT."""
        pair.set_tcp(self.place, replace(scenario.front_settings, lowat_bytes=self._via.lowat))

    def settings(self) -> dict[str, Any]:
        """Reads the settings in the second front's place: lowat and tcp_wmem."""
        return {"lowat": int(self.place.read_sysctl(pair.LOWAT)), "tcp_wmem": self.place.read_sysctl(pair.WMEM)}

    def start_front(self, front: Front, scenario: Scenario, origin: Process) -> AbstractContextManager[Process]:
        """Starts the second front, and waits until it answers a request."""
        name = f"the second front ({front.settings.server.name})"
        cc = scenario.congestion_control
        return front_place.started(self.place, name, front, congestion_control=cc, origin=origin, back_s=self._back_s)

    def start_link(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Starts the link between the fronts. The parameters are those of Hosts.start_link."""
        shaped = LinkNamespace(self._link, self._usual, self._scratch / "ferry")
        return shaped.shaping(self._via.link, shaper, seed=seed, folder=folder, interval_ns=interval_ns)

    def calibrate(self, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
        """Measures the link between the fronts, as Hosts.calibrate does for the client's link."""
        near, far = End(place=self._front, address=wiring.BEFORE_SECOND), End(place=self.place, address=wiring.SECOND)
        return front_place.calibrate(near, far, self._via.link, tolerance, pid)

    @contextmanager
    def sampling(self, folder: Path, interval_ns: int | None) -> Iterator[Sampling]:
        """Samples the second front's sockets of all connections from the front, into connections.jsonl."""
        with self.place.entered():
            sampler = ConnectionSampler(wiring.BEFORE_SECOND, SECOND_PORT, folder, interval_ns)
        with sampler:
            yield Sampling(look=sampler.look)

    @contextmanager
    def capturing(self, program: str, folder: Path) -> Iterator[Sequence[Process]]:
        """Captures the packets between the fronts at both ends, into front.pcap and second.pcap."""
        with ExitStack() as stack:
            taps = []
            wires = ((self._front, wiring.TO_SECOND), (self.place, wiring.WIRE))
            for (place, device), end in zip(wires, packet_capture.HOP_ENDS, strict=True):
                taps.append(stack.enter_context(place.capturing(program, device, folder / f"{end}.pcap", SECOND_PORT)))
            yield taps
