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
from experiments.making import Ending, Run
from experiments.order import Tools
from experiments.record import RunFolder
from experiments.scenario import Scenario

_FEW = 3

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


def fair_share(waiting: int, side_by_side: int, most: int) -> int:
    """How many of the waiting runs are to share the next command: fewer toward the end, so that nobody is idle before.

    most: as many as one command should carry out. A guest takes as long to begin as one run, so a few share it where
    there is enough for everybody.
    """
    even = math.ceil(waiting / side_by_side)
    return min(most, max(min(_FEW, even), math.ceil(2 * even / 3)))


def unwritable(run: Run, error: OSError) -> StepFailed:
    """That the folder of a run cannot be written."""
    return StepFailed(run.name, f"its folder cannot be written: {error}")
