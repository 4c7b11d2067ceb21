"""Cuts hosts off from each other: drops or holds packets where they come to the first router behind their host.

Packets that have passed that router before arrive. Hosts keep their addresses and routes.
"""

from collections.abc import Iterable, Sequence
from itertools import count, permutations

from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.held_packets import HeldPackets
from priolab.testbed.topology.namespace import Namespace
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
        self._held: dict[tuple[str, str], HeldPackets] = {}
        self._holds = count()

    def part(self, ways: Iterable[tuple[str, str]]) -> None:
        """Drops the packets of senders to receivers. Raises StepFailed."""
        self._parted |= {*ways}
        self._make()

    def heal(self, hosts: Iterable[str]) -> None:
        """Ends the partitions between all these hosts, or of one of them; those of all hosts for none."""
        self._parted -= {way for way in self._parted if {*hosts} <= {*way}}
        self._make()

    def hold(self, ways: Iterable[tuple[str, str]]) -> None:
        """Lets the packets of senders to receivers wait. Raises StepFailed."""
        for way in ways:
            if way not in self._held:
                place, device, addresses = self._where(*way)
                self._held[way] = HeldPackets(place, next(self._holds), device, addresses)

    def release(self, hosts: Iterable[str]) -> None:
        """Lets packets between all these hosts, or of one of them, go on; those of all hosts for none."""
        for way in [way for way in self._held if {*hosts} <= {*way}]:
            self._held.pop(way).release()

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
        place, device, addresses = self._where(sender, receiver)
        place.tell(*(rtnetlink.rule(device, address, None, there=there) for address in addresses))

    def _where(self, sender: str, receiver: str) -> tuple[Namespace, str, Sequence[str]]:
        """Returns the first router behind a sender, the device at which packets come there, and where they go."""
        topology = self._network.topology
        wire, to = topology.wire(sender), topology.wire(receiver).address
        return self._network.hosts[wire.router], wire.device, (to, ipv6_of(to)) if topology.ipv6 else (to,)
