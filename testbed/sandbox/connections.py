"""Counts the TCP connections between the hosts: the kernel tells of each when it is closed (sock_diag(7))."""

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import combinations, zip_longest
from typing import Self

from priolab.common.netlink import Announcements, Conversation, Finder, question
from priolab.testbed.sandbox.outcome import Connection, Limits
from priolab.testbed.sandbox.spec import SERVER
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.topology import ipv6_of

_SOCK_DIAG, _BY_FAMILY, _INFO = 4, 20, 2  # <linux/netlink.h>, <linux/sock_diag.h>, <linux/inet_diag.h>
_CLOSED, _CLOSED_IPV6 = 1, 4  # the groups SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY
_ALL_STATES = 0xFFF & ~(1 << 10)  # but TCP_LISTEN
_REQUEST = struct.Struct("=3BxI48x")  # struct inet_diag_req_v2
_MESSAGE = struct.Struct(">B3xHH16x16s")  # struct inet_diag_msg: family, ports of the two ends, address of the other
_IPV4_BYTES = 4
_IPV4_IN_IPV6 = bytes(10) + b"\xff\xff"
_MESSAGE_BYTES = 72
_TCP_INFO = struct.Struct("=100xI24xQ12xI16xQQQ8xQQ")  # struct tcp_info, <linux/tcp.h>: the fields of _End
_NEVER = 2**32 - 1
_FINDER = Finder(_MESSAGE_BYTES, _INFO)
_QUESTIONS = [
    question(_BY_FAMILY, _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _ALL_STATES), dump=True)
    for family in (socket.AF_INET, socket.AF_INET6)
]

_Ports = tuple[int, int]
_Found = dict[str, dict[_Ports, list["_End"]]]
"""The ends of connections in a host, by the name of the other host, and by their ports: own, the other's."""


@dataclass(frozen=True)
class _End:
    """The counts of one end of a connection. received_bytes: one more than the data if the other end has closed."""

    retransmissions: int
    received_bytes: int
    min_round_trip_us: int
    busy_us: int
    window_us: int
    buffer_us: int
    sent_bytes: int
    sent_again_bytes: int

    @property
    def limits(self) -> Limits:
        """The limits that held it back as a sender."""
        return Limits(busy_us=self.busy_us, window_us=self.window_us, buffer_us=self.buffer_us)

    @property
    def handed_bytes(self) -> int:
        """The data that has been sent at least once."""
        return self.sent_bytes - self.sent_again_bytes


@dataclass
class Ends:
    """The ends in one host of connections to other hosts. A context manager.

    addresses: the hosts' addresses, by their names. ipv6: True if they have addresses of IPv6, too. lost: True if the
    kernel could not tell of all of them.
    """

    host: Namespace
    addresses: Mapping[str, str]
    ipv6: bool = False
    lost: bool = False
    _closed: _Found = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = {socket.inet_aton(address): name for name, address in self.addresses.items()}
        if self.ipv6:
            self._names |= {
                socket.inet_pton(socket.AF_INET6, ipv6_of(address)): name for name, address in self.addresses.items()
            }

    def __enter__(self) -> Self:
        with ExitStack() as stack, self.host.entered():
            self._announced = stack.enter_context(
                Announcements(_SOCK_DIAG, _CLOSED | (_CLOSED_IPV6 if self.ipv6 else 0))
            )
            self._conversation = stack.enter_context(Conversation(_SOCK_DIAG))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fileno(self) -> int:
        """Returns the descriptor that is readable when a connection has been closed."""
        return self._announced.fileno()

    def hear(self) -> None:
        """Counts the connections that have been closed."""
        try:
            for answer in self._announced.read():
                self._add(answer, self._closed)
        except OSError:
            self.lost = True

    def counted(self) -> _Found:
        """Returns the ends of all connections, also of those that are open."""
        self.hear()
        found = {name: {ports: list(ends) for ports, ends in of.items()} for name, of in self._closed.items()}
        for asked in _QUESTIONS if self.ipv6 else _QUESTIONS[:1]:
            for answer in self._conversation.ask(asked):
                self._add(answer, found)
        return found

    def _add(self, answer: bytes, found: _Found) -> None:
        family, own, other, address = _MESSAGE.unpack_from(answer)
        (info,) = _FINDER.payloads(answer)
        name = self._names.get(_bare(family, address))
        if name is None or not info:
            return
        end = _End(*_TCP_INFO.unpack_from(info.ljust(_TCP_INFO.size, b"\0")))
        found.setdefault(name, {}).setdefault((own, other), []).append(end)


def _bare(family: int, address: bytes) -> bytes:
    """Returns an address of a sock_diag message: 4 bytes of IPv4, also for a socket of IPv6, or 16 bytes of IPv6."""
    if family == socket.AF_INET:
        return address[:_IPV4_BYTES]
    return address.removeprefix(_IPV4_IN_IPV6)


def joined(ends: Mapping[str, Ends]) -> Sequence[Connection]:
    """Returns the connections, each from its two ends, in the order of hosts and ports.

    ends: those of all hosts, by their names. The server comes last.
    """
    counted = {name: each.counted() for name, each in ends.items()}
    order = sorted(ends, key=lambda name: name == SERVER)
    return [made for near, far in combinations(order, 2) for made in _between(counted, near, far)]


def _between(counted: Mapping[str, _Found], name: str, other: str) -> Iterator[Connection]:
    near = counted[name].get(other, {})
    far = {(own, others): ends for (others, own), ends in counted[other].get(name, {}).items()}
    for ports in sorted({*near, *far}):
        for connection in _connections(ports, near.get(ports, []), far.get(ports, [])):
            yield replace(connection, between=(name, other))


def _connections(ports: _Ports, near: Sequence[_End], far: Sequence[_End]) -> Iterator[Connection]:
    for here, there in zip_longest(near, far):
        trips = [end.min_round_trip_us for end in (here, there) if end and 0 < end.min_round_trip_us < _NEVER]
        yield Connection(
            client_port=ports[0],
            server_port=ports[1],
            down_bytes=_arrived(there, here),
            up_bytes=_arrived(here, there),
            down_retransmissions=there.retransmissions if there else 0,
            up_retransmissions=here.retransmissions if here else 0,
            min_round_trip_us=min(trips, default=None),
            down_limits=there.limits if there else Limits(),
            up_limits=here.limits if here else Limits(),
        )


def _arrived(sender: _End | None, receiver: _End | None) -> int:
    """Returns the bytes of data that the receiver's kernel has."""
    if sender is None or receiver is None:
        return 0
    return min(receiver.received_bytes, sender.handed_bytes)
