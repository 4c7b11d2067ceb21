"""The executor on this machine: jobs side by side, as many as processors and memory allow.

A command is a process that carries out one or more runs. Runs that share a command are a batch. The command may report
progress in the lines `begins NAME` and `ended NAME`. When a run has ended, its files are evaluated and its run.json is
written (`conclusion.conclude`), while the batch goes on. Another thread evaluates the files and writes run.json, so
that the next batch can begin meanwhile. The limit of wall time applies to each run, from its beginning.
"""

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from experiments.errors import StepFailed
from experiments.execution import jobs
from experiments.execution.conclusion import Ending, Run, conclude, lay_out, wall_limit_s
from experiments.execution.executor import EVEN, OnEnded, RunStore, Waiting, unwritable
from experiments.execution.preparation import prepare
from experiments.execution.progress import Progress
from experiments.execution.request import Manner
from experiments.host.tools import Tools
from experiments.results.order import BEGINS, ENDED
from experiments.results.run_folder import RunFolder
from experiments.scenario.scenario import Scenario
from experiments.testbed.fabric import Fabric
from experiments.testbed.guest.virtual import memory_mib, memory_room_mib

_MEMORY = Path("/proc/meminfo")
_SILENT = Progress(step=lambda *_: None, ended=lambda *_: None)


