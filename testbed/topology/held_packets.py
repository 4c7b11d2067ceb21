"""Holds the packets of one host to another until they are released: they wait in a socket, and then go on in order.

The first router behind the sender leads them into a veth pair of its own, whose other end has the socket. The kernel
ignores them there, as frames for another host. Those that are written back come out of the pair, and go on.
"""

import socket
from collections.abc import Sequence
from contextlib import suppress

from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.packet_socket import ALL_PACKETS, SOL_PACKET, packet_socket

_FIRST_TABLE = 1000  # those up to 255 have main and local among them
_PACKET_VNET_HDR, _OUTGOING = 15, 4  # <linux/if_packet.h>
_SO_RCVBUFFORCE, _BUFFER_BYTES = 33, 2**26  # <asm-generic/socket.h>
_HEADER_BYTES = 10  # struct virtio_net_hdr: with it, packets of segmentation offload stay as they are
_LONGEST_BYTES = _HEADER_BYTES + 14 + 2**16 + 8
_IS_MULTICAST = 1


class HeldPackets:
    """The packets that wait. They are lost with this process."""

    def __init__(self, place: Namespace, number: int, device: str, addresses: Sequence[str]) -> None:
        """Makes them wait. Raises StepFailed.

        place: the router. number: of these packets, from 0 on. device: where they come to the router. addresses: where
        they go.
        """
        self._place = place
        self._table = _FIRST_TABLE + number
        self._device = device
        self._addresses = addresses
        name, self._back = f"hold-{number}", f"held-{number}"
        ip = [
            f"link add {name} type veth peer name {self._back}",
            f"link set dev {name} arp off",
            f"link set dev {self._back} up",
            f"link set dev {name} up",
        ]
        families = ["-6" if ":" in address else "-4" for address in addresses]
        place.run(["ip", "-batch", "-"], "".join(f"{line}\n" for line in ip))
        for each in ("all", name):
            place.write_sysctl(f"net.ipv4.conf.{each}.rp_filter", "0")
        for family in families:
            place.run(["ip", family, "route", "add", "default", "dev", name, "table", str(self._table)])
        self._socket = packet_socket(place)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._socket.setsockopt(SOL_PACKET, _PACKET_VNET_HDR, 1)
        self._socket.bind((self._back, ALL_PACKETS))
        self._lead(there=True)

    def release(self) -> None:
        """Lets them go on, and those that follow. Raises StepFailed."""
        self._write_back()
        self._lead(there=False)
        self._write_back()
        self._socket.close()
        self._place.run(["ip", "link", "delete", self._back])

    def _lead(self, *, there: bool) -> None:
        rules = (rtnetlink.rule(self._device, address, self._table, there=there) for address in self._addresses)
        self._place.tell(*rules)

    def _write_back(self) -> None:
        with suppress(BlockingIOError):
            while True:
                frame, whence = self._socket.recvfrom(_LONGEST_BYTES)
                if whence[2] != _OUTGOING and not frame[_HEADER_BYTES] & _IS_MULTICAST:
                    self._socket.send(frame)
