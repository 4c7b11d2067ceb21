"""The rules of a cautious tuner in Python, with which tests compare caution.h. caution.h explains the rules."""

from dataclasses import dataclass

from priolab.common.formats.decisions import Why
from tests.support.tuner.law import Choice, differs

HOLD_NS = 10**9


@dataclass(kw_only=True)
class Held:
    """`struct held`."""

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
        """Note the socket's value has_bytes: if the tuner did not set this value, it is the server's own limit."""
        left_bytes = self.own_bytes if dry_run else self.has_bytes
        if has_bytes != left_bytes:
            self.own_bytes, self.lowat_bytes, self.low_ns = has_bytes, 0, 0

    def due(self, wanted_bytes: int, sysctl_bytes: int, now_ns: int, hold_ns: int) -> int:
        """Return the value to set now; 0 to set no value."""
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
        """Record a value that was set, or would have been set if this were no dry run."""
        self.lowat_bytes, self.low_ns = lowat_bytes, 0


def bound(choice: Choice, own_bytes: int, sysctl_bytes: int) -> Choice:
    """Return the law's choice, reduced to the server's own limit and to the sysctl. For both, 0 means no limit."""
    if 0 < sysctl_bytes < choice.lowat_bytes:
        choice = choice._replace(lowat_bytes=sysctl_bytes, why=Why.SYSCTL)
    if 0 < own_bytes < choice.lowat_bytes:
        choice = choice._replace(lowat_bytes=own_bytes, why=Why.SERVER)
    return choice
