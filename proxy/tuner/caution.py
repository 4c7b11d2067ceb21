"""The caution of a tuner beside a server in use: it never loosens a limit. Pure; caution.h says the same to the kernel.

1. What a socket has and the tuner did not set, the server set: its own limit. 0 is none. The tuner never sets more.
2. Nor does it set more than the sysctl tcp_notsent_lowat of the socket's network namespace, if that is asked for.
3. A socket that would be given what it has without the tuner, or nearly, is left alone.
4. More is given when two looks in a row want it, and then the lesser of the two: soon, lest the connection run dry.
   Less is given when every look in `hold_ns` has wanted it, and then the most that one of them did. A rate that jumps
   for a round trip, or dips for some, changes nothing.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.formats.decisions import Why
from proxy.tuner.law import Choice, differs

if TYPE_CHECKING:  # the lab's tuners load no more than they need
    from proxy.tuner.namespaces import Sysctls

HOLD_NS = 10**9


@dataclass(frozen=True, kw_only=True)
class Caution:
    """For the operator's tuners; the lab's have none.

    claim: within, no other tuner has the folder of the cgroup, or that of the process in /proc. sysctls: None where
    rule 2 is not asked for.
    """

    claim: Callable[[Path], AbstractContextManager[None]]
    sysctls: "Sysctls | None"
    hold_ns: int = HOLD_NS


@dataclass(kw_only=True)
class Held:
    """State of one connection.

    own_bytes: the server's limit, 0 for none. lowat_bytes: what the tuner set, 0 for nothing. low_ns: since when less
    is wanted, 0 if it is not; low_bytes: the most that was wanted since. last_bytes: what the last look wanted.
    """

    own_bytes: int = 0
    lowat_bytes: int = 0
    low_ns: int = 0
    low_bytes: int = 0
    last_bytes: int = 0

    @property
    def has_bytes(self) -> int:
        """The socket's value, 0 if it has none."""
        return self.lowat_bytes or self.own_bytes

    def notice(self, has_bytes: int, *, dry_run: bool) -> None:
        """Take the socket's value for the server's if it is not what the tuner left."""
        left_bytes = self.own_bytes if dry_run else self.has_bytes
        if has_bytes != left_bytes:
            self.own_bytes, self.lowat_bytes, self.low_ns = has_bytes, 0, 0

    def due(self, wanted_bytes: int, sysctl_bytes: int, now_ns: int, hold_ns: int) -> int:
        """The value to set now, 0 for none. wanted_bytes: within both limits."""
        twice_bytes, self.last_bytes = min(self.last_bytes, wanted_bytes), wanted_bytes
        without_bytes = self.own_bytes or sysctl_bytes
        if self.lowat_bytes == 0:
            return wanted_bytes if without_bytes == 0 or differs(without_bytes, wanted_bytes) else 0
        if 0 < sysctl_bytes < self.lowat_bytes:
            return wanted_bytes
        if wanted_bytes >= self.lowat_bytes or not differs(self.lowat_bytes, wanted_bytes):
            self.low_ns = 0
            return twice_bytes if twice_bytes > self.lowat_bytes and differs(self.lowat_bytes, twice_bytes) else 0
        if self.low_ns == 0:
            self.low_ns, self.low_bytes = now_ns, wanted_bytes
        self.low_bytes = max(self.low_bytes, wanted_bytes)
        return self.low_bytes if now_ns - self.low_ns >= hold_ns else 0

    def was_set(self, lowat_bytes: int) -> None:
        """The socket has it now, or would have it but for a dry run."""
        self.lowat_bytes, self.low_ns = lowat_bytes, 0


def bound(choice: Choice, own_bytes: int, sysctl_bytes: int) -> Choice:
    """The choice within the limits; 0 is none."""
    if 0 < sysctl_bytes < choice.lowat_bytes:
        choice = replace(choice, lowat_bytes=sysctl_bytes, why=Why.SYSCTL)
    if 0 < own_bytes < choice.lowat_bytes:
        choice = replace(choice, lowat_bytes=own_bytes, why=Why.SERVER)
    return choice