def bearable(scenarios: Sequence[Scenario], fabric: Fabric) -> int:
    """Returns how many runs this machine can carry out side by side; at least 1.

    In guests the limit is one run per processor. On a real clock the limit is one run per two processors: a run has
    several processes, and if one process waits for a processor, the measurement changes. Free memory, and free space
    for the memory of guests, may allow fewer runs.
    """
    largest = max(scenarios, key=memory_mib)
    cpus = len(os.sched_getaffinity(0))
    bounds = [_available_mib() // memory_mib(largest)]
    if fabric.virtual_clock:
        bounds += [cpus, memory_room_mib(largest) // memory_mib(largest)]
    else:
        bounds += [cpus // 2]
    return max(1, min(bounds))


def _available_mib() -> int:
    """Returns the memory that is available without swapping, in MiB."""
    fields = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
    return int(fields["MemAvailable"].removesuffix("kB")) // 1024


class Local:
    """The executor that carries out runs on this machine. Implements the interface Executor."""

    def __init__(
        self,
        manner: Manner,
        side_by_side: int,
        *,
        meanwhile: Callable[[], None] = lambda: None,
        progress: Progress = _SILENT,
    ) -> None:
        """Makes an executor for `side_by_side` jobs at once. A job is a process that carries out a batch of runs.

        meanwhile: called at least twice a second; an exception that it raises ends all jobs. progress: hears of the
        begin, the steps and the end of each run; its `ended` and `reused` are not called.
        """
        self.side_by_side = side_by_side
        self.runs_per_command = manner.fabric.runs_per_command
        self.short = EVEN  # see `executor.share`
        self._manner = manner
        self._meanwhile = meanwhile
        self._progress = progress
        self._tools: Mapping[str, Tools] = {}

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[str, Tools]:
        """Does the work needed once before all runs; returns the programs of the runs, by the server's name."""
        self._tools = prepare(self._manner, scenarios, tell)
        return self._tools

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        """Carries out all runs in jobs side by side, and reports each run that ended to `ended`. Raises LabError."""
        waiting = Waiting(runs, self._manner, self.runs_per_command, self.short)
        with _RunFolders(self._manner, store, ended) as folders:
            while waiting:  # a batch that ends early puts back the runs that have not begun
                batches: dict[str, _Batch] = {}
                jobs.run_all(
                    self._tasks(waiting, folders, batches),
                    side_by_side=self.side_by_side,
                    progress=lambda name, step, batches=batches: batches[name].step(step),  # type: ignore[misc]
                    meanwhile=self._meanwhile,
                )

    def _tasks(self, waiting: Waiting, folders: "_RunFolders", batches: dict[str, "_Batch"]) -> Iterator[jobs.Task]:
        while waiting:
            runs = waiting.batch((batch.left_s for batch in batches.values()), self.side_by_side)
            for run in runs:
                folders.lay_out(run, self._tools[run.arm.scenario.server])
            batch = batches[runs[0].name] = _Batch(runs, folders, waiting, self._manner, self._progress)
            run_folders = [(run.arm.scenario, folders.building(run)) for run in runs]
            yield jobs.Task(
                name=runs[0].name,
                command=partial(self._manner.fabric.command, run_folders),
                one_cpu=self._manner.fabric.virtual_clock,
                log=run_folders[0][1].path / "console.log",
                overdue=batch.overdue,
                finished=partial(_finished, batches, runs[0].name),
            )


def _finished(batches: dict[str, "_Batch"], name: str, finish: jobs.Finish) -> None:
    """Handles the end of a batch's process, and removes the batch from `batches`, because it has no work left."""
    batches.pop(name).finished(finish)


class _Batch:
    """Runs that one process carries out, and the progress of this process."""

    def __init__(
        self,
        runs: Sequence[Run],
        folders: "_RunFolders",
        waiting: Waiting,
        manner: Manner,
        progress: Progress,
    ) -> None:
        self._runs = runs
        self._left = {run.name: run for run in runs}
        self._begun = {runs[0].name: time.monotonic()}
        self._since_s: float | None = None
        self._folders = folders
        self._waiting = waiting
        self._manner = manner
        self._progress = progress
        self._tell_begun(runs[0])

    def step(self, text: str) -> None:
        """Handles a line of progress that the batch's process has printed."""
        self._folders.report()
        if text.startswith((BEGINS, ENDED)):
            self._since_s = time.monotonic()
        else:
            self._progress.step(self._at_work.name, text)
        if text.startswith(BEGINS) and (name := text.removeprefix(BEGINS)) not in self._begun:
            self._begun[name] = time.monotonic()
            if run := self._left.get(name):
                self._tell_begun(run)
        elif text.startswith(ENDED) and (run := self._left.pop(text.removeprefix(ENDED), None)):
            self._conclude(run, None)

    def overdue(self, wall_s: float) -> str | None:
        """Returns the reason to kill the batch's process, because it has exceeded a limit of wall time; otherwise None.

        The limit applies to each run, and to the time from the end of the last run to the exit of the process. wall_s:
        the wall time since the start of the process.
        """
        run = self._at_work
        limit_s = wall_limit_s(run.arm.scenario, self._manner)
        if (wall_s if self._since_s is None else time.monotonic() - self._since_s) <= limit_s:
            return None
        return jobs.too_long(run.name, limit_s, self._log)

    def finished(self, finish: jobs.Finish) -> None:
        """Handles the end of the process: evaluates the runs that had begun; the others wait for another batch."""
        for run in self._left.values():
            if run.name in self._begun:
                self._conclude(run, finish.trouble or self._broken_off(run, finish.said))
            else:
                self._folders.forget(run)
        self._waiting.put_back([run for run in self._left.values() if run.name not in self._begun])
        self._left = {}
        self._folders.report()

    @property
    def left_s(self) -> float:
        """The expected cost of the unfinished runs, in seconds. Before the first run, the guest's start is included."""
        return self._waiting.cost_s(self._left.values(), start=self._since_s is None) if self._left else 0.0

    @property
    def _at_work(self) -> Run:
        """The first run that has not ended; the last run of the batch if all runs have ended."""
        return next(iter(self._left.values()), self._runs[-1])

    @property
    def _log(self) -> Path:
        """The log of the batch's process, in the folder of the first run, which moves when this run has ended."""
        first = self._runs[0]
        folder = self._folders.building(first).path if first.name in self._left else self._folders.final / first.name
        return folder / "console.log"

    def _broken_off(self, run: Run, said: str) -> str | None:
        """Returns the error of a run that had not ended when the batch's process ended.

        Returns None if the run's folder has outcome.json or the log of the process, from which the error is read later.
        said: the last lines of the output of the process.
        """
        if run is self._runs[0] or self._folders.building(run).outcome.exists():
            return None
        return str(StepFailed(run.name, f"it ended without an outcome; its last output: {said}", self._log))

    def _tell_begun(self, run: Run) -> None:
        self._progress.begun(run.name, self._folders.building(run).path)

    def _conclude(self, run: Run, trouble: str | None) -> None:
        self._progress.carried_out(run.name)
        begun = self._begun.get(run.name, time.monotonic())
        self._folders.conclude(run, time.monotonic() - begun, trouble)


class _RunFolders:
    """Lays out run folders; when runs have ended, evaluates them in a thread.

    A context manager, whose exit waits for the thread.
    """

    def __init__(self, manner: Manner, store: RunStore, ended: OnEnded) -> None:
        self._manner = manner
        self._store = store
        self._ended = ended
        self._thread = ThreadPoolExecutor(1, "concluding")
        self._concluding: deque[tuple[Run, Future[Ending]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._thread.shutdown()
        if kind is None:
            self.report()

    @property
    def final(self) -> Path:
        return self._store.final

    def building(self, run: Run) -> RunFolder:
        return self._store.building(run.name)

    def lay_out(self, run: Run, tools: Tools) -> None:
        try:
            lay_out(run, self.building(run), self._manner, tools)
        except OSError as error:
            raise unwritable(run, error) from error

    def forget(self, run: Run) -> None:
        shutil.rmtree(self.building(run).path)

    def conclude(self, run: Run, wall_s: float, trouble: str | None) -> None:
        self._concluding.append((run, self._thread.submit(self._conclude, run, wall_s, trouble)))

    def report(self) -> None:
        """Calls `ended` for each run evaluated since the last call. Raises StepFailed if a folder was not writable."""
        while self._concluding and self._concluding[0][1].done():
            run, ending = self._concluding.popleft()
            try:
                self._ended(run, ending.result())
            except OSError as error:
                raise unwritable(run, error) from error

    def _conclude(self, run: Run, wall_s: float, trouble: str | None) -> Ending:
        ending = conclude(
            run, self.building(run), self._manner, final=self._store.final, wall_s=wall_s, trouble=trouble
        )
        self._store.file(run.name)
        return ending
