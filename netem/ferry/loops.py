"""The loops that lead a router's packets past the ferry: argument lists and sysctls, nothing is run here.

One loop per direction, a veth pair. What comes in from one side is routed into the loop's device, appears at its other
end, and waits there, with the ferry. Later the ferry writes the same frame back at that end; it arrives at the
device and the main table forwards it to the other side:

    to-front --rule, table 10--> ferry-down ==== down-ferry <-> ferry
    to-client <---main table---- ferry-down

Rules:
1. No ARP on the device: frames carry its own address as their destination. The stack at the other end takes them for
   someone else's and leaves them alone, and the device takes them for its own when they come back.
2. No transmit offload on the device: what enters the loop is packets with complete checksums, whatever TCP built.
3. A direction that changes nothing has no loop.
4. Needs CAP_NET_ADMIN over the network namespace, and a kernel with policy routing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from netem.link import Link

Command = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One loop. device: the router's end; ferry_end: the end at which the ferry reads and writes."""

    direction: str
    device: str
    ferry_end: str
    table: str


DOWN = Loop(direction="down", device="ferry-down", ferry_end="down-ferry", table="10")
UP = Loop(direction="up", device="ferry-up", ferry_end="up-ferry", table="11")


def needed(link: Link) -> tuple[Loop, ...]:
    """The loops a Link needs; none if it leaves packets alone."""
    down = link.rate_bit_s is not None or link.delay_ns or link.loss
    return ((DOWN,) if down else ()) + ((UP,) if link.delay_up_ns else ())


def commands(link: Link, to_client: str, to_front: str) -> list[Command]:
    """The commands that make the loops in a place which already routes between two devices."""
    return [command for loop in needed(link) for command in _loop(loop, to_front if loop is DOWN else to_client)]


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
    """What must hold in the place once the loops are there; a place where it already does needs none written.

    The way back to a packet's source does not lead through the loop it came out of, and a strict rp_filter would drop
    it. The kernel goes by the greater of `all` and the device's own value, which begins as `default`.
    """
    filters = {f"net.ipv4.conf.{name}.rp_filter": "0" for name in ("all", *(loop.device for loop in needed(link)))}
    return {"net.ipv4.ip_forward": "1"} | filters
