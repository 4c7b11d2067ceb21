"""The wires between places that are namespaces, as veth pairs, and their addresses and routes.

    client ==== link ==== front ---- origin

or, with a second front (VIA):

    client ==== link ==== front ==== link between the fronts ==== second front ---- origin

Nothing can bypass the link: it is a router between two networks, and the client has no other route.
Addresses come from 198.18.0.0/15, the block reserved for benchmarking (RFC 2544, RFC 6890). Places that have IPv6, too,
have an address of 2001:db8::/32 with the same numbers, the block for documentation (RFC 3849): IPv6 is preferred to
IPv4 there, unlike in a block for private use (RFC 6724).
"""

from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.active import Addresses
from priolab.testbed.topology.namespace import Namespace

ADDRESSES = Addresses(client="198.18.0.2", front="198.18.1.2", origin="198.18.2.2")

TO_CLIENT, TO_FRONT = "to-client", "to-front"
"""The devices of the link's place."""

TO_CROSS = "to-cross"
"""The link's device toward the cross traffic, if there is any."""

WIRE = "wire"
"""The name of four devices: those of client and front toward the link, that of the second front toward the link between
the fronts, and that of the origin toward the front before it."""

_TO_ORIGIN = "to-origin"
FAR_ROUTER = "198.18.1.1"
"""The link's address toward the front."""

SECOND = "198.18.5.2"
"""The address of the second front, on its wire to the link between the fronts."""

BEFORE_SECOND = "198.18.4.2"
"""The front's address on its wire to the link between the fronts."""

TO_SECOND = "to-second"
"""The front's device toward the second front, if there is one."""

_HOP_ROUTER, _BEFORE_SECOND_ROUTER = "198.18.5.1", "198.18.4.1"
_NEAR_ROUTER, _BEFORE_ORIGIN = "198.18.0.1", "198.18.2.1"
_CROSS, _CROSS_ROUTER = "198.18.3.2", "198.18.3.1"
_PREFIX = 24
_PREFIX_OF_IPV6 = 64
_MAC = "02:00:c6:12:{:02x}:{:02x}"  # locally administered


def ipv6_of(address: str) -> str:
    """Returns the address of IPv6 that a place has beside one of IPv4: 2001:db8:18:1::2 beside 198.18.1.2."""
    _, block, network, host = address.split(".")
    return f"2001:db8:{block}:{network}::{host}"


def wire_link(client: Namespace, link: Namespace, front: Namespace, *, ipv6: bool = False) -> None:
    """Wires client, link and front. The default routes of client and front lead to the link. Raises StepFailed."""
    wire_client(client, link, ipv6=ipv6)
    wire(link, TO_FRONT, FAR_ROUTER, front, ADDRESSES.front, 2, ipv6=ipv6)


def wire_client(client: Namespace, link: Namespace, *, ipv6: bool = False) -> None:
    """Wires client and link, but not the front. The client's default route leads to the link. Raises StepFailed."""
    wire(link, TO_CLIENT, _NEAR_ROUTER, client, ADDRESSES.client, 0, ipv6=ipv6)


def wire_cross(link: Namespace, cross: Namespace) -> None:
    """Wires link and cross traffic, whose default route leads to the link. Raises StepFailed."""
    wire(link, TO_CROSS, _CROSS_ROUTER, cross, _CROSS, 4)


def wire_hop(front: Namespace, link: Namespace, second: Namespace) -> None:
    """Wires the two fronts with the link between them, whose devices have the names of any link's. Raises StepFailed.

    The front stands where the client of a link stands.
    """
    wire(link, TO_FRONT, _HOP_ROUTER, second, SECOND, 8)
    wire(link, TO_CLIENT, _BEFORE_SECOND_ROUTER, front, BEFORE_SECOND, 6, wire=TO_SECOND, beyond=SECOND)


def wire(
    link: Namespace,
    device: str,
    router: str,
    place: Namespace,
    own: str,
    mac: int,
    *,
    wire: str = WIRE,
    beyond: str | None = None,
    ipv6: bool = False,
) -> None:
    """Wires a place and the link. The place's default route leads to the link. Raises StepFailed.

    device, router: the link's device toward the place, and its address. own: the place's address. mac: the number of
    the place's MAC address; the link's has the next number. wire: the place's device. beyond: an address; the place
    reaches only its network over this link. None for the default route. ipv6: True for addresses of both families.

    Neighbours are permanent entries: ARP would travel through the shaped link, count in its queue, and give up after a
    few seconds of delay.
    """
    own_mac, router_mac = (_MAC.format(*divmod(each, 256)) for each in (mac, mac + 1))
    link.tell(rtnetlink.veth(device, router_mac, wire, own_mac, place.descriptor))
    attach(link, device, router, rtnetlink.neighbour(link.device(device), own, own_mac))
    known = rtnetlink.neighbour(place.device(wire), router, router_mac)
    way = rtnetlink.default_route(router) if beyond is None else rtnetlink.route(beyond, _PREFIX, router)
    attach(place, wire, own, known, way)
    if ipv6:
        _add_ipv6(link, device, ipv6_of(router), rtnetlink.neighbour(link.device(device), ipv6_of(own), own_mac))
        known = rtnetlink.neighbour(place.device(wire), ipv6_of(router), router_mac)
        _add_ipv6(place, wire, ipv6_of(own), known, rtnetlink.default_route(ipv6_of(router)))


def _add_ipv6(place: Namespace, device: str, own: str, *more: bytes) -> None:
    place.tell(rtnetlink.address(place.device(device), own, _PREFIX_OF_IPV6), *more)


def wire_origin(front: Namespace, origin: Namespace) -> None:
    """Wires front and origin, on a network of their own. Raises StepFailed."""
    front.tell(rtnetlink.veth(_TO_ORIGIN, None, WIRE, None, origin.descriptor))
    attach(front, _TO_ORIGIN, _BEFORE_ORIGIN)
    attach(origin, WIRE, ADDRESSES.origin, rtnetlink.default_route(_BEFORE_ORIGIN))


def gso_segments(place: Namespace) -> int:
    """Returns gso_max_segs of the place's wire. Raises StepFailed."""
    (answer,) = place.tell(rtnetlink.device(WIRE))
    return rtnetlink.gso_max_segs(answer)


def wire_qdisc(place: Namespace) -> str:
    """Returns the kind of the queueing discipline of the place's wire. Raises StepFailed."""
    (answer,) = place.tell(rtnetlink.device(WIRE))
    return rtnetlink.qdisc(answer)


def attach(place: Namespace, device: str, own: str, *more: bytes) -> None:
    """Gives a device of the place the address `own`, sets it up, and sends more rtnetlink messages.

    Raises StepFailed.
    """
    index = place.device(device)
    loopback = place.device("lo")
    place.tell(rtnetlink.up(loopback), rtnetlink.address(index, own, _PREFIX), rtnetlink.up(index), *more)
