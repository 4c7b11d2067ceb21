"""The desk: arms are asked for here, and carried out by the command line, as many at once as there are processors.

Rules:
1. What is asked for is a scenario, in the words of its knobs; what is not one is refused before anything is started.
2. An arm that is there is shown at once. One that is being run, or waits, is one job, however many ask for it.
3. A job is `priolab run` in a process of its own: what it leaves is an experiment like any other. It is told to end
   when nobody wants it any more, and dies with this process whatever becomes of that.
"""

import asyncio
import contextlib
import ctypes
import itertools
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from experiments.demo.shelf import Shelf
from experiments.demo.showing import Shown
from experiments.errors import LabError, ScenarioError
from experiments.invocation import request_from
from experiments.knobs import KNOBS, scenario_from
from experiments.processes import in_utc
from experiments.request import Request

_PR_SET_PDEATHSIG = 1
_STOP_S = 100.0
_MOST_WAITING = 16
_SAID_LINES = 5
_libc = ctypes.CDLL(None)


class State(StrEnum):
    """Of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


_ENDED = (State.DONE, State.FAILED, State.CANCELLED)


class Busy(LabError):
    """Too many jobs are waiting already."""


@dataclass(eq=False)
class Job:
    """An arm that is being made. wanted: by how many; text: what it does, or why it failed; shown: what came of it."""

    id: str
    request: Request
    words: tuple[str, ...]
    wanted: int = 1
    state: State = State.WAITING
    text: str = "waiting for a processor"
    shown: Shown | None = None
    began_s: float = field(default_factory=time.monotonic)
    process: asyncio.subprocess.Process | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in _ENDED

    def say(self, state: State, text: str) -> None:
        """Something happened."""
        self.state, self.text = state, text
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(frozen=True, kw_only=True)
class News:
    """Of a job: how far it is, wall_s after it was asked for."""

    state: State
    text: str
    wall_s: float
    shown: Shown | None


class Desk:
    """One event loop's. run_words: knobs of the run that every job gets (RESULTS, FABRIC)."""

    def __init__(self, results: Path, run_words: Mapping[str, str], side_by_side: int) -> None:
        self._results = results
        self._run_words = {**run_words, "RESULTS": str(results), "CONTROL": "no"}
        self._shelf = Shelf(results)
        self._places = asyncio.Semaphore(side_by_side)
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._is_closing = False

    def find(self, knobs: Mapping[str, str]) -> Shown | None:
        """The arm of these knobs, defaults for the rest, if it is there. Raises ScenarioError, Unavailable."""
        return self._shelf.find(self._request(knobs))

    def _request(self, knobs: Mapping[str, str]) -> Request:
        # What a person may list with commas is one arm only here, so all is checked as one scenario first.
        complete = _complete(knobs)
        scenario_from(complete)
        return request_from({**complete, **self._run_words})

    def ask(self, knobs: Mapping[str, str]) -> Shown | Job:
        """The arm of these knobs, defaults for the rest, or the job that makes it.

        Raises ScenarioError, Unavailable where it cannot be run here, Busy.
        """
        request = self._request(knobs)
        if found := self._shelf.find(request):
            return found
        words = tuple(f"{name}={value}" for name, value in {**_complete(knobs), **self._run_words}.items())
        for job in self._jobs.values():
            if not job.is_over and job.words == words:
                job.wanted += 1
                return job
        if self._is_closing:
            raise Busy("the demo is ending")
        if sum(not job.is_over for job in self._jobs.values()) >= _MOST_WAITING:
            raise Busy(f"{_MOST_WAITING} arms are being run or waiting; let some of them end, or cancel them")
        job = Job(id=f"{next(self._numbers)}", request=request, words=words)
        self._jobs[job.id] = job
        task = asyncio.create_task(self._carry_out(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    def job(self, number: str) -> Job:
        """Raises ScenarioError for one that there is not."""
        if number not in self._jobs:
            raise ScenarioError("job", number[:20], "the number of a job of this demo")
        return self._jobs[number]

    async def news(self, job: Job) -> AsyncIterator[News]:
        """How far it is, now and whenever that changes, until it is over."""
        while True:
            changed = job.changed
            yield News(state=job.state, text=job.text, wall_s=round(time.monotonic() - job.began_s, 1), shown=job.shown)
            if job.is_over:
                return
            await changed.wait()

    def cancel(self, job: Job) -> None:
        """One who asked for it wants it no more; the last of them ends it. Does nothing to one that is over."""
        job.wanted -= 1
        if job.wanted <= 0:
            self._end(job)

    def _end(self, job: Job) -> None:
        """What has begun undoes itself, which takes a moment."""
        if job.is_over:
            return
        process = job.process
        job.say(State.CANCELLED, "cancelled")
        if process is not None:
            _tell_to_end(process)

    async def close(self) -> None:
        """End all jobs, and wait until they have undone what they did; none begins any more."""
        self._is_closing = True
        for job in self._jobs.values():
            self._end(job)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_S)

    async def _carry_out(self, job: Job) -> None:
        async with self._places:
            if job.is_over:
                return
            job.say(State.RUNNING, "starting")
            command = [sys.executable, "-m", "experiments.cli", "run", "--print-folder", *job.words]
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env=in_utc(),
                    start_new_session=True,
                    preexec_fn=_die_with_parent,
                )
            except OSError as error:
                job.say(State.FAILED, f"it could not be started: {error.strerror}")
                return
            job.process = process
            if job.is_over:  # it was cancelled in the meantime
                _tell_to_end(process)
            try:
                said, out = await asyncio.gather(_follow(process, job), _read_all(process))
                code = await process.wait()
            finally:
                if process.returncode is None:
                    _tell_to_end(process)
            self._conclude(job, code, said, out)

    def _conclude(self, job: Job, code: int, said: list[str], out: str) -> None:
        if job.is_over:
            return
        folder = Path(out.strip())
        if out.strip() and folder.parent == self._results and folder.is_dir():
            job.shown = Shown(folder=folder, arm=job.request.arms[0].name)
            job.say(State.DONE, "done")
            return
        reason = said[-1].removeprefix("priolab: ") if said else "it said nothing"
        job.say(State.FAILED, f"{reason}" if code else "it named no folder")


def _complete(knobs: Mapping[str, str]) -> dict[str, str]:
    """With defaults, and with what is no knob at all, for the scenario to refuse; values as the scenario reads them."""
    return {name: knob.default for name, knob in KNOBS.items()} | {name: text.strip() for name, text in knobs.items()}


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _tell_to_end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


async def _follow(process: asyncio.subprocess.Process, job: Job) -> list[str]:
    """Passes on its progress; its last lines."""
    assert process.stderr is not None
    said: list[str] = []
    async for raw in process.stderr:
        line = raw.decode(errors="replace").strip()
        if not line:
            continue
        said = [*said, line][-_SAID_LINES:]
        _, colon, step = line.partition(": ")
        if colon and not job.is_over and line[0].isdigit():
            job.say(State.RUNNING, step)
    return said


async def _read_all(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.read()).decode(errors="replace")


def processors() -> int:
    """How many jobs at once."""
    return len(os.sched_getaffinity(0))
