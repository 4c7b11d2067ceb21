"""The four places and the wires between them, as network namespaces.

    client ==== link ==== front ---- origin

Nothing can bypass the link: it is a router between two networks, and the client knows no other way.
Addresses come from 198.18.0.0/15, the block reserved for benchmarking (RFC 2544, RFC 6890).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from experiments.namespaces import Place
from netem import tc
from netem.link import Link

CLIENT_ADDRESS = "198.18.0.2"
FRONT_ADDRESS = "198.18.1.2"
ORIGIN_ADDRESS = "198.18.2.2"

_TO_CLIENT = "to-client"
_TO_FRONT = "to-front"
_WIRE = "wire"
_TO_ORIGIN = "to-origin"


@dataclass(frozen=True, kw_only=True)
class Places:
    """The places of one run, wired and up."""

    client: Place
    link: Place
    front: Place
    origin: Place

    def apply_link(self, link: Link) -> list[tuple[str, ...]]:
        """Shape the middle place; the commands that did it."""
        commands = tc.down(link, _TO_CLIENT) + tc.up(link, _TO_FRONT)
        for command in commands:
            self.link.run(command)
        return commands

    def link_counters(self) -> dict[str, str]:
        """Counters of the link's qdiscs, JSON by direction."""
        return {
            direction: self.link.run(tc.counters(device))
            for direction, device in (("down", _TO_CLIENT), ("up", _TO_FRONT))
        }

    def limit_gso(self, segments: int) -> None:
        """Limit what the front's TCP builds, in segments."""
        self.front.ip([f"link set dev {_WIRE} gso_max_segs {segments}"])

    def gso_segments(self) -> int:
        """The limit as it stands."""
        words = self.front.run(["ip", "-details", "link", "show", "dev", _WIRE]).split()
        return int(words[words.index("gso_max_segs") + 1])


@contextmanager
def four_places() -> Iterator[Places]:
    """Make the places and wire them; at the end they are gone."""
    with ExitStack() as stack:
        client, link, front, origin = (
            stack.enter_context(Place(name)) for name in ("client", "link", "front", "origin")
        )
        for place in (client, link, front, origin):
            place.write_sysctl("net.ipv4.tcp_no_metrics_save", "1")
        link.write_sysctl("net.ipv4.ip_forward", "1")
        link.ip(
            [
                f"link add {_TO_CLIENT} type veth peer name {_WIRE} netns {client.handle}",
                f"link add {_TO_FRONT} type veth peer name {_WIRE} netns {front.handle}",
                f"address add 198.18.0.1/24 dev {_TO_CLIENT}",
                f"address add 198.18.1.1/24 dev {_TO_FRONT}",
                f"link set dev {_TO_CLIENT} up",
                f"link set dev {_TO_FRONT} up",
            ]
        )
        front.ip(
            [
                f"link add {_TO_ORIGIN} type veth peer name {_WIRE} netns {origin.handle}",
                f"address add {FRONT_ADDRESS}/24 dev {_WIRE}",
                f"address add 198.18.2.1/24 dev {_TO_ORIGIN}",
                "link set dev lo up",
                f"link set dev {_WIRE} up",
                f"link set dev {_TO_ORIGIN} up",
                "route add default via 198.18.1.1",
            ]
        )
        _attach(client, CLIENT_ADDRESS, "198.18.0.1")
        _attach(origin, ORIGIN_ADDRESS, "198.18.2.1")
        # What leaves a server is packets: its interface cuts up what TCP built, or the link would carry 64 KiB lumps.
        # TCP itself still builds them, and that is what the GSO knob limits.
        for place in (client, front):
            place.run(["ethtool", "-K", _WIRE, "tso", "off", "gso", "off"])
        yield Places(client=client, link=link, front=front, origin=origin)


def _attach(place: Place, address: str, gateway: str) -> None:
    place.ip(
        [
            f"address add {address}/24 dev {_WIRE}",
            "link set dev lo up",
            f"link set dev {_WIRE} up",
            f"route add default via {gateway}",
        ]
    )
