"""The topology of a sandbox, and what is counted on it.

    client ==== link ---- server

With further hosts, or a link of the server's, each host is behind a link of its own, or without knobs on a wire:

    client ==== link ---- router ---- server
                             |
     phone ==== link --------+

A link is the same in both pictures: its host routes, and shapes packets toward its end and from it.
"""

import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from socket import AF_INET, AF_INET6

from priolab.netem.link import Qdisc
from priolab.netem.link_ranges import LEAST_MTU, MOST_MTU
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.guest.guest_start import set_seed
from priolab.testbed.sandbox.packet_recorder import PacketRecorder
from priolab.testbed.sandbox.spec import CLIENT, SERVER, Files, SandboxSpec
from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.active import ActiveLink
from priolab.testbed.topology.coalescing import MAC_BYTES
from priolab.testbed.topology.end_settings import CongestionControl, EndSettings
from priolab.testbed.topology.network import Network, build
from priolab.testbed.topology.topology import LINK, WARM_UP, WIRE, Capture, Shaping, Topology, Wire, ipv6_of, pair

ALL = "all"
"""The name of the captures at all hosts."""

_ROUTER = "router"
_TO_HOST, _TO_ROUTER = "to-host", "to-router"
"""The devices of a link before the router."""

_WARM_UP = replace(WARM_UP, mtu_bytes=LEAST_MTU, qdisc=Qdisc.FQ_CODEL)
_MOST_NEIGHBOURS, _SOME_MAC = 250, "02:00:00:00:00:01"
_DISCARD, _HEADERS_BYTES, _ERROR_S = 9, 48, 0.05

_QUIET_S = 0.25
"""The time in which devices of IPv6 have reported their multicast groups: some ticks of the kernel."""


def topology_of(spec: SandboxSpec) -> Topology:
    """Returns the topology."""
    asked: dict[str, dict[str, str]] = {}
    for name, sysctl, value in spec.sysctls:
        asked.setdefault(name, {})[sysctl] = value
    shapings = {
        name: Shaping(link=link, near=_TO_HOST, far=_TO_ROUTER, changes=spec.changes(name))
        for name, link in spec.first_links.items()
    }
    ends = replace(
        pair(CLIENT, SERVER, shapings[CLIENT].link, spec.way.cross, ipv6=spec.ipv6),
        settings={
            name: replace(
                spec.way.server if name == SERVER else EndSettings(congestion_control=CongestionControl.CUBIC),
                coalesce_ns=spec.ways[name].link.coalesce_ns if name in spec.ways else 0,
                ecn=any(spec.ways[link].link.ecn for link in {name, CLIENT if name == SERVER else name} & {*spec.ways}),
                sysctls=asked.get(name, {}),
            )
            for name in spec.numbers
        },
        captures={ALL: [Capture(host=name, file=name, port=None) for name in spec.numbers]},
    )
    if spec.is_pair:
        own = ends.links[LINK]
        return replace(ends, links={LINK: replace(own, changes=shapings[CLIENT].changes)})
    links = {name: _link_of(name) for name in spec.ways}
    return replace(
        ends,
        hosts={name: {} for name in (*ends.hosts, *spec.hosts, *list(links.values())[1:], _ROUTER)},
        routers=(*links.values(), _ROUTER),
        wires=[wire for name in spec.numbers for wire in _wires(name, spec.numbers[name], links.get(name))],
        links={link: shapings[name] for name, link in links.items()},
    )


def _link_of(name: str) -> str:
    return LINK if name == CLIENT else f"link of {name}"


def _wires(name: str, number: int, link: str | None) -> Iterator[Wire]:
    """Yields the wires of a host to the router, or to its link and of this to the router."""
    network, mac, device = f"198.18.{number}", number << 8, _toward(number)
    if link is None:
        yield Wire(router=_ROUTER, device=device, host=name, network=network, mac=mac)
        return
    yield Wire(router=link, device=_TO_HOST, host=name, network=network, mac=mac)
    middle = f"198.19.{number}"
    yield Wire(router=_ROUTER, device=device, host=link, network=middle, mac=mac + 2, own=_TO_ROUTER, behind=network)


def _toward(number: int) -> str:
    return f"to-{number}"


@contextmanager
def shaping(spec: SandboxSpec, network: Network, folder: Path) -> Iterator[Mapping[str, ActiveLink]]:
    """Shapes the links; yields them by the names of their hosts. Raises StepFailed and Unavailable."""
    with ExitStack() as stack:
        active = {}
        for name in spec.ways:
            own = folder_of(name, folder)
            own.mkdir(parents=True, exist_ok=True)
            seed = spec.seed + spec.numbers[name]
            shaped = network.shaping(_link_of(name), seed=seed, folder=own, interval_ns=spec.interval_ns)
            active[name] = stack.enter_context(shaped)
        yield active


