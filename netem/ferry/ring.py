"""The ferry's end of a loop: reads frames from a ring shared with the kernel, and writes frames back.

The ring is that of packet(7), TPACKET_V2.

Rules:
1. A frame comes with the time at which the kernel received it, on CLOCK_MONOTONIC and never decreasing. A stamp that is
   too old is replaced by the time of the read, as the clock was probably set meanwhile (common/arrival.py).
2. The ring is the only buffer between the loop and the ferry. Frames that do not fit are counted as drops. The ring may
   be larger than net.core.rmem_max, which limits the buffer of an ordinary socket in a user namespace.
3. Frames are whole IP packets with complete checksums; anything else means that the loop is not set up correctly.
"""

import errno
import mmap
import os
import socket
import struct
import time
from typing import Self

from priolab.common.arrival import believed_ns

FRAMES = 2048
"""The ring's capacity in frames: at 200 Mbit/s an eighth of a second of full-size packets."""

_FRAME_BYTES = 2048
_BLOCK_BYTES = 65536
_OLDEST_STAMP_NS = 50 * 10**6
_IPV4 = 0x0800  # ETH_P_IP; excludes outgoing packets of the device and messages of IPv6
_EVERY = 0x0003  # ETH_P_ALL
# <linux/if_packet.h>; the socket module has few of them.
_SOL_PACKET = 263
_PACKET_RX_RING = 5
_PACKET_STATISTICS = 6
_PACKET_VERSION = 10
_PACKET_QDISC_BYPASS = 20
_PACKET_IGNORE_OUTGOING = 23
_TPACKET_V2 = 1
_STATUS_KERNEL = 0
_STATUS_USER = 1 << 0
_STATUS_COPY = 1 << 1
_STATUS_CHECKSUM_NOT_READY = 1 << 3
_REQUEST = struct.Struct("@IIII")  # tpacket_req: block size, blocks, frame size, frames
_STATISTICS = struct.Struct("@II")  # tpacket_stats: packets, drops
_STATUS = struct.Struct("@I")
_HEADER = struct.Struct("@IIIHHII")  # tpacket2_hdr: status, length, captured, mac, net, seconds, nanoseconds


class NotSetUp(Exception):
    """The loop is not set up correctly; the text gives the reason."""


class Ring:
    """A packet ring that receives a device's frames. A context manager.

    Raises OSError if the device is missing or is removed later.
    """

    def __init__(self, device: str, *, ipv6: bool = False) -> None:
        """ipv6: True for frames of both families. The loop has no messages of IPv6's own."""
        self._device = device
        self._index = 0
        self._last_ns = 0
        self._drops = 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            self.socket.setsockopt(_SOL_PACKET, _PACKET_VERSION, _TPACKET_V2)
            self.socket.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
            blocks = FRAMES * _FRAME_BYTES // _BLOCK_BYTES
            request = _REQUEST.pack(_BLOCK_BYTES, blocks, _FRAME_BYTES, FRAMES)
            self.socket.setsockopt(_SOL_PACKET, _PACKET_RX_RING, request)
            self._memory = mmap.mmap(self.socket.fileno(), FRAMES * _FRAME_BYTES)
            try:
                if ipv6:
                    self.socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
                self.socket.bind((device, _EVERY if ipv6 else _IPV4))
            except OSError as error:
                self._memory.close()
                raise OSError(error.errno, error.strerror, device) from error
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()
        self.socket.close()

    def read(self, most: int) -> list[tuple[int, bytes]]:
        """Returns (arrival time, frame) of the frames in the ring, up to `most`. Raises NotSetUp."""
        memory, index = self._memory, self._index
        frames: list[tuple[int, bytes]] = []
        while len(frames) < most:
            offset = index * _FRAME_BYTES
            if not _STATUS.unpack_from(memory, offset)[0] & _STATUS_USER:
                break
            status, length, captured, mac, _, seconds, nanoseconds = _HEADER.unpack_from(memory, offset)
            if status & (_STATUS_COPY | _STATUS_CHECKSUM_NOT_READY) or captured < length:
                raise NotSetUp(
                    f"{self._device}: a packet of {length} bytes is too large or has no checksum;"
                    " turn transmit offload off"
                )
            frames.append((seconds * 10**9 + nanoseconds, memory[offset + mac : offset + mac + length]))
            _STATUS.pack_into(memory, offset, _STATUS_KERNEL)
            index = (index + 1) % FRAMES
        self._index = index
        return self._on_monotonic_clock(frames) if frames else frames

    def write(self, frame: bytes) -> None:
        """Puts a frame back into the loop. A frame that the kernel has no room for counts as a drop. Raises OSError."""
        try:
            self.socket.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise OSError(error.errno, error.strerror, self._device) from error
            self._drops += 1

    def check(self) -> None:
        """Raises OSError if the device has been set down or removed since the last check."""
        number = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number), self._device)

    def drops(self) -> int:
        """Returns the number of frames lost between the kernel and the ferry since the ring was made."""
        raw = self.socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
        self._drops += _STATISTICS.unpack(raw)[1]  # the read resets the kernel's count to 0
        return self._drops

    def _on_monotonic_clock(self, frames: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        real_ns, now_ns = time.time_ns(), time.monotonic_ns()
        last_ns = self._last_ns
        converted = []
        for stamp_ns, frame in frames:
            last_ns = max(last_ns, believed_ns(stamp_ns, real_ns, now_ns, _OLDEST_STAMP_NS))
            converted.append((last_ns, frame))
        self._last_ns = last_ns
        return converted
