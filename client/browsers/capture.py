"""Captures the packets of a browser's connections to the front, with the times at which the kernel handled them.

Rules:
1. The capture begins before the browser starts, and sees packets of all interfaces of this network namespace.
2. It needs CAP_NET_RAW, which root has, and an ordinary user in the lab's places.
3. A packet that the kernel could not keep makes the load fail.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import addressof, create_string_buffer
from ipaddress import IPv4Address

import dpkt

from priolab.client.browsers.tls13 import APPLICATION_DATA
from priolab.client.load_scheduler import LoadFailed
from priolab.common.arrival import ANCILLARY_BYTES, arrival_ns, stamp_arrivals

_ALL = 0x0003  # ETH_P_ALL: received and sent packets
_SO_ATTACH_FILTER = 26
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_STATISTICS = struct.Struct("@II")
_BUFFER_BYTES = 32 * 2**20
_PACKET_BYTES = 2**17
_OLDEST_NS = 60 * 10**9
_WAIT_S = 0.2

Packet = tuple[int, dpkt.tcp.TCP]
"""A packet of TCP and the time at which the kernel received or sent it (CLOCK_MONOTONIC, ns)."""


def _filter(address: str) -> bytes:
    """Returns the program of a socket filter: IPv4, TCP, from or to this address. Offsets count from the IP header."""
    number = int(IPv4Address(address))
    program = (
        (0x30, 0, 0, 9),  # A = protocol
        (0x15, 0, 5, socket.IPPROTO_TCP),
        (0x20, 0, 0, 12),  # A = source address
        (0x15, 2, 0, number),
        (0x20, 0, 0, 16),  # A = destination address
        (0x15, 0, 1, number),
        (0x06, 0, 0, _PACKET_BYTES),  # take it
        (0x06, 0, 0, 0),
    )
    return b"".join(struct.pack("@HBBI", *each) for each in program)


class Capture:
    """The packets captured so far. missed: how many packets the kernel could not keep."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._raw: list[tuple[int, bytes]] = []
        self._awaiting: Callable[[int], None] | None = None
        self.missed = 0

    def add(self, t_ns: int, data: bytes) -> None:
        """Adds an IPv4 packet."""
        self._raw.append((t_ns, data))
        if (tell := self._awaiting) and self._is_request(data):
            self._awaiting = None
            tell(t_ns)

    def await_request(self, tell: Callable[[int], None]) -> None:
        """Calls `tell` once, with the time of the next packet in which the browser sends encrypted data to the front.

        `tell` is called in another thread.
        """
        self._awaiting = tell

    def _is_request(self, data: bytes) -> bool:
        tcp = dpkt.ip.IP(data).data
        return isinstance(tcp, dpkt.tcp.TCP) and tcp.dport == self._port and tcp.data[:1] == bytes([APPLICATION_DATA])

    @property
    def address(self) -> str:
        """The browser's address; empty if it sent no packet to the front."""
        sent = (dpkt.ip.IP(data) for _, data in self._raw)
        sources = (ip.src for ip in sent if isinstance(ip.data, dpkt.tcp.TCP) and ip.data.dport == self._port)
        return next((str(IPv4Address(source)) for source in sources), "")

    def packets(self) -> Iterator[Packet]:
        """Yields the packets from and to the front's port, in order of time."""
        for t_ns, data in sorted(self._raw, key=lambda pair: pair[0]):
            tcp = dpkt.ip.IP(data).data
            if isinstance(tcp, dpkt.tcp.TCP) and self._port in (tcp.sport, tcp.dport):
                yield t_ns, tcp


@contextmanager
def capturing(address: str, port: int) -> Iterator[Capture]:
    """Captures the packets of TCP from and to the front until the context closes.

    Raises LoadFailed if this process must not capture, or if packets were missed.
    """
    found = Capture(port)
    program = create_string_buffer(code := _filter(address))
    try:
        taker = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
    except PermissionError:
        raise LoadFailed("the packets of the browser can only be captured by root, or in the lab's places") from None
    with taker:
        attached = struct.pack("@HL", len(code) // 8, addressof(program))
        taker.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
        taker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        taker.settimeout(_WAIT_S)
        stamp_arrivals(taker)
        ended = threading.Event()
        thread = threading.Thread(target=_take, args=(taker, found, ended), name="capture", daemon=True)
        thread.start()
        try:
            yield found
        finally:
            ended.set()
            thread.join()
        _, found.missed = _STATISTICS.unpack(taker.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size))
    if found.missed:
        raise LoadFailed(f"{found.missed} packets of the browser were not captured")


def _take(taker: socket.socket, found: Capture, ended: threading.Event) -> None:
    """Takes packets until the context closes and none waits any more."""
    while True:
        try:
            data, ancillary, _, _ = taker.recvmsg(_PACKET_BYTES, ANCILLARY_BYTES)
        except TimeoutError:
            if ended.is_set():
                return
            continue
        found.add(arrival_ns(ancillary, _OLDEST_NS), data)
