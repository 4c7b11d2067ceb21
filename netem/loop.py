"""A loop: a veth pair inside the link's place, through which packets pass from one stage of the link to the next.

Two qdiscs that must act one after the other, but cannot be nested, are on two devices with a loop between them. Packets
are routed into one end of the loop, come out at the other end, and are forwarded. Both ends have the same MAC address
and no ARP, so that each end accepts the other's frames.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from priolab.netem.tc import Command


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop. device: the end into which packets are routed, which has the qdiscs. back: the end where they come out.

    table: the number of the routing table that leads into the loop.
    """

    device: str
    back: str
    mac: str
    table: str

    def commands(self, source: str) -> list[Command]:
        """Returns the commands that make the loop, and route into it the packets that come from the device `source`."""
        pair = ("address", self.mac, "type", "veth", "peer", "name", self.back, "address", self.mac)
        return [
            ("ip", "link", "add", self.device, *pair),
            *(("ip", "link", "set", "dev", end, "arp", "off", "up") for end in (self.device, self.back)),
            ("ip", "route", "add", "default", "dev", self.device, "table", self.table),
            self.rule(source),
        ]

    def rule(self, source: str) -> Command:
        """Returns the command that routes into the loop the packets that come from the device `source`."""
        return ("ip", "rule", "add", "iif", source, "lookup", self.table)

    def sysctls(self) -> Mapping[str, str]:
        """Returns the sysctls that the place must have.

        rp_filter is off, because no route back to a packet's source leads through the loop that the packet came from.
        """
        return {f"net.ipv4.conf.{name}.rp_filter": "0" for name in ("all", self.device, self.back)}
