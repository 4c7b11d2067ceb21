"""The progress of a sweep: runs and arms done, link time, the ratio of link time to real time, and the time left. Pure.

The time left is estimated beforehand (`estimate.py`). It is then corrected by a ratio: the time that the ended runs
took, divided by the time that was expected for them. At first the estimate has more weight, so that the first run
cannot change the time left too much. Later, recent runs have more weight, because the machine's load changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from priolab.common.formats.run import RunRecord
from priolab.experiments.sweep.estimate import duration

_TRUST_S, _TRUST_RUNS = 10.0, 5
"""The weight of the first estimate: it counts like finished runs that took this many seconds, exactly as estimated; if
so many runs of the sweep take less time, their time is the weight."""

_LEAST_S = 0.01
_HALF_LIFE_S = 60.0
"""A finished run counts half as much after each job has done this many further seconds of expected work."""


def link_s(run: RunRecord) -> float:
    """Returns the link time of a run's page loads, in seconds."""
    return sum(load.complete_ms for load in run.loads) / 1000


class Tally:
    """The count of a sweep's runs and arms. The time to count one run does not depend on the number of all runs.

    arms: the arm of each run, by the run's name. estimates_s: the estimated wall time of each run, by the run's name.
    start_s: the estimated wall time of the start of a guest. starts: the number of guests that start with the sweep.
    estimates_s includes the starts of the other guests.
    """

    def __init__(
        self,
        *,
        arms: Mapping[str, str],
        estimates_s: Mapping[str, float],
        start_s: float,
        starts: int,
        side_by_side: int,
        now_s: float,
    ) -> None:
        self._arms = arms
        self._left = dict(estimates_s)
        self._left_s = sum(estimates_s.values())
        self._runs_of = Counter(arms.values())
        self._all_arms = len(self._runs_of)
        self._side_by_side = side_by_side
        self._start_s = start_s
        self._starts = starts
        self._began_s = now_s
        mean_s = self._left_s / max(1, len(self._left))
        self._should_s = self._took_s = max(_LEAST_S, min(_TRUST_S, _TRUST_RUNS * mean_s))
        self._link_s = 0.0
        self.statuses: Counter[str] = Counter()

    def begin(self, now_s: float, done: Iterable[str]) -> None:
        """Starts the clock. Called when the first run starts. done: the runs that an earlier process completed."""
        self._began_s = now_s
        for name in done:
            self._over(name)

    def ended(self, name: str, run: RunRecord) -> None:
        """Counts a run that has ended. Only an ok run corrects the time left, because a failed run may have hung."""
        should_s = self._over(name)
        if self._starts:  # the first runs to end are the first runs of their guests
            self._starts -= 1
            should_s += self._start_s
        if run.status == "ok":
            kept = 0.5 ** (should_s / self._side_by_side / _HALF_LIFE_S)
            self._should_s = self._should_s * kept + should_s
            self._took_s = self._took_s * kept + run.wall_s
        self._link_s += link_s(run)
        self.statuses[run.status] += 1

    def _over(self, name: str) -> float:
        """Removes a run from the runs left. Returns the run's estimated wall time."""
        should_s = self._left.pop(name)
        self._left_s -= should_s
        arm = self._arms[name]
        self._runs_of[arm] -= 1
        if not self._runs_of[arm]:
            del self._runs_of[arm]
        return should_s

    @property
    def runs_left(self) -> int:
        """The number of runs that have not ended."""
        return len(self._left)

    @property
    def runs_done(self) -> int:
        """The number of runs that have ended, with the runs of earlier processes."""
        return len(self._arms) - len(self._left)

    @property
    def arms_done(self) -> int:
        """The number of arms whose repetitions have all ended."""
        return self._all_arms - len(self._runs_of)

    @property
    def left_s(self) -> float:
        """The wall time left, in seconds."""
        should_s = max(0.0, self._left_s) + self._starts * self._start_s
        return self._took_s / self._should_s * should_s / self._side_by_side

    def line(self, now_s: float) -> str:
        """Returns the whole tally as one line of text."""
        words = f"{self.arms_done} of {self._all_arms} arms, {self.runs_done} of {len(self._arms)} runs"
        for status, count in list(self.statuses.items()):  # a copy, because another thread calls this
            words += f", {count} {status}" if status != "ok" else ""
        elapsed_s = now_s - self._began_s
        if self._link_s and elapsed_s > 0:
            words += f"; {duration(self._link_s)} of link time, {self._link_s / elapsed_s:.0f}x real time"
        return words + (f"; about {duration(self.left_s)} left" if self._left else f"; took {duration(elapsed_s)}")
