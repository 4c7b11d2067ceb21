"""Runs jobs, the processes that carry out batches of runs: side by side, each with a limit on its wall time.

Rules:
1. The functions of this module run in one thread. Any interruption (Ctrl-C, SIGTERM, an error) ends every job.
2. Output lines of a job that begin with "@ " are its progress lines. All output goes to the job's log. A process that
   can do further work prints the line "@ idle" when it has done its work.
3. A job may be unable to begin because other jobs hold what it needs. The lab tries again whenever a job has ended.
"""

import os
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process.processes import readable
from priolab.common.process.program_logs import last_lines
from priolab.testbed.process.command_process import Work, give_back, process_for
from priolab.testbed.process.work_folder import IDLE, PROGRESS

ANSWERS = "answers "
"""The beginning of a progress line that answers what the lab has asked (`Conversation`)."""

_SAID_BYTES = 4096
_DESERTED_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Task:
    """A job to run. log: the file for the output."""

    name: str
    work: Work
    log: Path
    overdue: Callable[[float], str | None]
    """Receives the job's wall time in seconds; returns the reason to end the job, or None if the job may go on."""
    finished: Callable[["Finish"], None]
    """Called when the job has ended."""


@dataclass(frozen=True, kw_only=True)
class Finish:
    """The end of a job.

    wall_s: the wall time of the job. trouble: the reason why the lab ended the job; None if the job ended by itself.
    said: the last lines of the job's output.
    """

    wall_s: float
    trouble: str | None
    said: str


def too_long(name: str, limit_s: float, log: Path) -> str:
    """Returns the message for a run that exceeds its wall time."""
    return str(StepFailed(name, f"it took longer than {limit_s:g} s of wall time", log))


class _Job:
    """A running job: its process and its log."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._started = time.monotonic()
        self._rest = b""
        self._said = b""
        self._deserted_s: float | None = None
        self._log = task.log.open("wb")
        try:
            self._process = process_for(task.work)
        except BaseException:
            self._log.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.end()

    def fileno(self) -> int:
        return self._process.output

    def overdue(self, wall_s: float) -> str | None:
        return self._deserted() or self.task.overdue(wall_s)

    def _deserted(self) -> str | None:
        """Returns an error if the supervisor ended a second ago, but a process of the job holds its output pipe."""
        code = self._process.exit_code
        if code is None:
            return None
        now_s = time.monotonic()
        self._deserted_s = self._deserted_s or now_s
        if now_s - self._deserted_s < _DESERTED_S:
            return None
        return str(StepFailed(self.task.name, f"its supervisor process ended with exit code {code}", self.task.log))

    @property
    def wall_s(self) -> float:
        return time.monotonic() - self._started

    @property
    def said(self) -> str:
        """The last lines of the job's output, which are kept in memory because the log file may have been moved."""
        return last_lines(self._said.decode(errors="replace"))

    def read(self) -> list[str] | None:
        """Returns the progress lines since the last call, without "@ "; None at the end of the output."""
        data = os.read(self.fileno(), 65536)
        self._log.write(data)
        self._log.flush()
        self._said = (self._said + data)[-_SAID_BYTES:]
        *lines, self._rest = (self._rest + data).split(b"\n")
        steps = [line.decode(errors="replace").strip() for line in lines]
        return [step.removeprefix(PROGRESS) for step in steps if step.startswith(PROGRESS)] if data else None

    def tell(self, line: str) -> None:
        """Writes a line that the job reads. Raises OSError."""
        self._process.tell(line)

    def end(self, *, idle: bool = False) -> None:
        """Ends the job, if it has not ended. Further calls do nothing. idle: True if its process has done its work."""
        if self._log.closed:
            return
        self._log.close()
        if idle:
            give_back(self._process)
        else:
            self._process.end()


class Conversation:
    """A job that is asked again and again while it runs. A context manager, which ends the job.

    A job answers with a progress line that begins with ANSWERS, also when it has begun. Its limit is on the wall time
    in which an answer was awaited.
    """

    def __init__(self, task: Task) -> None:
        """Begins the job. Raises Unavailable."""
        self._answers: deque[str] = deque()
        self._asked_s, self._waited_s = time.monotonic(), 0.0
        self._job: _Job | None = _Job(task)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._job is not None:
            self._job.end()

    def fileno(self) -> int:
        """Returns the descriptor that is readable when there may be an answer. The job has not ended."""
        assert self._job is not None, "the job has not ended"
        return self._job.fileno()

    def ask(self, line: str) -> None:
        """Writes a line. The answer comes later."""
        self._asked_s = time.monotonic()
        if self._job is not None:
            with suppress(OSError):  # it has ended, and `has_answered` sees it
                self._job.tell(line)

    def has_answered(self, wait_s: float) -> bool:
        """Waits for some output of the job; returns True if there is an answer, or if the job has ended."""
        if self._job is None or self._answers:
            return True
        trouble = self._job.overdue(self._waited_s + time.monotonic() - self._asked_s)
        steps = self._job.read() if trouble is None and readable([self._job.fileno()], wait_s) else []
        idle = steps is not None and IDLE in steps
        self._answers.extend(step.removeprefix(ANSWERS) for step in steps or () if step.startswith(ANSWERS))
        if trouble is not None or steps is None or idle:
            job, self._job = self._job, None
            _finish(job, trouble, idle=idle)
        return self._job is None or bool(self._answers)

    def answer(self) -> str | None:
        """Returns the answer; None if the job has ended instead, and has called `finished`."""
        self._waited_s += time.monotonic() - self._asked_s
        return self._answers.popleft() if self._answers else None


def run_all(
    tasks: Iterable[Task],
    side_by_side: int,
    progress: Callable[[str, str], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Runs all tasks, `side_by_side` at once. Raises Unavailable if a task cannot begin although no other task runs.

    progress: called as `progress(name, step)` for each progress line of a job. meanwhile: called at least twice a
    second; an exception that it raises ends all jobs.
    """
    waiting = iter(tasks)
    held: Task | None = None
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        running: set[_Job] = set()
        while True:
            while len(running) < side_by_side and (task := held or next(waiting, None)):
                try:
                    job = stack.enter_context(_Job(task))
                except Unavailable:
                    if not running:
                        raise
                    held = task
                    break
                held = None
                running.add(job)
                selector.register(job, selectors.EVENT_READ)
            if not running:
                return
            meanwhile()
            for key, _ in selector.select(timeout=0.5):
                job = key.fileobj  # type: ignore[assignment]
                steps = job.read()
                idle = steps is not None and IDLE in steps
                for step in steps or ():
                    if step != IDLE:
                        progress(job.task.name, step)
                if steps is None or idle:
                    selector.unregister(job)
                    running.remove(job)
                    _finish(job, None, idle=idle)
            for job, why in [(job, why) for job in running if (why := job.overdue(job.wall_s))]:
                selector.unregister(job)
                running.remove(job)
                _finish(job, why)


def _finish(job: _Job, trouble: str | None, *, idle: bool = False) -> None:
    wall_s = job.wall_s
    job.end(idle=idle)
    job.task.finished(Finish(wall_s=wall_s, trouble=trouble, said=job.said))
