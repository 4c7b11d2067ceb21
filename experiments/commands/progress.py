"""The progress of an experiment's or a sweep's runs: what is done, what is at work, the time left. Pure.

The rule for the time left:

1. A run whose loads have begun has as much left as its link time says, at the ratio of wall time to link time so far.
2. A run before that needs its cost (`execution/cost.py`) times the machine's slowness. Earlier sweeps tell the slowness
   (`execution/pace.py`), and runs that have ended correct it. At first the earlier sweeps have more weight, so that the
   first run cannot change the time left too much. Later, recent runs have more weight, because the machine's load
   changes.
3. A run that takes longer than that ends at an unknown time, and counts as if it ended now.
4. The jobs share the runs. The time left is at least that of each run at work.
5. If the slowness is unknown, a run before its loads has no time left, and neither has the whole.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from priolab.experiments.commands.run_state import WAITING, RunState

_TRUST_S, _TRUST_RUNS = 10.0, 5
"""The weight of the slowness known before: it counts like ended runs of this cost, in seconds; if so many runs cost
less, their cost is the weight."""

_LEAST_S = 0.01
_HALF_LIFE_S = 60.0
"""An ended run counts half as much after each job has done further runs of this cost, in seconds."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A run of an arm. cost_s: its expected cost. link_s: its expected link time. Both in seconds."""

    cost_s: float
    link_s: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """An arm or a run at a moment. phase: of its present run; the arm's status after its last run.

    number, of: the runs begun so far, and all runs of the arm. link_s: link time of the present run; None if
    unknown or waiting. wall_s: wall time of the run; None before it. left_s: None if unknown.
    """

    name: str
    phase: str
    number: int = 1
    of: int = 1
    is_over: bool = False
    link_s: float | None = None
    wall_s: float | None = None
    left_s: float | None = None


@dataclass(kw_only=True)
class _Arm:
    """The runs of an arm. bad: the status of the first run that ended and is not ok. wall_s: that of the last run."""

    of: int
    over: int = 0
    bad: str | None = None
    wall_s: float = 0.0


