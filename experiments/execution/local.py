"""The executor on this machine: jobs side by side, as many as processors and memory allow.

A command is a process that carries out one or more runs. Commands side by side take their runs from one queue, so that
all of them are at work until the last runs: each command gets a list of run folders, and claims a run before it begins
it (testbed/process/work_folder.py). The lab claims the first run of the list for the command. The command may report
progress in the lines `begins NAME` and `ended NAME`. When a run has ended, another thread evaluates its files and
writes its run.json (`conclusion.conclude`), while the command goes on. The limit of wall time applies to each run, from
its beginning.
"""

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from priolab.common.errors import StepFailed
from priolab.experiments.execution.conclusion import Ending, Run, conclude, lay_out, load_checks, wall_limit_s
from priolab.experiments.execution.executor import OnEnded, RunStore, runs_s, start_s, unwritable
from priolab.experiments.execution.preparation import prepare
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.hosts.virtual import memory_mib, memory_room_mib
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import FrontKey, Scenario
from priolab.experiments.setup.tools import Tools
from priolab.testbed import Work, jobs, work_folder

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
        run_settings: RunSettings,
        side_by_side: int,
        *,
        meanwhile: Callable[[], None] = lambda: None,
        progress: Progress = _SILENT,
    ) -> None:
        """Makes an executor for `side_by_side` jobs at once. A job is a process that carries out one or more runs.

        meanwhile: called at least twice a second; an exception that it raises ends all jobs. progress: hears of the
        begin, the steps and the end of each run; its `ended` and `reused` are not called.
        """
        self.side_by_side = side_by_side
        self.runs_per_command = run_settings.fabric.runs_per_command
        self._run_settings = run_settings
        self._meanwhile = meanwhile
        self.progress = progress
        self._tools: Mapping[FrontKey, Tools] = {}

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[FrontKey, Tools]:
        """Does the work needed once before all runs; returns their programs, by SERVER, PROGRAM and CONFIG."""
        self._tools = prepare(self._run_settings, scenarios, tell)
        return self._tools

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        """Carries out all runs in jobs side by side, and reports each run that ended to `ended`. Raises LabError."""
        waiting = {run.name: run for run in runs}
        with _RunFolders(self._run_settings, store, ended) as folders:
            while waiting:  # a command that ended early may have left runs on no other command's list
                commands: dict[str, _Command] = {}
                jobs.run_all(
                    self._tasks(waiting, folders, commands),
                    side_by_side=self.side_by_side,
                    progress=lambda name, step, commands=commands: commands[name].step(step),  # type: ignore[misc]
                    meanwhile=self._meanwhile,
                )
                for run in waiting.values():
                    folders.forget(run)

    def _tasks(
        self, waiting: dict[str, Run], folders: "_RunFolders", commands: dict[str, "_Command"]
    ) -> Iterator[jobs.Task]:
        fabric = self._run_settings.fabric
        while runs := self._listed(waiting, folders, commands.values()):
            command = commands[runs[0].name] = _Command(runs, folders, waiting, self._run_settings, self.progress)
            run_folders = [(run.arm.scenario, folders.building(run)) for run in runs]
            yield jobs.Task(
                name=runs[0].name,
                work=Work(
                    command=partial(fabric.command, run_folders),
                    one_cpu=fabric.virtual_clock,
                    kind=fabric.kind([run.arm.scenario for run in runs]),
                    further=partial(fabric.further, run_folders),
                    programs=frozenset(
                        program for run in runs for program in self._tools[run.arm.scenario.front_key].programs.values()
                    ),
                ),
                log=run_folders[0][1].path / "console.log",
                overdue=command.overdue,
                finished=partial(_finished, commands, runs[0].name),
            )

    def _listed(self, waiting: dict[str, Run], folders: "_RunFolders", others: Collection["_Command"]) -> Sequence[Run]:
        """Returns the runs for another command, the first of them claimed; none if it is not worth its start.

        The command begins with runs that no other command has on its list. Then it takes the runs of the others, from
        the end of their lists. So commands meet only in the middle of the last runs.
        """
        runs = list(islice(waiting.values(), self.runs_per_command * self.side_by_side))
        expected = sum(name in waiting for name in {name for other in others for name in other.names})
        left_s = runs_s(runs, self._run_settings) + sum(other.left_s for other in others)
        if expected == len(waiting) and left_s < len(others) * 2 * start_s(self._run_settings):
            return []
        start = min(expected, len(runs) * len(others) // self.side_by_side)
        listed = [*runs[start:], *reversed(runs[:start])][: self.runs_per_command]
        for run in listed:
            folders.offer(run, self._tools[run.arm.scenario.front_key])
        while listed and not work_folder.claim(folders.building(listed[0]).path):
            del listed[0]  # a command has claimed the run, and its progress line is not read yet
        if listed:
            del waiting[listed[0].name]
        return listed


def _finished(commands: dict[str, "_Command"], name: str, finish: jobs.Finish) -> None:
    """Handles the end of a command, and removes it from `commands`, because it has no work left."""
    commands.pop(name).finished(finish)


class _Command:
    """A process that carries out runs, and its progress.

    names: the names of the runs on its list. waiting: all runs that have not begun; the command removes a run when it
    begins it.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        folders: "_RunFolders",
        waiting: dict[str, Run],
        run_settings: RunSettings,
        progress: Progress,
    ) -> None:
        self.names = frozenset(run.name for run in runs)
        self._first = runs[0]
        self._since_s: float | None = None
        self._folders = folders
        self._waiting = waiting
        self._run_settings = run_settings
        self._progress = progress
        self._begin(runs[0])

    def step(self, text: str) -> None:
        """Handles a line of progress that the process has printed."""
        self._folders.load_checks()
        self._folders.report()
        if not text.startswith((work_folder.BEGINS, work_folder.ENDED)):
            self._progress.step(self._run.name, text)
            return
        self._since_s = time.monotonic()
        if text.startswith(work_folder.BEGINS):
            if run := self._waiting.pop(text.removeprefix(work_folder.BEGINS), None):
                self._begin(run)
        elif self._at_work and text.removeprefix(work_folder.ENDED) == self._run.name:
            self._conclude(None)

    def overdue(self, wall_s: float) -> str | None:
        """Returns the reason to kill the process, because it has exceeded a limit of wall time; otherwise None.

        The limit applies to each run, and to the time from the end of a run to the next, or to the exit of the process.
        wall_s: the wall time since the start of the process.
        """
        limit_s = wall_limit_s(self._run.arm.scenario, self._run_settings)
        if (wall_s if self._since_s is None else time.monotonic() - self._since_s) <= limit_s:
            return None
        return jobs.too_long(self._run.name, limit_s, self._log)

    def finished(self, finish: jobs.Finish) -> None:
        """Handles the end of the process: evaluates the run at work, if any. Other runs of the list go on waiting."""
        if self._at_work:
            self._conclude(finish.trouble or self._broken_off(finish.said))
        self._folders.report()

    @property
    def left_s(self) -> float:
        """The expected cost of the run at work, in seconds. Before the first run, the process's start is included."""
        of_start_s = start_s(self._run_settings) if self._since_s is None else 0.0
        return of_start_s + (runs_s([self._run], self._run_settings) if self._at_work else 0.0)

    @property
    def _log(self) -> Path:
        """The log of the process, in the folder of the first run, which moves when this run has ended."""
        first = self._first.name
        at_first = self._at_work and self._run is self._first
        return (self._folders.building(self._first).path if at_first else self._folders.final / first) / "console.log"

    def _broken_off(self, said: str) -> str | None:
        """Returns the error of the run at work when the process ended.

        Returns None if the run's folder has outcome.json or the log of the process, from which the error is read later.
        said: the last lines of the output of the process.
        """
        if self._run is self._first or self._folders.building(self._run).outcome.exists():
            return None
        return str(StepFailed(self._run.name, f"it ended without an outcome; its last output: {said}", self._log))

    def _begin(self, run: Run) -> None:
        self._run, self._at_work, self._begun_s = run, True, time.monotonic()
        self._progress.begun(run.name, self._folders.building(run).path)

    def _conclude(self, trouble: str | None) -> None:
        self._at_work = False
        self._progress.carried_out(self._run.name)
        self._folders.conclude(self._run, time.monotonic() - self._begun_s, trouble)


class _RunFolders:
    """Lays out run folders; when runs have ended, evaluates them in a thread.

    A context manager, whose exit waits for the thread.
    """

    def __init__(self, run_settings: RunSettings, store: RunStore, ended: OnEnded) -> None:
        self._run_settings = run_settings
        self._store = store
        self._ended = ended
        self._thread = ThreadPoolExecutor(1, "concluding")
        self._concluding: deque[tuple[Run, Future[Ending]]] = deque()
        self._offered: set[str] = set()
        self._has_loaded = False

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

    def offer(self, run: Run, tools: Tools) -> None:
        """Lays out the folder of a run and lets commands claim the run, unless this was done before."""
        if run.name in self._offered:
            return
        try:
            lay_out(run, self.building(run), self._run_settings, tools)
            work_folder.offer(self.building(run).path)
        except OSError as error:
            raise unwritable(run, error) from error
        self._offered.add(run.name)

    def forget(self, run: Run) -> None:
        """Removes the folder of a run that was on offer and has not begun, as far as is known."""
        if run.name in self._offered:
            self._offered.remove(run.name)
            shutil.rmtree(self.building(run).path)

    def load_checks(self) -> None:
        """Has the thread import what evaluates runs, unless it has."""
        if not self._has_loaded:
            self._has_loaded = True
            self._thread.submit(load_checks)

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
            run, self.building(run), self._run_settings, final=self._store.final, wall_s=wall_s, trouble=trouble
        )
        self._store.file(run.name)
        return ending
