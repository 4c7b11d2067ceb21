"""The state of a run that a terminal shows: its phase, its times, and the time left. Pure: times are arguments."""

import re
from dataclasses import dataclass
from pathlib import Path

EVALUATING, WAITING = "evaluating the run's files", "waiting"
_PHASES = {
    "places of client, link, front and origin": "making the places",
    "origin and front": "starting origin and front",
    "link": "calibrating the link",
    "counters": "reading counters, stopping",
}
"""The words for the steps whose names a run prints (`run/steps.py`); other steps are shown as they are."""

_LOAD = re.compile(r"load (\d+) of (\d+)", re.ASCII)
_LEAST_S, _LEAST_SHARE = 0.5, 0.05
"""The wall time of a run's loads, and the share of their expected link time, from which the time left is computed."""


@dataclass(kw_only=True)
class RunState:
    """A run at work. Its methods are called when something happens, at the time `now_s`.

    cost_s: its expected cost, with the start of its guest. link_s: the expected link time of its loads. Both are in
    seconds. folder: where its files grow.
    """

    cost_s: float
    link_s: float
    phase: str = WAITING
    began_s: float | None = None
    folder: Path | None = None
    loads_are_over: bool = False
    _loading_since_s: float | None = None

    def begun(self, phase: str, folder: Path, now_s: float) -> None:
        """Notes that the run has begun in this folder. phase: its first one."""
        self.phase, self.began_s, self.folder = phase, now_s, folder

    def step(self, text: str, now_s: float) -> None:
        """Notes a step that the run reports."""
        self.began_s = now_s if self.began_s is None else self.began_s
        if load := _LOAD.fullmatch(text):
            self._loading_since_s = self._loading_since_s or now_s
            self.phase = f"page load {load[1]} of {load[2]}" + (", measured" if load[1] == load[2] else "")
        else:
            self.loads_are_over = self._loading_since_s is not None
            self.phase = _PHASES.get(text, text)

    def carried_out(self) -> None:
        """Notes that the run's command is over, and that its files are evaluated now."""
        self.phase, self.loads_are_over = EVALUATING, True

    @property
    def is_loading(self) -> bool:
        """True while the pages are loaded."""
        return self._loading_since_s is not None and not self.loads_are_over

    def wall_s(self, now_s: float) -> float:
        """Returns the wall time of the run so far, in seconds."""
        return 0.0 if self.began_s is None else now_s - self.began_s

    def loads_left_s(self, link_s: float | None, now_s: float) -> float | None:
        """Returns the wall time left for the loads, in seconds; None if too little link time has passed.

        link_s: the link time so far. The wall time left is computed from the wall time of the loads so far.
        """
        if self._loading_since_s is None or link_s is None:
            return None
        wall_s = now_s - self._loading_since_s
        if wall_s < _LEAST_S or not _LEAST_SHARE * self.link_s <= link_s < self.link_s:
            return None
        return wall_s * (self.link_s - link_s) / link_s
