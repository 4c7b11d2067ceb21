"""When the kernel received something, on CLOCK_MONOTONIC.

Rules:
1. The kernel stamps with CLOCK_REALTIME, which somebody may set; the difference to CLOCK_MONOTONIC is taken at each
   read, and the two clocks are read one right after the other.
2. A stamp from the future, or older than its reader can explain, is not believed: then the time of the read stands.
"""

import socket
import struct
import time
from collections.abc import Iterable

_SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>; the socket module does not name it
_TIMESPEC = struct.Struct("@qq")

ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
"""Room that recvmsg(2) needs for a stamp."""

Ancillary = Iterable[tuple[int, int, bytes]]


def stamp_arrivals(receiver: socket.socket) -> None:
    """From now on the kernel says of what this socket receives when it came."""
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def arrival_ns(ancillary: Ancillary, oldest_ns: int) -> int:
    """When it came what recvmsg(2) has just given, with this ancillary data. oldest_ns: see `believed_ns`."""
    return arrival_and_age_ns(ancillary, oldest_ns)[0]


def arrival_and_age_ns(ancillary: Ancillary, oldest_ns: int) -> tuple[int, int | None]:
    """The same, and how old the stamp was when it was read, believed or not; None without a stamp."""
    real_ns, now_ns = time.time_ns(), time.monotonic_ns()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            stamp_ns = seconds * 10**9 + nanoseconds
            return believed_ns(stamp_ns, real_ns, now_ns, oldest_ns), real_ns - stamp_ns
    return now_ns, None


def believed_ns(stamp_ns: int, real_ns: int, now_ns: int, oldest_ns: int) -> int:
    """A stamp of CLOCK_REALTIME as a time of CLOCK_MONOTONIC, or now where it is not between 0 and oldest_ns old.

    real_ns, now_ns: the two clocks, read just now.
    """
    age_ns = real_ns - stamp_ns
    return now_ns - age_ns if 0 <= age_ns <= oldest_ns else now_ns
