"""Reads the options of all TCP connections of a network namespace through sock_diag(7), without a look at any process.

These are few: buffers, type of service, mark and the highest pacing rate. The guest's clock does not move. (To borrow
the descriptors of servers meanwhile changes how often these read the clock.)
"""

import socket
import struct
from collections.abc import Iterator
from typing import Self

from priolab.common.netlink import Conversation, attributes, question
from priolab.proxy.socket_options import NOT_ECN, Options

_NETLINK_SOCK_DIAG, _BY_FAMILY = 4, 20  # <linux/netlink.h>, <linux/sock_diag.h>
_ESTABLISHED = 1  # TCP_ESTABLISHED, <net/tcp_states.h>
_REQUEST = struct.Struct("=3BxI48x")  # struct inet_diag_req_v2: family, protocol, extensions, states, identity
_HEADER_BYTES = 72  # struct inet_diag_msg
_PORTS = struct.Struct(">4xHH")  # the ports of its identity
_INFO, _TOS, _MEMORY, _MARK = 2, 5, 7, 15  # INET_DIAG_*, <linux/inet_diag.h>
_EXTENSIONS = sum(1 << (number - 1) for number in (_INFO, _TOS, _MEMORY))
_MEMORY_WORDS = struct.Struct("=9I")  # SK_MEMINFO_*: the second is the receive buffer, the fourth the send buffer
_MOST_PACING = struct.Struct("=112xQ")  # tcpi_max_pacing_rate in struct tcp_info
_UNLIMITED = 2**64 - 1


class AllConnections:
    """A reader of the connections in the network namespace of the thread that creates it. A context manager."""

    def __init__(self) -> None:
        """Opens the netlink socket. Raises OSError."""
        self._conversation = Conversation(_NETLINK_SOCK_DIAG)
        request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, _EXTENSIONS, 1 << _ESTABLISHED)
        self._question = question(_BY_FAMILY, request, dump=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._conversation.__exit__()

    def read(self) -> Iterator[tuple[str, Options]]:
        """Yields a name and the options of each established connection. Raises OSError."""
        for answer in self._conversation.ask(self._question):
            own, peer = _PORTS.unpack_from(answer)
            found = attributes(answer, _HEADER_BYTES)
            if not {_INFO, _MEMORY} <= found.keys():
                continue  # the connection is closing
            _, receive_bytes, _, send_bytes, *_ = _MEMORY_WORDS.unpack_from(found[_MEMORY])
            (pacing,) = _MOST_PACING.unpack_from(found[_INFO])
            yield (
                f"{own} to {peer}",
                {
                    "SO_SNDBUF": str(send_bytes),
                    "SO_RCVBUF": str(receive_bytes),
                    "SO_MAX_PACING_RATE": str(-1 if pacing == _UNLIMITED else pacing),
                    "SO_MARK": str(int.from_bytes(found.get(_MARK, b""), "little")),
                    "IP_TOS": str(found.get(_TOS, b"\0")[0] & NOT_ECN),
                },
            )
