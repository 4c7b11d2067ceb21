"""The executor of a sweep's runs: its interface, and the values that cross it.

Rules:
1. An executor is handed runs in the order in which they are to begin. It decides which of them share a command, how
   many commands run side by side, and where.
2. A run's folder is built in the store (`RunStore`), under the name `building` says. When it is complete, run.json
   included, the executor files it; from then on that run is done.
3. Then it reports the run as ended, in the thread that called it.
4. A failed run is not an error. Losing a worker is not an error while another can take over.
5. When an exception leaves the executor, everything it started has ended.
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
    """The place where run folders are built and filed. final: the final path of the folder that holds them."""

    final: Path

    def building(self, name: str) -> RunFolder:
        """Returns the folder in which to build a run; it does not exist yet."""

    def file(self, name: str) -> None:
        """Renames the folder to its final name."""


class Executor(Protocol):
    """A way to carry out runs."""

    @property
    def side_by_side(self) -> int:
        """The number of runs at once, for estimates and for display."""

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[str, Tools]:
        """Makes what all runs share; returns the programs they will use, by server. Raises LabError."""

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        """Carries out all runs. Raises LabError if the rest cannot be carried out."""


def fair_share(waiting: int, side_by_side: int, most: int, begun: int) -> int:
    """Returns how many of the waiting runs share the next command.

    In the first round, few runs are divided evenly. Otherwise later commands get fewer runs, so that no processor is
    idle while another has several runs left; but not very few, since a guest takes as long to start as two or three
    runs.

    most: the most runs per command. begun: the number of commands before this one.
    """
    first = begun < side_by_side
    even = math.ceil(waiting / (side_by_side - begun if first else side_by_side))
    share = even if first and even <= _LITTLE else max(_FEW, math.ceil(even * (_AT_FIRST if first else _LATER)))
    return min(waiting, most, share)


def unwritable(run: Run, error: OSError) -> StepFailed:
    """The error for a run whose folder cannot be written."""
    return StepFailed(run.name, f"its folder cannot be written: {error}")
