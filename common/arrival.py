"""Arrival times: when the kernel received a packet, on CLOCK_MONOTONIC.

Rules:
1. The kernel's stamps are CLOCK_REALTIME, which may be set. So the difference between the two clocks is measured at
   each read, by reading one clock right after the other.
2. A stamp that lies in the future, or is older than the caller's limit, is replaced by the time of the read.
"""

import socket
import struct
import time
from collections.abc import Iterable

_SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>; the socket module does not name it
_TIMESPEC = struct.Struct("@qq")

ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
"""Buffer size that recvmsg(2) needs for a stamp."""

Ancillary = Iterable[tuple[int, int, bytes]]


def stamp_arrivals(receiver: socket.socket) -> None:
    """Makes the kernel record the arrival time of every packet that this socket receives from now on."""
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def arrival_ns(ancillary: Ancillary, oldest_ns: int) -> int:
    """Returns the arrival time of the data that recvmsg(2) has just returned with this ancillary data.

    oldest_ns: the greatest age at which the kernel's stamp is used.
    """
    return arrival_and_age_ns(ancillary, oldest_ns)[0]


def arrival_and_age_ns(ancillary: Ancillary, oldest_ns: int) -> tuple[int, int | None]:
    """Returns the arrival time of the data that recvmsg(2) has just returned, and the age of the kernel's stamp.

    ancillary: the ancillary data of that call. oldest_ns: the greatest age at which the stamp is used; an older stamp
    is replaced by the present time, but its age is returned. The age is None without a stamp.
    """
    real_ns, now_ns = time.time_ns(), time.monotonic_ns()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            stamp_ns = seconds * 10**9 + nanoseconds
            return believed_ns(stamp_ns, real_ns, now_ns, oldest_ns), real_ns - stamp_ns
    return now_ns, None


def believed_ns(stamp_ns: int, real_ns: int, now_ns: int, oldest_ns: int) -> int:
    """Converts a stamp of CLOCK_REALTIME to CLOCK_MONOTONIC.

    Returns now_ns if the stamp's age is not between 0 and oldest_ns. real_ns, now_ns: the present time by
    CLOCK_REALTIME and by CLOCK_MONOTONIC.
    """
    age_ns = real_ns - stamp_ns
    return now_ns - age_ns if 0 <= age_ns <= oldest_ns else now_ns
