"""The progress of a sweep: runs and arms done, link time, the ratio of link time to real time, and the time left. Pure.

The time left is estimated beforehand (`estimate.py`), and corrected by finished runs. At first the estimate has more
weight, so that the first run cannot change the time left too much.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from common.formats.run import RunRecord
from experiments.sweep.estimate import duration

_TRUST_S = 10.0
"""The weight of the estimate: that of this many seconds of finished runs whose time was as estimated."""


def link_s(run: RunRecord) -> float:
    """Returns the link time of a run's page loads, in seconds."""
    return sum(max(load.important_last_byte_ms, load.others_last_byte_ms) for load in run.loads) / 1000


class Tally:
    """The count of a sweep's runs and arms. To count a run takes a time that does not depend on the number of runs.

    arms: the arm of each run, by the run's name. estimates_s: the estimated wall time of each run, by the run's name.
    """

    def __init__(
        self, *, arms: Mapping[str, str], estimates_s: Mapping[str, float], side_by_side: int, now_s: float
    ) -> None:
        self._arms = arms
        self._left = dict(estimates_s)
        self._left_s = sum(estimates_s.values())
        self._runs_of = Counter(arms.values())
        self._all_arms = len(self._runs_of)
        self._side_by_side = side_by_side
        self._began_s = now_s
        self._here_s = 0.0
        self._link_s = 0.0
        self.statuses: Counter[str] = Counter()

    def begin(self, now_s: float, done: Iterable[str]) -> None:
        """Starts the clock. Called when the first run starts. done: the runs that an earlier process completed."""
        self._began_s = now_s
        for name in done:
            self._over(name)

    def ended(self, name: str, run: RunRecord) -> None:
        """Counts a run that has ended."""
        self._here_s += self._over(name)
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
        """The number of runs that have ended, including those that an earlier process completed."""
        return len(self._arms) - len(self._left)

    @property
    def arms_done(self) -> int:
        """The number of arms whose repetitions have all ended."""
        return self._all_arms - len(self._runs_of)

    def left_s(self, now_s: float) -> float:
        """Wall time left, in seconds."""
        should_s = self._here_s / self._side_by_side
        pace = (now_s - self._began_s + _TRUST_S) / (should_s + _TRUST_S) if self._here_s else 1.0
        return pace * max(0.0, self._left_s) / self._side_by_side

    def line(self, now_s: float) -> str:
        """The whole tally in one line."""
        words = f"{self.arms_done} of {self._all_arms} arms, {self.runs_done} of {len(self._arms)} runs"
        for status, count in list(self.statuses.items()):  # a copy, because another thread calls this
            words += f", {count} {status}" if status != "ok" else ""
        elapsed_s = now_s - self._began_s
        if self._link_s and elapsed_s > 0:
            words += f"; {duration(self._link_s)} of link time, {self._link_s / elapsed_s:.0f}x real time"
        return words + (f"; about {duration(self.left_s(now_s))} left" if self._left else f"; {duration(elapsed_s)}")
