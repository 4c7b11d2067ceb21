"""Builds a topology, as namespaces of the kernel that runs this code, the host's or a guest's."""

import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from socket import AF_INET, AF_INET6

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process.processes import Process
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology import cross_traffic
from priolab.testbed.topology.active import ActiveCross, ActiveLink
from priolab.testbed.topology.coalescing import coalesce
from priolab.testbed.topology.end_settings import CC, ECN, ECN_ON, LOWAT, WMEM, EndSettings
from priolab.testbed.topology.link_namespace import LinkNamespace
from priolab.testbed.topology.namespace import Host, Namespace
from priolab.testbed.topology.topology import WIRE, Topology, ipv6_of
from priolab.testbed.topology.wiring import connect

_SILENT = {
    "accept_dad": "0",
    "accept_ra": "0",
    "router_solicitations": "0",
    "mldv2_unsolicited_report_interval": "1",
}
"""Settings with which a device of IPv6 sends nothing but reports of its multicast groups, all of them within ticks."""


@dataclass(frozen=True)
class Network:
    """A topology that is there, with its hosts by their names. Every method may raise StepFailed."""

    topology: Topology
    hosts: Mapping[str, Namespace]
    _usual: Shaper | None
    _scratch: Path

    def apply_settings(self) -> None:
        """Sets sysctls, and by ip(8) and tc(8) what devices have. CC may not be settable by sysctl."""
        for name, settings in self.topology.settings.items():
            _apply(self.hosts[name], settings)
            if settings.coalesce_ns:
                wire = self.topology.wire(name)
                coalesce(self.hosts[name], self.hosts[wire.router], wire.device, settings.coalesce_ns)

    def shaping(
        self, name: str, shaper: Shaper | None = None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> AbstractContextManager[ActiveLink]:
        """Shapes the packets that pass a link; see LinkNamespace.shaping. name: that of its host."""
        ask = self._scratch / f"ferry-{[*self.topology.links].index(name)}"
        link = LinkNamespace(self.hosts[name], self.topology.links[name], self._usual, ask, self.topology.ipv6)
        return link.shaping(shaper, seed=seed, folder=folder, interval_ns=interval_ns)

    def crossing(
        self, shaper: Shaper, *, folder: Path, interval_ns: int | None = None
    ) -> AbstractContextManager[ActiveCross]:
        """Runs the cross traffic, which the topology must have; see cross_traffic.crossing."""
        return cross_traffic.crossing(self.topology, self.hosts, shaper, folder=folder, interval_ns=interval_ns)

    @contextmanager
    def capturing(self, captures: str, program: str, folder: Path) -> Iterator[Sequence[Process]]:
        """Captures packets while the context is open. captures: their name. program: tcpdump. Raises InvalidRun."""
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    self.hosts[each.host].capturing(
                        program, each.device, folder / f"{each.file}.pcap", each.port, ipv6=self.topology.ipv6
                    )
                )
                for each in self.topology.captures[captures]
            ]

    def exchange(self, near: str, far: str) -> None:
        """Makes a connection and sends a datagram from one host to another, in each family. Raises OSError."""
        address = self.topology.wire(far).address
        families = {AF_INET: address, **({AF_INET6: ipv6_of(address)} if self.topology.ipv6 else {})}
        for (family, known), kind in product(families.items(), (socket.SOCK_STREAM, socket.SOCK_DGRAM)):
            with self.hosts[far].entered():
                there = socket.socket(family, kind)
            with self.hosts[near].entered():
                here = socket.socket(family, kind)
            with there, here:
                there.bind((known, 0))
                if kind is socket.SOCK_STREAM:
                    there.listen()
                here.connect(there.getsockname())
                here.send(b"once")


@contextmanager
def build(topology: Topology, usual: Shaper | None, scratch: Path) -> Iterator[Network]:
    """Makes the hosts and wires of a topology, which vanish with the context.

    usual: the shaper of links for SHAPER=auto; None for netem if the kernel has it, otherwise the ferry. scratch: a
    folder for sockets of ferries. Raises StepFailed, and Unavailable without IPv6 in the kernel.
    """
    with ExitStack() as stack:
        hosts = {
            name: stack.enter_context(
                Host() if name == topology.here else Namespace(name, forwards=name in topology.routers)
            )
            for name in topology.hosts
        }
        for name, sysctls in topology.hosts.items():
            _prepare(hosts[name], sysctls, forwards=name in topology.routers, ipv6=topology.ipv6)
        for wire in topology.wires:
            connect(wire, hosts[wire.router], hosts[wire.host], ipv6=topology.ipv6)
        yield Network(topology, hosts, usual, scratch)


def _prepare(host: Namespace, sysctls: Mapping[str, str], *, forwards: bool, ipv6: bool) -> None:
    """Prepares a host before it is wired. With IPv6 it makes the devices to come silent.

    Those of a host that forwards join no group of routers.
    """
    for name, value in {**sysctls, **({"net.ipv4.ip_forward": "1"} if forwards else {})}.items():
        host.write_sysctl(name, value)
    if not ipv6:
        return
    try:
        for which, forwarding in {"all": "1", "default": "0"}.items() if forwards else ():
            host.write_sysctl(f"net.ipv6.conf.{which}.forwarding", forwarding)
        for name, value in _SILENT.items():
            host.write_sysctl(f"net.ipv6.conf.default.{name}", value)
    except StepFailed as error:
        raise Unavailable("IPv6", f"this kernel has none ({error.reason})", "use FABRIC=virtual") from error


def _apply(host: Namespace, settings: EndSettings) -> None:
    if settings.ecn:
        host.write_sysctl(ECN, ECN_ON)
    if settings.sndbuf_bytes is not None:
        least, _, most = host.read_sysctl(WMEM).split()
        host.write_sysctl(WMEM, f"{least} {settings.sndbuf_bytes} {max(int(most), settings.sndbuf_bytes)}")
    if settings.congestion_control is not None:
        with contextlib.suppress(StepFailed):
            host.write_sysctl(CC, settings.congestion_control)
    if settings.lowat_bytes is not None:
        host.write_sysctl(LOWAT, str(settings.lowat_bytes))
    if settings.gso_segments is not None:
        host.run_all([("ip", "link", "set", "dev", WIRE, "gso_max_segs", str(settings.gso_segments))])
    if settings.qdisc is not None:
        host.run_all([("tc", "qdisc", "add", "dev", WIRE, "root", "handle", "1:", settings.qdisc)])
    for name, value in settings.sysctls.items():
        host.write_sysctl(name, value)
