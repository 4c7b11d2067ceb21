"""The wires between places that are namespaces, as veth pairs, and what they need to route.

    client ==== link ==== front ---- origin

Nothing can bypass the link: it is a router between two networks, and the client knows no other way.
Addresses come from 198.18.0.0/15, the block reserved for benchmarking (RFC 2544, RFC 6890).
"""

from experiments.places.namespace import Namespace
from experiments.places.places import Addresses

ADDRESSES = Addresses(client="198.18.0.2", front="198.18.1.2", origin="198.18.2.2")

TO_CLIENT, TO_FRONT = "to-client", "to-front"
"""The link's devices."""

WIRE = "wire"
"""The other places' device toward the link; the origin's toward the front."""

_TO_ORIGIN = "to-origin"
_NEAR_ROUTER, _FAR_ROUTER, _BEFORE_ORIGIN = "198.18.0.1", "198.18.1.1", "198.18.2.1"
_MAC = "02:00:c6:12:00:0{}"  # locally administered


def wire_link(client: Namespace, link: Namespace, front: Namespace) -> None:
    """Client, link and front, up; the front's default route leads to the link. Raises StepFailed."""
    near, near_router, far, far_router = (_MAC.format(number) for number in range(4))
    link.ip(
        [
            _pair(TO_CLIENT, near_router, client, near),
            _pair(TO_FRONT, far_router, front, far),
            f"address add {_NEAR_ROUTER}/24 dev {TO_CLIENT}",
            f"address add {_FAR_ROUTER}/24 dev {TO_FRONT}",
            f"link set dev {TO_CLIENT} up",
            f"link set dev {TO_FRONT} up",
            # Address resolution would travel through the shaped link, count in its queue, and give up after a few
            # seconds of delay.
            f"neighbour add {ADDRESSES.client} lladdr {near} dev {TO_CLIENT} nud permanent",
            f"neighbour add {ADDRESSES.front} lladdr {far} dev {TO_FRONT} nud permanent",
        ]
    )
    for place, address, router, mac in (
        (client, ADDRESSES.client, _NEAR_ROUTER, near_router),
        (front, ADDRESSES.front, _FAR_ROUTER, far_router),
    ):
        known = f"neighbour add {router} lladdr {mac} dev {WIRE} nud permanent"
        place.ip([*_attached(address, router), known])


def wire_origin(front: Namespace, origin: Namespace) -> None:
    """The origin, behind the front, on a network of their own. Raises StepFailed."""
    front.ip(
        [
            f"link add {_TO_ORIGIN} type veth peer name {WIRE} netns {origin.handle}",
            f"address add {_BEFORE_ORIGIN}/24 dev {_TO_ORIGIN}",
            f"link set dev {_TO_ORIGIN} up",
        ]
    )
    origin.ip(_attached(ADDRESSES.origin, _BEFORE_ORIGIN))


def _pair(device: str, address: str, there: Namespace, address_there: str) -> str:
    peer = f"peer name {WIRE} address {address_there} netns {there.handle}"
    return f"link add {device} address {address} type veth {peer}"


def _attached(address: str, gateway: str) -> list[str]:
    return [
        f"address add {address}/24 dev {WIRE}",
        "link set dev lo up",
        f"link set dev {WIRE} up",
        f"route add default via {gateway}",
    ]
