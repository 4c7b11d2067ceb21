"""The progress of an experiment's arms: the phase of each run, its times, and the time left. Pure: times are arguments.

The time left is shown only where something is known:

1. A run whose loads have begun has as much left as its link time says, at the ratio of wall time to link time so far.
2. A run before that needs what its cost says (`execution/cost.py`), at the pace of this experiment's finished runs, or,
   if there are none, of earlier sweeps (`execution/pace.py`). On a real clock the cost is wall time.
3. If nothing is known of a run, neither its time left nor that of the experiment is shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from priolab.experiments.commands.run_state import WAITING, RunState


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A run that is to be carried out. cost_s: its expected cost; link_s: its expected link time; both in seconds."""

    name: str
    arm: str
    cost_s: float
    link_s: float


@dataclass(frozen=True, kw_only=True)
class ArmView:
    """An arm at a moment. phase: of its present run; the arm's status after its last run.

    number, of: the runs begun so far, and all runs of the arm. link_s: link time of the present run; None if
    unknown or waiting. wall_s: wall time of the run; None before it. left_s: None if unknown.
    """

    name: str
    number: int
    of: int
    phase: str
    is_over: bool = False
    link_s: float | None = None
    wall_s: float | None = None
    left_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class View:
    """The experiment at a moment. aside: what the lab does besides runs, such as preparations; empty if nothing."""

    arms: Sequence[ArmView]
    done: int
    of: int
    aside: str
    left_s: float | None


@dataclass(kw_only=True)
class _Run(RunState):
    planned: Planned


@dataclass(kw_only=True)
class ArmsAtWork:
    """The progress of an experiment; its methods are called when something happens, at the time `now_s`. They
    ignore runs that are not planned.

    runs: in the order in which they begin. starting: the phase of a run before its first step. pace: wall time of a run
    divided by its cost; None if unknown. link_clock: returns the link time of a run's folder so far, in seconds
    (`link_clock.py`).
    """

    runs: Sequence[Planned]
    side_by_side: int
    starting: str
    pace: float | None
    link_clock: Callable[[Path], float | None]
    _runs: dict[str, _Run] = field(init=False)
    _aside: str = "preparing"

    def __post_init__(self) -> None:
        self._runs = {planned.name: _Run(planned=planned, link_s=planned.link_s) for planned in self.runs}

    def begun(self, name: str, folder: Path, now_s: float) -> None:
        """Notes that a run has begun in this folder."""
        self._aside = ""
        if run := self._runs.get(name):
            run.begun(self.starting, folder, now_s)

    def step(self, name: str, text: str, now_s: float) -> None:
        """Notes a step of a run, or of the lab if no run has this name."""
        if run := self._runs.get(name):
            run.step(text, now_s)
        else:
            self._aside = f"{name}: {text}"

    def carried_out(self, name: str) -> None:
        """Notes that a run has ended, and that its files are evaluated now."""
        if run := self._runs.get(name):
            run.carried_out()

    def ended(self, name: str, status: str, now_s: float) -> None:
        """Notes the status of a run that is complete."""
        if run := self._runs.get(name):
            run.ended(status, now_s)

    def view(self, now_s: float) -> View:
        """Returns the experiment as it is now."""
        arms: dict[str, list[_Run]] = {}
        for run in self._runs.values():
            arms.setdefault(run.planned.arm, []).append(run)
        links_s = {name: self._link_s(run) for name, run in self._runs.items()}
        lefts_s = {name: self._left_s(run, links_s[name], now_s) for name, run in self._runs.items()}
        return View(
            arms=[self._arm(runs, links_s, lefts_s, now_s) for runs in arms.values()],
            done=sum(run.status is not None for run in self._runs.values()),
            of=len(self._runs),
            aside=self._aside,
            left_s=self._all_left_s(lefts_s),
        )

    def _arm(
        self, runs: Sequence[_Run], links_s: dict[str, float | None], lefts_s: dict[str, float | None], now_s: float
    ) -> ArmView:
        present = [run for run in runs if run.began_s is not None and run.status is None]
        done = [run for run in runs if run.status]
        run = (present or done[-1:] or runs)[0]
        name, is_over = run.planned.name, len(done) == len(runs)
        is_shown = bool(present) or is_over
        return ArmView(
            name=run.planned.arm,
            number=max(1, len(done) + bool(present)),
            of=len(runs),
            phase=_worst(runs) if is_over else run.phase if run.status is None else WAITING,
            is_over=is_over,
            link_s=links_s[name],
            wall_s=run.wall_s(now_s) if is_shown else None,
            left_s=lefts_s[name] if present and not run.loads_are_over else None,
        )

    def _link_s(self, run: _Run) -> float | None:
        return self.link_clock(run.folder) if run.is_loading and run.folder else None

    def _left_s(self, run: _Run, link_s: float | None, now_s: float) -> float | None:
        if run.status or run.loads_are_over:
            return 0.0
        if (left_s := run.loads_left_s(link_s, now_s)) is not None:
            return left_s
        pace = self._measured_pace(now_s) or self.pace
        if pace is None:
            return None
        left_s = pace * run.planned.cost_s - run.wall_s(now_s)
        return left_s if left_s > 0 else None

    def _measured_pace(self, now_s: float) -> float | None:
        good = [run for run in self._runs.values() if run.status == "ok"]
        cost_s = sum(run.planned.cost_s for run in good)
        return sum(run.wall_s(now_s) for run in good) / cost_s if cost_s else None

    def _all_left_s(self, lefts_s: dict[str, float | None]) -> float | None:
        known = [left_s for left_s in lefts_s.values() if left_s is not None]
        if len(known) < len(lefts_s):
            return None
        return max(sum(known) / self.side_by_side, *known, 0.0) or None


def _worst(runs: Sequence[_Run]) -> str:
    """Returns the status of an arm whose runs are all complete: `ok`, or that of its first run that is not ok."""
    return next((run.status for run in runs if run.status not in (None, "ok")), "ok") or "ok"
