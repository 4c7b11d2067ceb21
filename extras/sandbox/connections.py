"""Counts the TCP connections between the places: the kernel tells of each when it is closed (sock_diag(7))."""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Self

from priolab.common.netlink import Announcements, Conversation, Finder, question
from priolab.experiments.testbed.namespaces.namespace import Namespace
from priolab.extras.sandbox.outcome import Connection

_SOCK_DIAG, _BY_FAMILY, _INFO = 4, 20, 2  # <linux/netlink.h>, <linux/sock_diag.h>, <linux/inet_diag.h>
_CLOSED = 1  # the group SKNLGRP_INET_TCP_DESTROY
_ALL_STATES = 0xFFF & ~(1 << 10)  # but TCP_LISTEN
_REQUEST = struct.Struct("=3BxI48x")  # struct inet_diag_req_v2
_MESSAGE = struct.Struct(">4xHH4s12x4s")  # struct inet_diag_msg: ports and addresses of the two ends
_MESSAGE_BYTES = 72
_TCP_INFO = struct.Struct("=100xI24xQ12xI48xQQ")  # struct tcp_info, <linux/tcp.h>: the fields of _End, in its order
_NEVER = 2**32 - 1
_FINDER = Finder(_MESSAGE_BYTES, _INFO)
_QUESTION = question(
    _BY_FAMILY, _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 1 << (_INFO - 1), _ALL_STATES), dump=True
)

_Ports = tuple[int, int]


@dataclass(frozen=True)
class _End:
    """What one end of a connection counted. received_bytes: one more than the data if the other end has closed."""

    retransmissions: int
    received_bytes: int
    min_round_trip_us: int
    sent_bytes: int
    sent_again_bytes: int

    @property
    def handed_bytes(self) -> int:
        """The data that has been sent at least once."""
        return self.sent_bytes - self.sent_again_bytes


@dataclass
class Ends:
    """The ends in one place of connections to another place. A context manager.

    peer: the other place's address. lost: True if the kernel could not tell of all of them.
    """

    place: Namespace
    peer: str
    lost: bool = False
    _closed: dict[_Ports, list[_End]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        with ExitStack() as stack, self.place.entered():
            self._announced = stack.enter_context(Announcements(_SOCK_DIAG, _CLOSED))
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

    def counted(self) -> dict[_Ports, list[_End]]:
        """Returns the ends of all connections, also of those that are open, by their ports: own, peer's."""
        self.hear()
        found = {ports: list(ends) for ports, ends in self._closed.items()}
        for answer in self._conversation.ask(_QUESTION):
            self._add(answer, found)
        return found

    def _add(self, answer: bytes, found: dict[_Ports, list[_End]]) -> None:
        own, other, _, peer = _MESSAGE.unpack_from(answer)
        (info,) = _FINDER.payloads(answer)
        if peer != socket.inet_aton(self.peer) or not info:
            return
        end = _End(*_TCP_INFO.unpack_from(info.ljust(_TCP_INFO.size, b"\0")))
        found.setdefault((own, other), []).append(end)


def joined(client: Ends, server: Ends) -> Sequence[Connection]:
    """Returns the connections, each from its two ends, in the order of their ports."""
    near, far = client.counted(), {(own, other): ends for (other, own), ends in server.counted().items()}
    return [
        connection
        for ports in sorted({*near, *far})
        for connection in _connections(ports, near.get(ports, []), far.get(ports, []))
    ]


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
        )


def _arrived(sender: _End | None, receiver: _End | None) -> int:
    """Returns the bytes of data that the receiver's kernel has."""
    if sender is None or receiver is None:
        return 0
    return min(receiver.received_bytes, sender.handed_bytes)
