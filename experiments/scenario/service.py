"""SERVICE: the time that a front's server needs for its work, which in the guest takes no time otherwise."""

from dataclasses import dataclass
from typing import Self

from priolab.common.amounts import plain
from priolab.netem import units

_PER_KB = "/KB"
_MOST_WAKE_NS, _MOST_KB_NS = 10**7, 10**6

ALLOWED = (
    f"a time up to {_MOST_WAKE_NS // 10**6}ms for each wake-up, a time up to {_MOST_KB_NS // 10**6}ms{_PER_KB}, or both"
    f" as in 20us+1us{_PER_KB}; or none"
)


@dataclass(frozen=True, kw_only=True)
class Service:
    """A server's service time: for each wake-up, and for each KB (1000 bytes) that its TCP accepts, in nanoseconds."""

    wake_ns: int
    kb_ns: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the value of a text such as `20us+1us/KB`, `20us` or `1us/KB`. Raises ValueError."""
        parts = text.split("+")
        times = {_PER_KB in part: units.parse_time_ns(part.removesuffix(_PER_KB)) for part in parts}
        wake_ns, kb_ns = times.get(False, 0), times.get(True, 0)
        if len(times) != len(parts) or wake_ns > _MOST_WAKE_NS or kb_ns > _MOST_KB_NS or not wake_ns + kb_ns:
            raise ValueError("twice the same, nothing, or too much")
        return cls(wake_ns=wake_ns, kb_ns=kb_ns)

    def __str__(self) -> str:
        times = ((self.wake_ns, ""), (self.kb_ns, _PER_KB))
        return "+".join(f"{plain(time_ns / 1000)}us{per}".replace(",", "") for time_ns, per in times if time_ns)
