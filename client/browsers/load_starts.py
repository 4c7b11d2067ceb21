"""Reports the beginning of each load of a browser."""

from collections.abc import Callable

from priolab.common.formats.plan import Plan


class Beginnings:
    """Reports each load once, at its first request of a document; later such requests belong to the same load.

    began: called with a load's number and the time at which the load began (CLOCK_MONOTONIC in nanoseconds).
    """

    def __init__(self, plan: Plan, began: Callable[[int, int], None]) -> None:
        self._plan = plan
        self._began = began
        self._number = 0
        self._told = 0

    def expect(self, number: int) -> None:
        """Prints that a load is about to begin. number: the load's, from 1."""
        print(f"@ load {number} of {self._plan.loads}", flush=True)
        self._number = number

    def requested(self, t_ns: int) -> None:
        """Notes that the browser requested a document at this time. Before the first load this is ignored."""
        if self._told < self._number:
            self._told = self._number
            self._began(self._number, t_ns)
