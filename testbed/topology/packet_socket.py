"""Sockets that see all packets of a device (packet(7)), and their constants (<linux/if_ether.h>, <linux/socket.h>)."""

import socket

from priolab.testbed.topology.namespace import Namespace

ALL_PACKETS = 3
"""The protocol to which such a socket is bound, beside the name of its device."""

SOL_PACKET = 263


def packet_socket(place: Namespace, kind: int = socket.SOCK_RAW) -> socket.socket:
    """Opens one that never blocks, in a namespace. It has no packets until it is bound. Raises OSError."""
    with place.entered():
        return socket.socket(socket.AF_PACKET, kind | socket.SOCK_NONBLOCK, 0)
