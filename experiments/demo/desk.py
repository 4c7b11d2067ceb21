"""The desk: arms are asked for here, and carried out by the command line, as many at once as the machine bears.

Rules:
1. What is asked for is a scenario, in the words of its knobs; what is not one is refused before anything is started.
2. An arm that is there is shown at once. One that is being run, or waits, is one job, however many ask for it.
3. A job is `priolab run` in a process of its own: what it leaves is an experiment like any other. It dies with this
   process whatever becomes of that.
4. A job is for those who listen to it. When the last of them says so it is told to end; when the last has gone without
   a word, or nobody ever came, a while later: a page that is loaded anew may come back.
5. Whatever goes wrong with a job, it is over then, and says why.
"""

import asyncio
import contextlib
import ctypes
import itertools
import signal
import traceback
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from experiments.demo.arm_view import Shown
from experiments.demo.job import Job, News, State
from experiments.demo.shelf import Shelf
from experiments.errors import LabError, ScenarioError
from experiments.execution.invocation import request_from
from experiments.execution.request import Request
from experiments.host.processes import module, program_environment
from experiments.scenario.knobs import KNOBS, scenario_from

_PR_SET_PDEATHSIG = 1
_STOP_S = 100.0
_SECOND_THOUGHTS_S = 0.25
"""Nothing is started for a value that a slider only passes through."""
_UNHEARD_S = 30.0
_MOST_LINE_BYTES = 2**20
_MOST_WAITING = 16
_SAID_LINES = 5
_libc = ctypes.CDLL(None)


class Busy(LabError):
    """Too many jobs are waiting already."""


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

    def forget(self, shown: Shown) -> None:
        """That folder cannot be read: what it was to hold is run anew when it is asked for."""
        self._shelf.forget(shown)

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
        self._watch(job)
        return job

    def job(self, number: str) -> Job:
        """Raises ScenarioError for one that there is not."""
        if number not in self._jobs:
            raise ScenarioError("job", number[:20], "the number of a job of this demo")
        return self._jobs[number]

    async def news(self, job: Job) -> AsyncGenerator[News, None]:
        """How far it is, now and whenever that changes, until it is over."""
        job.listeners += 1
        try:
            while True:
                changed = job.changed
                yield job.news
                if job.is_over:
                    return
                await changed.wait()
        finally:
            job.listeners -= 1
            self._watch(job)

    def _watch(self, job: Job) -> None:
        """End it if nobody listens after a while."""

        def look() -> None:
            if not job.listeners:
                self._end(job)

        if not job.is_over and not job.listeners:
            asyncio.get_running_loop().call_later(_UNHEARD_S, look)

    def cancel(self, job: Job) -> None:
        """One who listens wants it no more; it ends if there is no other. Does nothing to one that is over."""
        if job.listeners <= 1:
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
        await asyncio.sleep(_SECOND_THOUGHTS_S)
        async with self._places:
            if job.is_over:
                return
            job.say(State.RUNNING, "starting")
            try:
                code, said, out = await self._run(job)
            except OSError as error:
                job.say(State.FAILED, f"it could not be started: {error.strerror}")
                return
            except Exception as error:  # a fault of the demo's own: the trace goes to the terminal, the job is over
                traceback.print_exc()
                job.say(State.FAILED, f"the demo: {type(error).__name__}: {error}")
                return
            self._conclude(job, code, said, out)

    async def _run(self, job: Job) -> tuple[int, list[str], str]:
        """Exit code, last lines of what it said, and what it printed. Raises OSError if it cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *(*module("experiments"), "run", "--print-folder", *job.words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=program_environment(),
            start_new_session=True,
            preexec_fn=_die_with_parent,
            limit=_MOST_LINE_BYTES,
        )
        job.process = process
        if job.is_over:  # it was cancelled in the meantime
            _tell_to_end(process)
        try:
            said, out = await asyncio.gather(_follow(process, job), _read_all(process))
            return await process.wait(), said, out
        finally:
            if process.returncode is None:
                _tell_to_end(process)
                await _see_to_its_end(process)

    def _conclude(self, job: Job, code: int, said: list[str], out: str) -> None:
        if job.is_over:
            return
        folder = Path(out.strip())
        if out.strip() and folder.parent == self._results and folder.is_dir():
            job.shown = Shown(folder=folder, arm=job.request.arms[0].name)
            job.say(State.DONE, "done")
            return
        if code < 0:
            job.say(State.FAILED, f"the lab was killed ({_name_of(-code)})")
            return
        reason = said[-1].removeprefix("priolab: ") if said else "it said nothing"
        job.say(State.FAILED, f"{reason}" if code else "it named no folder")


def _complete(knobs: Mapping[str, str]) -> dict[str, str]:
    """With defaults, and with what is no knob at all, for the scenario to refuse; values as the scenario reads them."""
    return {name: knob.default for name, knob in KNOBS.items()} | {name: text.strip() for name, text in knobs.items()}


def _name_of(number: int) -> str:
    return signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _tell_to_end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


async def _see_to_its_end(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


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
