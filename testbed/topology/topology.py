"""A topology: hosts, the wires between them, and what the hosts on the way do to packets. network.py builds it.

    client ==== link ==== server ---- another host

A link is a host that forwards between two wires, and shapes what passes. Nothing can bypass the link: it is a router
between two networks, and the hosts at its ends have no other route to each other.

A wire is a network of its own. Addresses come from 198.18.0.0/15, the block reserved for benchmarking (RFC 2544,
RFC 6890). Hosts that have IPv6, too, have an address of 2001:db8::/32 with the same numbers, the block for
documentation (RFC 3849): IPv6 is preferred to IPv4 there, unlike in a block for private use (RFC 6724).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from priolab.netem.link import Link
from priolab.testbed.topology.end_settings import CrossTraffic, EndSettings

WIRE = "wire"
"""The name of a host's device toward its first router."""

LINK = "link"
"""The name of the host that is the link of a pair."""

NO_LINK = Link(rate_bit_s=None, delay_ns=0)
WARM_UP = Link(rate_bit_s=10**9, delay_ns=10**6, jitter_ns=10**5, delay_up_ns=10**6, loss=1e-4)
"""A link that uses all that links can have, for the first exchange of a guest."""


def ipv6_of(address: str) -> str:
    """Returns the address of IPv6 that a host has beside one of IPv4: 2001:db8:18:1::2 beside 198.18.1.2."""
    _, block, network, host = address.split(".")
    return f"2001:db8:{block}:{network}::{host}"


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A pair of devices that joins a host to another one, its router, on a network of their own.

    device: the router's device. own: the host's. network: the first three numbers of the two addresses. mac: the number
    of the host's MAC address; the router's has the next number. None for addresses that the kernel chooses. beyond: the
    only other network that the host reaches over this wire; None for the default route. behind: a network that the
    router reaches over it; None for none.
    """

    router: str
    device: str
    host: str
    network: str
    mac: int | None
    own: str = WIRE
    beyond: str | None = None
    behind: str | None = None

    @property
    def router_address(self) -> str:
        """The router's address."""
        return f"{self.network}.1"

    @property
    def address(self) -> str:
        """The host's address."""
        return f"{self.network}.2"


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """The work of a link's host on packets. near: its device toward which the link has its rate. far: the other.

    changes: True if the link will get other values (netem/later_links.py).
    """

    link: Link
    near: str
    far: str
    changes: bool = False


@dataclass(frozen=True, kw_only=True)
class Cross:
    """Cross traffic. wire: that of its host, which is made when the flows begin, to a link. receiver: another host."""

    traffic: CrossTraffic
    wire: Wire
    receiver: str


@dataclass(frozen=True, kw_only=True)
class Capture:
    """A capture at a device of a host, into FILE.pcap. port: a port of TCP; None for all packets."""

    host: str
    file: str
    port: int | None
    device: str = WIRE


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Hosts and what joins them; all are made in the order given here.

    hosts: the sysctls with which each begins, by their names. routers: those that forward. links: what routers do to
    packets. settings: those of hosts for their connections. cross: None without cross traffic. captures: those that
    begin and end together, by names of their own. here: the host that is this machine itself; None for none.
    """

    hosts: Mapping[str, Mapping[str, str]]
    routers: Sequence[str]
    wires: Sequence[Wire]
    links: Mapping[str, Shaping]
    settings: Mapping[str, EndSettings] = field(default_factory=dict)
    cross: Cross | None = None
    captures: Mapping[str, Sequence[Capture]] = field(default_factory=dict)
    ipv6: bool = False
    here: str | None = None

    def wire(self, host: str, own: str = WIRE) -> Wire:
        """Returns the wire at a host's device."""
        return next(each for each in self.wires if (each.host, each.own) == (host, own))

    def ends(self, link: str) -> tuple[Wire, Wire]:
        """Returns the wires from a link to the hosts at its ends, the near one first."""
        by_device = {each.device: each for each in self.wires if each.router == link}
        return by_device[self.links[link].near], by_device[self.links[link].far]


def pair(
    near: str, far: str, link: Link = NO_LINK, cross: CrossTraffic | None = None, *, ipv6: bool = False
) -> Topology:
    """Returns two hosts with a link between them. near: the host toward which the link has its rate."""
    wires = (
        Wire(router=LINK, device=f"to-{near}", host=near, network="198.18.0", mac=0),
        Wire(router=LINK, device=f"to-{far}", host=far, network="198.18.1", mac=2),
    )
    of_cross = Wire(router=LINK, device="to-cross", host="cross", network="198.18.3", mac=4)
    return Topology(
        hosts={near: {}, LINK: {}, far: {}},
        routers=(LINK,),
        wires=wires,
        links={LINK: Shaping(link=link, near=wires[0].device, far=wires[1].device)},
        cross=None if cross is None else Cross(traffic=cross, wire=of_cross, receiver=near),
        ipv6=ipv6,
    )
