"""The runs of a sweep that are at work, as lines for a terminal. Pure: times are arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from priolab.experiments.commands.arms_at_work import ArmView
from priolab.experiments.commands.live_lines import Line, rows
from priolab.experiments.commands.run_state import RunState

_MOST = 16
"""The largest number of lines."""


@dataclass(kw_only=True)
class RunsAtWork:
    """The runs that have begun and are not complete. Its methods are called when something happens, at `now_s`.

    links_s: the expected link time of each arm's run, in seconds. starting, link_clock: see ArmsAtWork.
    """

    links_s: Mapping[str, float]
    starting: str
    link_clock: Callable[[Path], float | None]
    _runs: dict[str, RunState] = field(default_factory=dict)

    def begun(self, name: str, folder: Path, now_s: float) -> None:
        """Notes that a run has begun in this folder."""
        run = self._runs[name] = RunState(link_s=self.links_s[name.rpartition(".")[0]])
        run.begun(self.starting, folder, now_s)

    def step(self, name: str, text: str, now_s: float) -> None:
        """Notes a step of a run."""
        if run := self._runs.get(name):
            run.step(text, now_s)

    def carried_out(self, name: str) -> None:
        """Notes that a run has ended, and that its files are evaluated now."""
        if run := self._runs.get(name):
            run.carried_out()

    def ended(self, name: str) -> None:
        """Forgets a run, which is complete."""
        self._runs.pop(name, None)

    def lines(self, now_s: float, width: int) -> Sequence[Line]:
        """Returns a heading and a line for each run at work; nothing if no run is."""
        arms = [self._line(name, run, now_s) for name, run in list(self._runs.items())]
        return rows(arms, width=width, height=_MOST) if arms else []

    def _line(self, name: str, run: RunState, now_s: float) -> ArmView:
        link_s = self.link_clock(run.folder) if run.is_loading and run.folder else None
        return ArmView(
            name=name,
            number=1,
            of=1,
            phase=run.phase,
            link_s=link_s,
            wall_s=run.wall_s(now_s),
            left_s=run.loads_left_s(link_s, now_s) if run.is_loading else None,
        )