@contextmanager
def recording(spec: SandboxSpec, network: Network, files: Files) -> Iterator[Sequence[PacketRecorder]]:
    """Records the packets of all hosts, and between the router and the links, if the spec asks for it.

    The context must be open until LAST_BLOCK_S after the last packet. Raises OSError and InvalidRun.
    """
    routed = () if spec.is_pair else spec.ways
    places = [(network.hosts[name], WIRE, files.trace(name)) for name in spec.numbers]
    places += [(network.hosts[_ROUTER], _toward(spec.numbers[name]), files.router_trace(name)) for name in routed]
    with ExitStack() as stack:
        yield [stack.enter_context(PacketRecorder(*place)) for place in places if spec.traced]


def folder_of(name: str, folder: Path) -> Path:
    """Returns the folder for files of a host's link. folder: for those of all links."""
    return folder if name == CLIENT else folder / "links" / name


class Traffic:
    """Counts the bytes of packets at the hosts since nothing has used the links."""

    def __init__(self, spec: SandboxSpec, network: Network) -> None:
        self._spec = spec
        self._network = network
        self._before: dict[str, tuple[int, int]] = {}
        if spec.ipv6:
            time.sleep(_QUIET_S)
            self._before = {name: (self.arrived_bytes(name), self.sent_bytes(name)) for name in spec.numbers}

    def shaping(self, name: str) -> Shaping:
        """Returns what a host's link does to packets."""
        return self._network.topology.links[_link_of(name)]

    def arrived_bytes(self, name: str) -> int:
        """Returns the bytes of packets that arrived at a host."""
        counted = self._network.hosts[name].received(WIRE)
        coalesces = self._network.topology.settings[name].coalesce_ns > 0
        return counted.bytes + coalesces * MAC_BYTES * counted.packets - self._before.get(name, (0, 0))[0]

    def sent_bytes(self, name: str) -> int:
        """Returns the bytes of packets that came from a host, at the other end of its link: the other host, or the
        router.
        """
        if self._spec.is_pair:
            return self.arrived_bytes(SERVER if name == CLIENT else CLIENT)
        before = self._before.get(name, (0, 0))[1]
        return self._network.hosts[_ROUTER].received(_toward(self._spec.numbers[name])).bytes - before


def exercise() -> None:
    """Makes two hosts with a link, and uses it in all ways in which the kernel makes a secret. Raises StepFailed and
    OSError.

    The secrets do not follow from the programs that the guest has seen before.
    """
    set_seed(0)
    ipv6 = Path("/proc/net/if_inet6").exists()
    with (
        tempfile.TemporaryDirectory() as folder,
        build(pair(CLIENT, SERVER, _WARM_UP, ipv6=ipv6), Shaper.NETEM, Path(folder)) as network,
        network.shaping(LINK, seed=0, folder=Path(folder), interval_ns=None),
    ):
        network.exchange(CLIENT, SERVER)
        _provoke_errors(network)
        _grow_tables(network)


def _provoke_errors(network: Network) -> None:
    """Sends datagrams that are too big for the link, and to a port where nobody is."""
    for address in _of_families(network, [network.topology.wire(SERVER).address]):
        with network.hosts[CLIENT].entered():
            here = socket.socket(AF_INET6 if ":" in address else AF_INET, socket.SOCK_DGRAM)
        with here:
            here.connect((address, _DISCARD))
            for size_bytes in (MOST_MTU - _HEADERS_BYTES, 1):
                with suppress(OSError):
                    here.send(bytes(size_bytes))
                time.sleep(_ERROR_S)


def _grow_tables(network: Network) -> None:
    """Gives a host more neighbours than the largest sandbox has in all, and so the kernel's tables of them their size.

    A table that grows draws random numbers, and does not shrink.
    """
    host = network.hosts[CLIENT]
    device, numbers = host.device(WIRE), range(1, _MOST_NEIGHBOURS)
    addresses = _of_families(network, [f"198.19.0.{number}" for number in numbers])
    host.tell(*(rtnetlink.neighbour(device, address, _SOME_MAC) for address in addresses))


def _of_families(network: Network, addresses: Sequence[str]) -> Sequence[str]:
    return [*addresses, *(map(ipv6_of, addresses) if network.topology.ipv6 else ())]
