"""The wires between places that are namespaces, as veth pairs, and their addresses and routes.

    client ==== link ==== front ---- origin

Nothing can bypass the link: it is a router between two networks, and the client has no other route.
Addresses come from 198.18.0.0/15, the block reserved for benchmarking (RFC 2544, RFC 6890).
"""

from experiments.testbed.namespaces import rtnetlink
from experiments.testbed.namespaces.namespace import Namespace
from experiments.testbed.places import Addresses

ADDRESSES = Addresses(client="198.18.0.2", front="198.18.1.2", origin="198.18.2.2")

TO_CLIENT, TO_FRONT = "to-client", "to-front"
"""The devices of the link's place."""

TO_CROSS = "to-cross"
"""The link's device toward the cross traffic, if there is any."""

WIRE = "wire"
"""The name of three devices: the client's and the front's toward the link, and the origin's toward the front."""

_TO_ORIGIN = "to-origin"
FAR_ROUTER = "198.18.1.1"
"""The link's address toward the front."""

_NEAR_ROUTER, _BEFORE_ORIGIN = "198.18.0.1", "198.18.2.1"
_CROSS, _CROSS_ROUTER = "198.18.3.2", "198.18.3.1"
_PREFIX = 24
_MAC = "02:00:c6:12:00:0{}"  # locally administered


def wire_link(client: Namespace, link: Namespace, front: Namespace) -> None:
    """Wires client, link and front. The default routes of client and front lead to the link. Raises StepFailed."""
    wire_client(client, link)
    _wire(link, TO_FRONT, FAR_ROUTER, front, ADDRESSES.front, 2)


def wire_client(client: Namespace, link: Namespace) -> None:
    """Wires client and link, but not the front. The client's default route leads to the link. Raises StepFailed."""
    _wire(link, TO_CLIENT, _NEAR_ROUTER, client, ADDRESSES.client, 0)


def wire_cross(link: Namespace, cross: Namespace) -> None:
    """Wires link and cross traffic, whose default route leads to the link. Raises StepFailed."""
    _wire(link, TO_CROSS, _CROSS_ROUTER, cross, _CROSS, 4)


def _wire(link: Namespace, device: str, router: str, place: Namespace, own: str, mac: int) -> None:
    """Wires a place and the link. The place's default route leads to the link.

    device, router: the link's device toward the place, and its address. own: the place's address. mac: the number of
    the place's MAC address; the link's has the next number.

    Neighbours are permanent entries: ARP would travel through the shaped link, count in its queue, and give up after a
    few seconds of delay.
    """
    own_mac, router_mac = _MAC.format(mac), _MAC.format(mac + 1)
    link.tell(rtnetlink.veth(device, router_mac, WIRE, own_mac, place.descriptor))
    attach(link, device, router, rtnetlink.neighbour(link.device(device), own, own_mac))
    known = rtnetlink.neighbour(place.device(WIRE), router, router_mac)
    attach(place, WIRE, own, known, rtnetlink.default_route(router))


def wire_origin(front: Namespace, origin: Namespace) -> None:
    """Wires front and origin, on a network of their own. Raises StepFailed."""
    front.tell(rtnetlink.veth(_TO_ORIGIN, None, WIRE, None, origin.descriptor))
    attach(front, _TO_ORIGIN, _BEFORE_ORIGIN)
    attach(origin, WIRE, ADDRESSES.origin, rtnetlink.default_route(_BEFORE_ORIGIN))


def gso_segments(place: Namespace) -> int:
    """Returns gso_max_segs of the place's wire. Raises StepFailed."""
    (answer,) = place.tell(rtnetlink.device(WIRE))
    return rtnetlink.gso_max_segs(answer)


def attach(place: Namespace, device: str, own: str, *more: bytes) -> None:
    """Gives a device of the place the address `own`, sets it up, and sends more rtnetlink messages.

    Raises StepFailed.
    """
    index = place.device(device)
    loopback = place.device("lo")
    place.tell(rtnetlink.up(loopback), rtnetlink.address(index, own, _PREFIX), rtnetlink.up(index), *more)
