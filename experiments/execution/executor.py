"""The interface of executors, which carry out runs.

Rules:
1. An executor gets runs in the order in which they are to begin. It decides which of them share a command, how many
   commands run side by side, and on which machine.
2. A run's folder is built at the path that `RunStore.building` returns. When the folder is complete, run.json included,
   the executor files the folder by `RunStore.file`.
3. After it has filed the folder, the executor reports the run as ended, in the thread that called `carry_out`.
4. A failed run is not an error. The loss of a worker is not an error while another worker can take over.
5. When an exception leaves the executor, everything that it started has ended.
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

OnEnded = Callable[[Run, Ending], None]


class RunStore(Protocol):
    """Gives run folders their paths. final: the final path of the folder that holds all run folders."""

    final: Path

    def building(self, name: str) -> RunFolder:
        """Returns the folder in which to build a run; the folder does not exist yet."""

    def file(self, name: str) -> None:
        """Gives a complete run folder its final name."""


class Executor(Protocol):
    """Carries out runs."""

    @property
    def side_by_side(self) -> int:
        """The number of runs carried out at once."""

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[str, Tools]:
        """Prepares what all runs share; returns the programs to use, by the server's name. Raises LabError.

        tell: called with a line about each step.
        """

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        """Carries out all runs, and reports each run that ended to `ended`. Raises LabError if it cannot continue."""


def fair_share(waiting: int, side_by_side: int, most: int, begun: int) -> int:
    """Returns how many of the waiting runs share the next command.

    In the first round, up to 30 runs per command are divided evenly among the commands. Otherwise a command gets less
    than an even share, so that at the end no processor is idle while another has several runs left; but at least five
    runs, if so many are left, because a guest takes as long to start as two or three runs take.

    waiting: the number of runs left. side_by_side: the number of commands at once. most: the most runs per command.
    begun: the number of commands begun before.
    """
    first = begun < side_by_side
    even = math.ceil(waiting / (side_by_side - begun if first else side_by_side))
    share = even if first and even <= _LITTLE else max(_FEW, math.ceil(even * (_AT_FIRST if first else _LATER)))
    return min(waiting, most, share)


def unwritable(run: Run, error: OSError) -> StepFailed:
    """Returns the error for a run whose folder cannot be written."""
    return StepFailed(run.name, f"its folder cannot be written: {error}")
