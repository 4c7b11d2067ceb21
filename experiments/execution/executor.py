"""The interface of executors, which carry out runs.

Rules:
1. An executor gets runs in the order in which they are to begin. A command is a process that carries out one or
   more runs. The executor decides which runs share a command, how many commands run side by side, and on which machine.
2. A run's folder is built at the path that `RunStore.building` returns. When the folder is complete, run.json included,
   the executor calls `RunStore.file`, which gives the folder its final name.
3. Then the executor reports the run as ended, in the thread that called `carry_out`.
4. A failed run is not an error. The loss of a worker is not an error while another worker can take over.
5. When an exception leaves the executor, everything that it started has ended.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate, islice
from pathlib import Path
from typing import Protocol

from priolab.common.errors import StepFailed
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.execution.cost import GUEST_S, cost_s
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import FrontKey, Scenario
from priolab.experiments.setup.tools import Tools

_SHORT, _PART = 20, 2 / 3
_ROUNDING_S = 1e-9

OnEnded = Callable[[Run, Ending], None]


class RunStore(Protocol):
    """A store that gives run folders their paths. final: the final path of the folder that holds all run folders."""

    final: Path

    def building(self, name: str) -> RunFolder:
        """Returns the folder in which to build a run; the folder does not exist yet."""

    def file(self, name: str) -> None:
        """Gives a complete run folder its final name."""


class Executor(Protocol):
    """The component that carries out runs, on this machine or on the machines of a cluster."""

    @property
    def side_by_side(self) -> int:
        """The number of runs that the executor carries out at once."""

    @property
    def runs_per_command(self) -> int:
        """The largest number of runs that one process, a command, carries out one after the other."""

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[FrontKey, Tools]:
        """Does the work needed once before all runs. Raises LabError.

        Returns, for each server's name, the programs that its runs use.

        tell: called with a line about each step.
        """

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        """Carries out all runs, and reports each run that ended to `ended`. Raises LabError if it cannot continue."""


class Waiting:
    """The runs that wait to be carried out, in their order. A batch is the runs that one process carries out.

    most: the largest number of runs in a batch.
    """

    def __init__(self, runs: Sequence[Run], run_settings: RunSettings, most: int) -> None:
        self._runs = deque(runs)
        self._most = most
        self._run_settings = run_settings
        self._left_s = self.cost_s(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def cost_s(self, runs: Iterable[Run], *, start: bool = False) -> float:
        """Returns the expected cost of runs, in seconds. start: True to add the start of a guest."""
        return runs_s(runs, self._run_settings) + (start_s(self._run_settings) if start else 0.0)

    def batch(self, left_s: Iterable[float], side_by_side: int) -> list[Run]:
        """Returns the runs of the next batch; at least one, if runs are left.

        left_s: for each batch that has been handed out, the expected cost of its unfinished runs, in seconds.
        side_by_side: the number of batches carried out at once.
        """
        costs_s = [self.cost_s([run]) for run in islice(self._runs, self._most)]
        others_s = nlargest(side_by_side - 1, [*left_s, *[0.0] * side_by_side])
        count = share(costs_s, self._left_s, others_s, start_s(self._run_settings))
        self._left_s -= sum(costs_s[:count])
        return [self._runs.popleft() for _ in range(count)]

    def put_back(self, runs: Sequence[Run]) -> None:
        """Puts runs back at the front of the waiting runs."""
        self._runs.extendleft(reversed(runs))
        self._left_s += self.cost_s(runs)


def runs_s(runs: Iterable[Run], run_settings: RunSettings) -> float:
    """Returns the expected cost of runs, in seconds, without the start of a guest."""
    clock = run_settings.fabric.virtual_clock
    return sum(cost_s(run.arm.scenario, virtual_clock=clock, sample=run_settings.sample) for run in runs)


def start_s(run_settings: RunSettings) -> float:
    """Returns the expected cost of starting a command, in seconds."""
    return GUEST_S if run_settings.fabric.virtual_clock else 0.0


def share(costs_s: Sequence[float], waiting_s: float, others_s: Sequence[float], start_s: float) -> int:
    """Returns how many of the waiting runs the next batch gets, at least 1.

    A command, a process that carries out one batch, first takes some time to start (start_s). Commands side by side
    should end at the same time. So the batch gets an even share of the work, less what the other commands have left. If
    this share takes longer than twenty starts, the batch gets two thirds of it. Later batches then make up for errors
    of the expected costs, and for a slow processor. Another command is expected to be followed by a further one only if
    there is time for the start, and for at least as much work as the start takes.

    costs_s: the expected costs of the next runs, as many as a batch may have. waiting_s: the expected cost of
    all waiting runs. others_s: for each of the other commands side by side, the expected cost of its unfinished runs, 0
    for a command that has not begun. start_s: the cost of starting a command.
    """
    busy_s = sorted(others_s)
    end_s = waiting_s + start_s
    while busy_s:
        end_s = (waiting_s + start_s + sum(each_s + start_s for each_s in busy_s)) / (1 + len(busy_s))
        if not busy_s[-1] or busy_s[-1] + 2 * start_s <= end_s:
            break
        busy_s.pop()
    own_s = end_s - start_s
    if busy_s and own_s > _SHORT * start_s:
        own_s *= _PART
    taken_s = list(accumulate(costs_s))
    return max(1, sum(taken - cost / 2 <= own_s + _ROUNDING_S for taken, cost in zip(taken_s, costs_s, strict=True)))


def unwritable(run: Run, error: OSError) -> StepFailed:
    """Returns the error for a run whose folder cannot be written."""
    return StepFailed(run.name, f"its folder cannot be written: {error}")
