"""Cuts hosts off from each other: drops packets in silence where they come to the first router behind their host.

Packets that have passed that router before arrive. Hosts keep their addresses and routes.
"""

from collections.abc import Iterable
from itertools import permutations

from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.network import Network
from priolab.testbed.topology.topology import ipv6_of

Ways = set[tuple[str, str]]
"""Pairs of a sender and a receiver."""


class Cuts:
    """The hosts that are cut off from each other."""

    def __init__(self, network: Network, hosts: Iterable[str]) -> None:
        """hosts: the names of those that may be cut off, each with a wire of its own."""
        self._network = network
        self._hosts = tuple(hosts)
        self._parted: Ways = set()
        self._down: set[str] = set()
        self._made: Ways = set()

    def part(self, ways: Iterable[tuple[str, str]]) -> None:
        """Drops the packets of senders to receivers. Raises StepFailed."""
        self._parted |= {*ways}
        self._make()

    def heal(self, hosts: Iterable[str]) -> None:
        """Ends the partitions between all these hosts, or of one of them; those of all hosts for none."""
        self._parted -= {way for way in self._parted if {*hosts} <= {*way}}
        self._make()

    def set_down(self, host: str, *, down: bool) -> None:
        """Drops all packets to and from a host, or no longer. Raises StepFailed."""
        self._down = self._down | {host} if down else self._down - {host}
        self._make()

    def _make(self) -> None:
        wanted = self._parted | {way for way in permutations(self._hosts, 2) if self._down & {*way}}
        for way in permutations(self._hosts, 2):
            if (way in wanted) != (way in self._made):
                self._tell(*way, there=way in wanted)
        self._made = wanted

    def _tell(self, sender: str, receiver: str, *, there: bool) -> None:
        topology = self._network.topology
        wire, to = topology.wire(sender), topology.wire(receiver).address
        addresses = (to, ipv6_of(to)) if topology.ipv6 else (to,)
        self._network.hosts[wire.router].tell(
            *(rtnetlink.blackhole(wire.device, address, there=there) for address in addresses)
        )
