"""The rules of a cautious tuner, for servers in use: the tuner never exceeds a limit of the server or the system. Pure.

caution.h has the same rules in C.

1. If a socket has a value of TCP_NOTSENT_LOWAT that the tuner did not set, the value is the server's own limit; 0 means
   no limit. The tuner never sets a larger value than the server's own limit.
2. If the settings say so, the tuner never exceeds the sysctl tcp_notsent_lowat of the socket's network namespace.
3. The tuner does not change a socket if the new value is about the same as the value without the tuner.
4. The law computes a wanted value from each sample. The tuner raises the socket's value when the wanted values of two
   samples in a row are larger, to the smaller of the two wanted values. The tuner must not wait longer, or the
   connection could run out of data. The tuner lowers the socket's value when all wanted values within `hold_ns` are
   smaller, to the largest of them. So a rate that rises for a single round trip, or falls for a few, changes nothing.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from priolab.common.formats.decisions import Why
from priolab.proxy.tuner.law import Choice, differs

if TYPE_CHECKING:  # tuners of LOWAT=auto should not load modules that they do not need
    from priolab.proxy.tuner.namespaces import Sysctls

HOLD_NS = 10**9


@dataclass(frozen=True, kw_only=True)
class Caution:
    """The settings of a cautious tuner. `priolab tune` uses them; tuners of LOWAT=auto do not.

    claim: returns a context in which no other tuner works on a cgroup or a process. The argument is the folder of the
    cgroup, or of the process in /proc. sysctls: reads the sysctl that the tuner never exceeds (rule 2); None if the
    sysctl is no limit. hold_ns: the time for which wanted values must be smaller before the tuner lowers the socket's
    value (rule 4).
    """

    claim: Callable[[Path], AbstractContextManager[None]]
    sysctls: "Sysctls | None"
    hold_ns: int = HOLD_NS


@dataclass(kw_only=True)
class Held:
    """The state that the tuner keeps for a connection.

    own_bytes: the TCP_NOTSENT_LOWAT that the server itself set; 0 if it set none. lowat_bytes: the value that the tuner
    set; 0 if it set no value. low_ns: the time since which all wanted values have been below lowat_bytes; 0 if the last
    wanted value was not below it. low_bytes: the largest wanted value since low_ns. last_bytes: the wanted value of the
    last sample.
    """

    own_bytes: int = 0
    lowat_bytes: int = 0
    low_ns: int = 0
    low_bytes: int = 0
    last_bytes: int = 0

    @property
    def has_bytes(self) -> int:
        """The socket's TCP_NOTSENT_LOWAT; 0 if it is not set. In a dry run, the value that the tuner would have set."""
        return self.lowat_bytes or self.own_bytes

    def notice(self, has_bytes: int, *, dry_run: bool) -> None:
        """Notes the socket's value has_bytes: if the tuner did not set this value, it is the server's own limit."""
        left_bytes = self.own_bytes if dry_run else self.has_bytes
        if has_bytes != left_bytes:
            self.own_bytes, self.lowat_bytes, self.low_ns = has_bytes, 0, 0

    def due(self, wanted_bytes: int, sysctl_bytes: int, now_ns: int, hold_ns: int) -> int:
        """Returns the value to set now; 0 to set no value.

        wanted_bytes: the wanted value of the sample, already reduced to the limits. sysctl_bytes: the sysctl; 0 if the
        sysctl is no limit. now_ns: the present time. hold_ns: the time for which wanted values must be smaller before
        the tuner lowers the socket's value (rule 4).
        """
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
        """Records a value that was set, or would have been set if this were no dry run."""
        self.lowat_bytes, self.low_ns = lowat_bytes, 0


def bound(choice: Choice, own_bytes: int, sysctl_bytes: int) -> Choice:
    """Returns the law's choice, reduced to the server's own limit and to the sysctl. For both, 0 means no limit."""
    if 0 < sysctl_bytes < choice.lowat_bytes:
        choice = replace(choice, lowat_bytes=sysctl_bytes, why=Why.SYSCTL)
    if 0 < own_bytes < choice.lowat_bytes:
        choice = replace(choice, lowat_bytes=own_bytes, why=Why.SERVER)
    return choice