@dataclass(kw_only=True)
class Work:
    """The progress of runs; its methods are called when something happens, at the time `now_s`.

    The time to note something does not depend on the number of all runs.

    arms: the run of each arm. runs: the arm of each run, by the run's name. slowness: wall time of a run divided by its
    cost; None if unknown. start_s: the cost of the start of a guest, 0 without guests. starts: the number of guests
    that start at first. link_clock: returns the link time of a run's folder so far, in seconds (`link_clock.py`).

    statuses: how many runs ended with each status. link_s: the link time of the ended runs. arms_done: the number of
    arms whose runs are all complete. aside: what the lab does besides runs, such as preparations; empty if nothing.
    """

    arms: Mapping[str, Planned]
    runs: Mapping[str, str]
    side_by_side: int
    slowness: float | None
    start_s: float = 0.0
    starts: int = 0
    link_clock: Callable[[Path], float | None]
    statuses: Counter[str] = field(default_factory=Counter)
    link_s: float = 0.0
    arms_done: int = 0
    aside: str = "preparing"

    def __post_init__(self) -> None:
        self._arms = {arm: _Arm(of=count) for arm, count in Counter(self.runs.values()).items()}
        self._waiting = set(self.runs)
        self._waiting_s = sum(self.arms[arm].cost_s * each.of for arm, each in self._arms.items())
        self._at_work: dict[str, RunState] = {}
        self._should_s = self._took_s = 0.0
        if self.slowness is not None:
            self._should_s = max(_LEAST_S, min(_TRUST_S, _TRUST_RUNS * self._waiting_s / max(1, len(self.runs))))
            self._took_s = self.slowness * self._should_s

    def done_before(self, names: Iterable[str]) -> None:
        """Notes the runs that an earlier process completed."""
        for name in names:
            self._waiting.remove(name)
            self._waiting_s -= self.arms[self.runs[name]].cost_s
            self._over(self._arms[self.runs[name]])

    def begun(self, name: str, folder: Path, now_s: float) -> None:
        """Notes that a run has begun in this folder. Ignores a run that is not planned."""
        self.aside = ""
        if run := self._run(name):
            run.begun("starting the guest" if self.start_s else "starting", folder, now_s)

    def step(self, name: str, text: str, now_s: float) -> None:
        """Notes a step of a run, or of the lab if no run has this name."""
        if run := self._run(name):
            run.step(text, now_s)
        elif name not in self.runs:
            self.aside = f"{name}: {text}"

    def carried_out(self, name: str) -> None:
        """Notes that a run has ended, and that its files are evaluated now."""
        if run := self._run(name):
            run.carried_out()

    def ended(self, name: str, status: str, now_s: float, *, wall_s: float | None = None, link_s: float = 0.0) -> None:
        """Notes that a run is complete. Only an ok run corrects the slowness, because a failed run may have hung.

        wall_s, link_s: the run's wall time and link time, if its record has them.
        """
        if not (run := self._run(name)):
            return
        wall_s = run.wall_s(now_s) if wall_s is None else wall_s
        if status == "ok":
            kept = 0.5 ** (run.cost_s / self.side_by_side / _HALF_LIFE_S)
            self._should_s = self._should_s * kept + run.cost_s
            self._took_s = self._took_s * kept + wall_s
        arm = self._arms[self.runs[name]]
        self._over(arm)
        arm.wall_s = wall_s
        arm.bad = arm.bad or (status if status != "ok" else None)
        self.statuses[status] += 1
        self.link_s += link_s
        del self._at_work[name]

    def _over(self, arm: _Arm) -> None:
        arm.over += 1
        self.arms_done += arm.over == arm.of

    def _run(self, name: str) -> RunState | None:
        """Returns the state of a run that has begun, perhaps just now; None if the run is complete or not planned."""
        if name in self._waiting:
            planned = self.arms[self.runs[name]]
            cost_s = planned.cost_s + (self.start_s if self.starts else 0.0)  # the first runs wait for their guests
            self.starts = max(0, self.starts - 1)
            self._waiting.remove(name)
            self._waiting_s -= planned.cost_s
            self._at_work[name] = RunState(cost_s=cost_s, link_s=planned.link_s)
        return self._at_work.get(name)

    @property
    def runs_left(self) -> int:
        """The number of runs that are not complete."""
        return len(self._waiting) + len(self._at_work)

    @property
    def runs_done(self) -> int:
        """The number of complete runs, with the runs of earlier processes."""
        return len(self.runs) - self.runs_left

    def left_s(self, now_s: float) -> float | None:
        """Returns the wall time left, in seconds; None if it is unknown."""
        lefts_s = [self._left_s(run, self._link_s(run), now_s) for run in list(self._at_work.values())]
        slowness = self._slowness
        if slowness is None and (self._waiting or None in lefts_s):
            return None
        at_work_s = [left_s or 0.0 for left_s in lefts_s]
        waiting_s = (slowness or 0.0) * (max(0.0, self._waiting_s) + self.starts * self.start_s)
        return max((waiting_s + sum(at_work_s)) / self.side_by_side, *at_work_s, 0.0) or None

    def of_arms(self, now_s: float) -> list[Row]:
        """Returns each arm as it is now, with its run at work."""
        present = {self.runs[name]: run for name, run in reversed(list(self._at_work.items()))}
        return [self._arm_row(name, arm, present.get(name), now_s) for name, arm in self._arms.items()]

    def at_work(self, now_s: float) -> list[Row]:
        """Returns each run at work as it is now."""
        return [self._row(name, run, now_s) for name, run in list(self._at_work.items())]

    def _arm_row(self, name: str, arm: _Arm, run: RunState | None, now_s: float) -> Row:
        if run:
            return self._row(name, run, now_s, number=arm.over + 1, of=arm.of)
        if arm.over < arm.of:
            return Row(name=name, phase=WAITING, number=max(1, arm.over), of=arm.of)
        return Row(name=name, phase=arm.bad or "ok", number=arm.of, of=arm.of, is_over=True, wall_s=arm.wall_s)

    def _row(self, name: str, run: RunState, now_s: float, *, number: int = 1, of: int = 1) -> Row:
        link_s = self._link_s(run)
        left_s = None if run.loads_are_over else self._left_s(run, link_s, now_s)
        wall_s = run.wall_s(now_s)
        return Row(name=name, phase=run.phase, number=number, of=of, link_s=link_s, wall_s=wall_s, left_s=left_s)

    def _link_s(self, run: RunState) -> float | None:
        return self.link_clock(run.folder) if run.is_loading and run.folder else None

    def _left_s(self, run: RunState, link_s: float | None, now_s: float) -> float | None:
        """Returns the time left of a run at work; None if it is unknown, or if the run takes longer than expected."""
        if run.loads_are_over:
            return 0.0
        if (left_s := run.loads_left_s(link_s, now_s)) is not None:
            return left_s
        slowness = self._slowness
        left_s = 0.0 if slowness is None else slowness * run.cost_s - run.wall_s(now_s)
        return left_s if left_s > 0 else None

    @property
    def _slowness(self) -> float | None:
        return self._took_s / self._should_s if self._should_s else None
