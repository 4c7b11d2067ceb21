"""The caution of a tuner on a server in use: it never loosens a limit. Pure; caution.h has the same rules in C.

1. A value that a socket has and the tuner did not set is the server's own limit; 0 is none. The tuner never sets more.
2. If asked to, it also never sets more than the sysctl tcp_notsent_lowat of the socket's network namespace.
3. It leaves a socket alone if the new value is about the same as without the tuner.
4. It raises the value when two looks in a row ask for more, to the lesser of the two: soon, or the connection would run
   dry. It lowers the value when every look within `hold_ns` asks for less, to the largest of them. A rate that jumps
   for a single round trip, or dips for a few, changes nothing.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.formats.decisions import Why
from proxy.tuner.law import Choice, differs

if TYPE_CHECKING:  # the lab's tuners should not load modules they do not need
    from proxy.tuner.namespaces import Sysctls

HOLD_NS = 10**9


@dataclass(frozen=True, kw_only=True)
class Caution:
    """The settings of an operator's tuner; the lab's tuners have none.

    claim: within its context no other tuner has the folder, that of the cgroup or of the process in /proc. sysctls:
    None turns rule 2 off.
    """

    claim: Callable[[Path], AbstractContextManager[None]]
    sysctls: "Sysctls | None"
    hold_ns: int = HOLD_NS


@dataclass(kw_only=True)
class Held:
    """The state of a connection.

    own_bytes: the server's limit, 0 for none. lowat_bytes: the value that the tuner set, 0 for none. low_ns: the time
    since when less is wanted, 0 if it is not; low_bytes: the most that was wanted since. last_bytes: the value that the
    last look wanted.
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
        """Takes the socket's value for the server's own limit if it is not the one the tuner left."""
        left_bytes = self.own_bytes if dry_run else self.has_bytes
        if has_bytes != left_bytes:
            self.own_bytes, self.lowat_bytes, self.low_ns = has_bytes, 0, 0

    def due(self, wanted_bytes: int, sysctl_bytes: int, now_ns: int, hold_ns: int) -> int:
        """The value to set now, 0 for none. wanted_bytes: must be within both limits."""
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
        """Records a value that was set, or would have been but for a dry run."""
        self.lowat_bytes, self.low_ns = lowat_bytes, 0


def bound(choice: Choice, own_bytes: int, sysctl_bytes: int) -> Choice:
    """Reduces the choice to the limits; a limit of 0 is none."""
    if 0 < sysctl_bytes < choice.lowat_bytes:
        choice = replace(choice, lowat_bytes=sysctl_bytes, why=Why.SYSCTL)
    if 0 < own_bytes < choice.lowat_bytes:
        choice = replace(choice, lowat_bytes=own_bytes, why=Why.SERVER)
    return choice
