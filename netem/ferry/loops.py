"""The loops that route a router's packets through the ferry: their commands and sysctls. Does not run them.

Each direction has a loop, a veth pair. A packet from one network is routed into the loop's device, comes out at the
other end, and is read by the ferry. Later the ferry writes the same frame back at that end. The frame arrives at the
device, and the main routing table forwards it to the other network:

    to-front --rule, table 10--> ferry-down ==== down-ferry <-> ferry
    to-client <---main table---- ferry-down

Rules:
1. The device has no ARP, so frames have the device's own MAC address as their destination. The kernel ignores these
   frames at the other end, as frames for another host, and accepts them when they come back to the device.
2. The device has no transmit offload, so all packets in the loop have complete checksums and no more than full size.
3. A direction in which the Link changes no packets has no loop.
4. The commands are those for IPv4; netem/tc.py has those for IPv6 (`ways`).
5. The commands need CAP_NET_ADMIN over the network namespace, and a kernel with policy routing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from priolab.netem.link import Link

Command = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A veth pair that leads the packets of one direction to the ferry and back.

    device: the router's end. ferry_end: the end at which the ferry reads and writes. table: the number of the routing
    table that leads into the loop.
    """

    direction: str
    device: str
    ferry_end: str
    table: str


DOWN = Loop(direction="down", device="ferry-down", ferry_end="down-ferry", table="10")
UP = Loop(direction="up", device="ferry-up", ferry_end="up-ferry", table="11")


def needed(link: Link) -> tuple[Loop, ...]:
    """Returns the loops that a Link needs; no loops if the Link does not change packets."""
    ways = ((DOWN, link), (UP, link.reverse))
    return tuple(loop for loop, way in ways if way.gated or way.rate_bit_s is not None or way.delayed or way.trace)


def commands(link: Link, to_client: str, to_front: str) -> list[Command]:
    """Returns the commands that make the loops in a place that already routes between to_client and to_front."""
    return [command for loop in needed(link) for command in _loop(loop, to_front if loop is DOWN else to_client)]


def also_from(link: Link, device: str) -> list[Command]:
    """Returns the commands that route the packets of a further device toward the client through the ferry.

    Packets toward this device come from the client, and so pass the loop of the other direction already.
    """
    return [("ip", "rule", "add", "iif", device, "lookup", DOWN.table)] if DOWN in needed(link) else []


def _loop(loop: Loop, source: str) -> list[Command]:
    return [
        ("ip", "link", "add", loop.device, "type", "veth", "peer", "name", loop.ferry_end),
        ("ip", "link", "set", "dev", loop.device, "arp", "off"),
        ("ethtool", "-K", loop.device, "tx", "off"),
        ("ip", "link", "set", "dev", loop.ferry_end, "up"),
        ("ip", "link", "set", "dev", loop.device, "up"),
        ("ip", "route", "add", "default", "dev", loop.device, "table", loop.table),
        ("ip", "rule", "add", "iif", source, "lookup", loop.table),
    ]


def sysctls(link: Link) -> Mapping[str, str]:
    """Returns the sysctls that the place must have once the loops exist.

    rp_filter is off: the route back to a packet's source does not lead through the loop that the packet came from, so a
    strict rp_filter would drop the packet. The kernel uses the greater of the values of `all` and of the device, and a
    new device has the value of `default`.
    """
    filters = {f"net.ipv4.conf.{name}.rp_filter": "0" for name in ("all", *(loop.device for loop in needed(link)))}
    return {"net.ipv4.ip_forward": "1"} | filters
