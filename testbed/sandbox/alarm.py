"""A time at which a selector wakes this process, to the nanosecond; its own time-outs are whole milliseconds."""

import ctypes
import os
from typing import Self

from priolab.testbed.guest.guest_start import check, libc

_CLOCK_MONOTONIC, _ABSOLUTE = 1, 1  # <time.h>, <sys/timerfd.h>
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_SECOND_NS = 10**9


class Alarm:
    """An alarm, a descriptor that a selector can wait for. A context manager."""

    def __init__(self) -> None:
        """Makes it, without a time. Raises OSError."""
        self._descriptor = libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS)
        check(min(self._descriptor, 0), "making a timer")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def fileno(self) -> int:
        """Returns the descriptor."""
        return int(self._descriptor)

    def set(self, at_ns: int) -> None:
        """Sets the time, of CLOCK_MONOTONIC. Raises OSError."""
        spec = (ctypes.c_long * 4)(0, 0, *divmod(at_ns, _SECOND_NS))  # struct itimerspec: an interval, and a time
        check(libc.timerfd_settime(self._descriptor, _ABSOLUTE, spec, None), "setting a timer")

    def clear(self) -> None:
        """Makes the descriptor unreadable until the next time."""
        os.read(self._descriptor, 8)
