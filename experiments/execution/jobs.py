"""Runs jobs, the processes that carry out batches of runs: side by side, each with a limit on its wall time.

Rules:
1. The functions of this module run in one thread. Any interruption (Ctrl-C, SIGTERM, an error) ends every job.
2. A job is the child of its keeper. If the lab is killed, the keeper ends the job. If the keeper is killed, the lab
   ends the job: it finds the job's processes by the path of the scratch folder in their environment.
3. Output lines of a job that begin with "@ " are its progress lines. All output goes to the job's log.
4. A job may be unable to begin because other jobs hold what it needs. The lab tries again whenever a job has ended.
"""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from experiments.errors import StepFailed, Unavailable
from experiments.execution import cpu_claims, keeper
from experiments.host.processes import program_environment
from experiments.host.program_logs import last_lines

_PROGRESS = "@ "
_STOP_S = 90.0
_SAID_BYTES = 4096
_DESERTED_S = 1.0
_GONE_S = 5.0
_MARK = "PRIOLAB_JOB"


def make_scratch() -> Path:
    """Makes the scratch folder of a job, without white space in its path. The keeper removes the folder."""
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="priolab-", dir="/tmp" if any(map(str.isspace, base)) else base))  # noqa: S108


@dataclass(frozen=True, kw_only=True)
class Task:
    """The work of a job.

    command: receives the path of the job's scratch folder, and returns the job's command line; raises Unavailable if
    the job cannot begin now. one_cpu: True to keep the job on one processor, if possible one that no other job uses.
    log: the file for the output.
    """

    name: str
    command: Callable[[Path], list[str]]
    one_cpu: bool
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
    """A running job: its process, its log and its scratch folder."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._started = time.monotonic()
        self._scratch = make_scratch()
        self._rest = b""
        self._said = b""
        self._log = task.log.open("wb")
        self._deserted_s: float | None = None
        self._claim = cpu_claims.claim() if task.one_cpu else None
        try:
            command = [sys.executable, "-I", "-S", str(keeper.__file__), str(self._scratch)]
            command.append(str(self._claim.cpu) if self._claim else "any")
            self._process = subprocess.Popen(
                [*command, *task.command(self._scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                bufsize=0,
                env=program_environment() | {_MARK: str(self._scratch)},
            )
        except BaseException:
            self._log.close()
            self._give_up_processor()
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.end()

    def fileno(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def overdue(self) -> str | None:
        return self._deserted() or self.task.overdue(self.wall_s)

    def _deserted(self) -> str | None:
        """Returns an error if the keeper ended a second ago, but a process of the job still holds its output pipe."""
        if self._process.poll() is None:
            return None
        now_s = time.monotonic()
        self._deserted_s = self._deserted_s or now_s
        if now_s - self._deserted_s < _DESERTED_S:
            return None
        return str(
            StepFailed(
                self.task.name, f"its keeper process ended with exit code {self._process.returncode}", self.task.log
            )
        )

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
        return [step.removeprefix(_PROGRESS) for step in steps if step.startswith(_PROGRESS)] if data else None

    def end(self) -> None:
        """Ends the job, if it has not ended by itself. Further calls do nothing."""
        if self._log.closed:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()  # this makes the keeper end the job
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode < 0:
            _kill_marked(self._scratch)
        self._give_up_processor()
        self._log.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        keeper.clean_up(str(self._scratch))  # needed only if the keeper itself was killed

    def _give_up_processor(self) -> None:
        if self._claim:
            self._claim.give_up()


def _kill_marked(scratch: Path) -> None:
    """Kills the processes of a job whose keeper was killed. Finds them by the path of the job's scratch folder."""
    mark = f"{_MARK}={scratch}".encode()
    end_s = time.monotonic() + _GONE_S
    while (left := list(_marked(mark))) and time.monotonic() < end_s:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_GONE_S / 100)


def _marked(mark: bytes) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


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
                for step in steps or ():
                    progress(job.task.name, step)
                if steps is None:
                    selector.unregister(job)
                    running.remove(job)
                    _finish(job, None)
            for job, why in [(job, why) for job in running if (why := job.overdue)]:
                selector.unregister(job)
                running.remove(job)
                _finish(job, why)


def _finish(job: _Job, trouble: str | None) -> None:
    wall_s = job.wall_s
    job.end()
    job.task.finished(Finish(wall_s=wall_s, trouble=trouble, said=job.said))
