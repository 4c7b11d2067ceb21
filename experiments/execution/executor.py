"""Who carries out a sweep's runs: the interface, and what crosses it.

Rules:
1. An executor is handed runs in the order in which they are to begin, and decides which of them share a command, and
   how many commands run side by side, where.
2. A run's folder is built in the room, under the name `building` says. When all of it is there, run.json included, the
   executor files it; whatever happens afterwards, that run is done.
3. Then it reports the run as ended, in the thread that called it.
4. That a run fails is no error; neither is the loss of whoever carried it out, if somebody else can.
5. Left by an exception, nothing of what it started goes on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from experiments.errors import StepFailed
from experiments.execution.conclusion import Ending, Run
from experiments.host.tools import Tools
from experiments.results.run_folder import RunFolder
from experiments.scenario.scenario import Scenario

_FEW, _LITTLE = 5, 30
_AT_FIRST, _LATER = 4 / 5, 2 / 3

Ended = Callable[[Run, Ending], None]


class Room(Protocol):
    """Where run folders are built and filed. final: what the folder they are in will be called."""

    final: Path

    def building(self, name: str) -> RunFolder:
        """Where a run's folder is built; nothing is there yet."""

    def file(self, name: str) -> None:
        """Give the folder its own name."""


class Executor(Protocol):
    """One way to carry out runs."""

    @property
    def side_by_side(self) -> int:
        """How many at once, for estimates and for people to know."""

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[str, Tools]:
        """Make what all runs share; the programs they will find, by server. Raises LabError."""

    def carry_out(self, runs: Sequence[Run], room: Room, ended: Ended) -> None:
        """All of them. Raises LabError if the rest cannot be carried out."""


def fair_share(waiting: int, side_by_side: int, most: int, begun: int) -> int:
    """How many of the waiting runs are to share the next command.

    In the first round all there is is divided evenly, if it is little. If it is not, later commands get fewer, so that
    nobody is idle while others have several left; but not very few, since a guest takes as long to begin as two or
    three runs.

    most: as many as one command should carry out. begun: commands before it.
    """
    first = begun < side_by_side
    even = math.ceil(waiting / (side_by_side - begun if first else side_by_side))
    share = even if first and even <= _LITTLE else max(_FEW, math.ceil(even * (_AT_FIRST if first else _LATER)))
    return min(waiting, most, share)


def unwritable(run: Run, error: OSError) -> StepFailed:
    """That the folder of a run cannot be written."""
    return StepFailed(run.name, f"its folder cannot be written: {error}")
