"""Estimates: times that are known within bounds. Pure.

A count that is sampled reaches a position between two samples. So the instant, and each wait that begins or ends with
it, is known only within bounds. Causality may narrow the bounds: no effect comes before its cause.
"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An instant or a wait, in nanoseconds: at least least_ns, at most most_ns, and probably ns."""

    ns: int
    least_ns: int
    most_ns: int

    @classmethod
    def exact(cls, ns: int) -> Self:
        """Returns an estimate without uncertainty."""
        return cls(ns=ns, least_ns=ns, most_ns=ns)

    @classmethod
    def between(cls, least_ns: int, most_ns: int) -> Self:
        """Returns the middle of two bounds. If they contradict each other, most_ns counts."""
        least_ns = min(least_ns, most_ns)
        return cls(ns=(least_ns + most_ns) // 2, least_ns=least_ns, most_ns=most_ns)

    @property
    def uncertainty_ns(self) -> int:
        """The largest possible error of ns."""
        return max(self.ns - self.least_ns, self.most_ns - self.ns)

    def clipped(self, least_ns: int, most_ns: int) -> Self:
        """Returns the estimate inside further bounds."""

        def inside(ns: int) -> int:
            return min(max(ns, least_ns), most_ns)

        return type(self)(ns=inside(self.ns), least_ns=inside(self.least_ns), most_ns=inside(self.most_ns))

    def since(self, earlier: "Estimate") -> "Estimate":
        """Returns the wait from an earlier instant to this one; never negative."""
        return Estimate(
            ns=max(0, self.ns - earlier.ns),
            least_ns=max(0, self.least_ns - earlier.most_ns),
            most_ns=max(0, self.most_ns - earlier.least_ns),
        )

    def plus(self, wait: "Estimate") -> "Estimate":
        """Returns the estimate of a sum."""
        return Estimate(
            ns=self.ns + wait.ns, least_ns=self.least_ns + wait.least_ns, most_ns=self.most_ns + wait.most_ns
        )
