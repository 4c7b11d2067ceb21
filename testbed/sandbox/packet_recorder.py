"""Records the packets of a device without another program, so that the programs' random numbers stay what they are.

Rules:
1. The kernel writes packets into memory that it shares with this process (packet_mmap, TPACKET_V3), and wakes it when a
   block is full, or a second after its first packet. So a run takes its course as without a recorder.
2. The beginning of a packet is kept, which has all headers; of UDP all, because the datagrams of one packet of
   segmentation offload are told apart by what they carry.
"""

import mmap
import os
import socket
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from ctypes import addressof, create_string_buffer
from pathlib import Path
from typing import Self

from priolab.common.errors import InvalidRun
from priolab.testbed.sandbox import pcapng
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.packet_socket import ALL_PACKETS, SOL_PACKET, packet_socket

LAST_BLOCK_S = 1.0
"""The time after which the kernel hands over a block that is not full."""

_NS = 10**9
_SO_ATTACH_FILTER = 26
_RX_RING, _STATISTICS, _VERSION, _V3 = 5, 6, 10, 2  # <linux/if_packet.h>
_RING = struct.Struct("=7I")  # struct tpacket_req3
_BLOCK = struct.Struct("=8x3I")  # struct tpacket_block_desc: status, packets, offset of the first
_BLOCK_STATUS_AT, _OF_KERNEL, _OF_USER = 8, 0, 1
_PACKET = struct.Struct("=5I4xH")  # struct tpacket3_hdr: next, seconds, nanoseconds, kept, length, place
_COUNTS = struct.Struct("=3I")  # struct tpacket_stats_v3: packets, drops, freezes
_BLOCK_BYTES, _BLOCKS, _FRAME_BYTES = 2**18, 16, 2**11
_HEADERS_BYTES, _WHOLE_BYTES = 192, 2**16 + 64
_KEPT = (
    (0x28, 0, 0, 12),  # A = type of the frame
    (0x15, 0, 2, 0x0800),
    (0x30, 0, 0, 23),  # A = protocol of IPv4
    (0x15, 3, 4, socket.IPPROTO_UDP),
    (0x15, 0, 4, 0x86DD),
    (0x30, 0, 0, 20),  # A = next header of IPv6
    (0x15, 0, 1, socket.IPPROTO_UDP),
    (0x06, 0, 0, _WHOLE_BYTES),
    (0x06, 0, 0, _HEADERS_BYTES),
    (0x06, 0, 0, 0),
)
"""The program of a socket filter, which tells how much of a packet is kept."""


class PacketRecorder:
    """Records the packets of a device into a pcap file. A context manager.

    The beginning raises OSError, the end InvalidRun if the kernel could not keep all packets.
    """

    def __init__(self, host: Namespace, device: str, file: Path) -> None:
        self._host = host
        self._device = device
        self._path = file
        self._next = 0
        self._came, self._missed = 0, 0
        self._written, self._back_ns = 0, 0
        self._later_back_ns: deque[tuple[int, int]] = deque()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._file = stack.enter_context(self._path.open("wb", buffering=0))
            self._file.write(pcapng.HEAD)
            self._socket = stack.enter_context(packet_socket(self._host))
            code = create_string_buffer(program := b"".join(struct.pack("@HBBI", *each) for each in _KEPT))
            attached = struct.pack("@HL", len(program) // 8, addressof(code))
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
            self._socket.setsockopt(SOL_PACKET, _VERSION, _V3)
            frames = _BLOCK_BYTES * _BLOCKS // _FRAME_BYTES
            ring = _RING.pack(_BLOCK_BYTES, _BLOCKS, _FRAME_BYTES, frames, int(LAST_BLOCK_S * 1000), 0, 0)
            self._socket.setsockopt(SOL_PACKET, _RX_RING, ring)
            self._memory = stack.enter_context(mmap.mmap(self._socket.fileno(), _BLOCK_BYTES * _BLOCKS))
            self._socket.bind((self._device, ALL_PACKETS))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self.hear()
            self._count()
        if self._missed:
            raise InvalidRun(f"packets missed at the {self._host.name}", 0, self._missed)

    def fileno(self) -> int:
        """Returns the descriptor that is readable when a block is complete."""
        return self._socket.fileno()

    def hear(self) -> None:
        """Writes the complete blocks into the file."""
        while records := self._block(self._next * _BLOCK_BYTES):
            os.write(self._file.fileno(), b"".join(records))
            self._next = (self._next + 1) % _BLOCKS

    def set_back(self, by_ns: int) -> None:
        """Sets the times of the packets that come from now on back, because the time of day has jumped."""
        self._count()
        self._later_back_ns.append((self._came, by_ns))

    def _count(self) -> None:
        """Counts the packets that have come, and those that were missed, since the last time."""
        came, missed, _ = _COUNTS.unpack(self._socket.getsockopt(SOL_PACKET, _STATISTICS, _COUNTS.size))
        self._came += came
        self._missed += missed

    def _block(self, begin: int) -> Sequence[bytes]:
        """Returns the records of a block, and gives it back to the kernel; none if it is not complete."""
        status, count, first = _BLOCK.unpack_from(self._memory, begin)
        if not status & _OF_USER:
            return ()
        records = [*self._records(begin + first, count)]
        struct.pack_into("=I", self._memory, begin + _BLOCK_STATUS_AT, _OF_KERNEL)
        return records

    def _records(self, at: int, count: int) -> Iterator[bytes]:
        for _ in range(count):
            after, seconds, nanoseconds, kept, length, place = _PACKET.unpack_from(self._memory, at)
            data = self._memory[at + place : at + place + kept]
            while self._later_back_ns and self._written >= self._later_back_ns[0][0]:
                self._back_ns += self._later_back_ns.popleft()[1]
            at_ns = seconds * _NS + nanoseconds - self._back_ns
            yield pcapng.record(at_ns // _NS, at_ns % _NS, length, data)
            self._written += 1
            at += after
