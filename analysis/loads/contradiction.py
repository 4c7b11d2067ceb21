"""A contradiction between the logs of a run, or between its logs and its scenario; and what is none. Pure."""

from dataclasses import dataclass

_MS = 10**6
_LATE = 5


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The tolerances of the checks. A difference up to a tolerance is no contradiction.

    rate: the largest accepted deviation of the rate at which bytes arrive, as a fraction of the link's rate.
    moment_ns: the largest error if a time of one log is compared with a time of another log. late_ns: the time by which
    a busy machine may record an event late. is_exact: True if no machine is ever late, because the clock stands still
    while programs and kernel work.
    """

    rate: float
    moment_ns: int
    late_ns: int
    is_exact: bool = False

    @property
    def too_late_ns(self) -> int:
        """The longest delay that a busy machine can explain. A longer delay contradicts the scenario."""
        return _LATE * self.late_ns

    @property
    def program_ns(self) -> int:
        """The longest time that a program may need for what takes no time by the scenario."""
        return self.late_ns if self.is_exact else self.too_late_ns

    @property
    def on_the_way_ns(self) -> int:
        """The longest time by which a packet may be late on the link."""
        return self.moment_ns if self.is_exact else self.too_late_ns


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """A contradiction in words. what: the quantity. asked: its expected value. seen: its observed value."""

    what: str
    asked: str
    seen: str


def in_ms(time_ns: int) -> str:
    """Returns a time in nanoseconds as a text in milliseconds."""
    return f"{time_ns / _MS:.1f} ms"
