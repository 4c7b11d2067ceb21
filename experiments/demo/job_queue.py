"""The job queue: accepts requests for arms, and runs as many arms at once as the machine can.

Rules:
1. A request consists of the knobs of one scenario; any other request is refused before a job starts.
2. A finished arm is shown at once. All requests for an arm that is running or waiting share one job; each has a claim.
3. A job is a process of `priolab run`; its results are an experiment like any other. If the demo's process ends, the
   job's process ends, too.
4. A job is cancelled when its last claim is given up. A request gives its claim up when it cancels, or when it has had
   no listener for 30 s. This time lets a page that is being reloaded connect again.
5. A job that fails has ended; the job's text is the reason.
"""

import asyncio
import contextlib
import itertools
import signal
import traceback
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from pathlib import Path

from experiments.demo.arm_view import FinishedArm
from experiments.demo.finished_arms import FinishedArms
from experiments.demo.job import CANCELLED, Claim, DemoJob, JobState, News
from experiments.errors import LabError, ScenarioError
from experiments.execution.invocation import request_from
from experiments.execution.request import Request
from experiments.host.processes import die_with_parent, module, program_environment
from experiments.scenario.knobs import scenario_from, with_defaults

_STOP_S = 100.0
_SECOND_THOUGHTS_S = 0.25
"""The delay before a job starts, so that moving a slider does not start a job for each value that the slider passes."""
_UNHEARD_S = 30.0
_MOST_LINE_BYTES = 2**20
_MOST_WAITING = 16
_SAID_LINES = 5


class Busy(LabError):
    """Too many jobs are waiting, or the demo is ending."""


class JobQueue:
    """The job queue of one event loop. run_words: execution options of every job, such as FABRIC."""

    def __init__(self, results: Path, run_words: Mapping[str, str], side_by_side: int) -> None:
        self._results = results
        self._run_words = {**run_words, "RESULTS": str(results), "CONTROL": "no"}
        self._finished = FinishedArms(results)
        self._places = asyncio.Semaphore(side_by_side)
        self._jobs: list[DemoJob] = []
        self._claims: dict[str, Claim] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._is_closing = False

    def forget(self, shown: FinishedArm) -> None:
        """Forgets an arm whose folder cannot be read. The next request runs the arm again."""
        self._finished.forget(shown)

    def find(self, knobs: Mapping[str, str]) -> FinishedArm | None:
        """Returns the finished arm of these knobs; None if no such arm is finished. Missing knobs have defaults.

        Raises ScenarioError, and Unavailable if the arm cannot be run here.
        """
        return self._finished.find(self._request(knobs))

    def _request(self, knobs: Mapping[str, str]) -> Request:
        # Values with commas would make several arms, so the knobs are checked as one scenario first.
        complete = _complete(knobs)
        scenario_from(complete)
        return request_from({**complete, **self._run_words})

    def ask(self, knobs: Mapping[str, str]) -> FinishedArm | Claim:
        """Returns the finished arm of these knobs, or a claim on the job that runs it. Missing knobs have defaults.

        Raises ScenarioError, Busy, and Unavailable if the arm cannot be run here.
        """
        request = self._request(knobs)
        if found := self._finished.find(request):
            return found
        words = tuple(f"{name}={value}" for name, value in {**_complete(knobs), **self._run_words}.items())
        job = next((job for job in self._waiting_or_running if job.words == words), None) or self._new(request, words)
        claim = Claim(number=f"{next(self._numbers)}", job=job)
        job.claims.add(claim.number)
        self._claims[claim.number] = claim
        self._watch(claim)
        return claim

    @property
    def _waiting_or_running(self) -> list[DemoJob]:
        return [job for job in self._jobs if not job.is_over]

    def _new(self, request: Request, words: tuple[str, ...]) -> DemoJob:
        """Starts a job. Raises Busy."""
        if self._is_closing:
            raise Busy("the demo is ending")
        if len(self._waiting_or_running) >= _MOST_WAITING:
            raise Busy(f"{_MOST_WAITING} arms are running or waiting; wait until some have ended, or cancel them")
        job = DemoJob(request=request, words=words)
        self._jobs.append(job)
        task = asyncio.create_task(self._carry_out(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    def claim(self, number: str) -> Claim:
        """Returns the claim with this number. Raises ScenarioError if no claim has this number."""
        if number not in self._claims:
            raise ScenarioError("job", number[:20], "the number of a job of this demo")
        return self._claims[number]

    async def news(self, claim: Claim) -> AsyncGenerator[News, None]:
        """Yields the progress of the claim's job until the job has ended or the claim is given up."""
        claim.listeners += 1
        try:
            while True:
                changed = claim.job.changed
                yield claim.news
                if claim.job.is_over or claim.is_given_up:
                    return
                await changed.wait()
        finally:
            claim.listeners -= 1
            self._watch(claim)

    def _watch(self, claim: Claim) -> None:
        """Gives the claim up in 30 s if it has no listener then."""

        def look() -> None:
            if not claim.listeners:
                self.cancel(claim)

        if not claim.job.is_over and not claim.listeners:
            asyncio.get_running_loop().call_later(_UNHEARD_S, look)

    def cancel(self, claim: Claim) -> None:
        """Gives a claim up. Its job ends if it has no other claim and has not ended already."""
        claim.job.claims.discard(claim.number)
        claim.job.wake()
        if not claim.job.claims:
            self._end(claim.job)

    def _end(self, job: DemoJob) -> None:
        """Marks a job as cancelled, and asks its process to end; the process cleans up first."""
        if job.is_over:
            return
        process = job.process
        job.say(JobState.CANCELLED, CANCELLED)
        if process is not None:
            _tell_to_end(process)

    async def close(self) -> None:
        """Ends all jobs, and waits until they have cleaned up; no further job begins."""
        self._is_closing = True
        for job in self._jobs:
            self._end(job)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_S)

    async def _carry_out(self, job: DemoJob) -> None:
        await asyncio.sleep(_SECOND_THOUGHTS_S)
        async with self._places:
            if job.is_over:
                return
            job.say(JobState.RUNNING, "starting")
            try:
                code, said, out = await self._run(job)
            except OSError as error:
                job.say(JobState.FAILED, f"priolab run could not be started: {error.strerror}")
                return
            except Exception as error:  # a bug in the demo: the traceback goes to the terminal, the job has failed
                traceback.print_exc()
                job.say(JobState.FAILED, f"the demo: {type(error).__name__}: {error}")
                return
            self._conclude(job, code, said, out)

    async def _run(self, job: DemoJob) -> tuple[int, list[str], str]:
        """Runs the command; returns exit code, last lines of standard error, and standard output. Raises OSError."""
        process = await asyncio.create_subprocess_exec(
            *(*module("experiments"), "run", "--print-folder", *job.words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=program_environment(),
            start_new_session=True,
            preexec_fn=partial(die_with_parent, signal.SIGTERM),
            limit=_MOST_LINE_BYTES,
        )
        job.process = process
        if job.is_over:  # the job was cancelled in the meantime
            _tell_to_end(process)
        try:
            said, out = await asyncio.gather(_follow(process, job), _read_all(process))
            return await process.wait(), said, out
        finally:
            if process.returncode is None:
                _tell_to_end(process)
                await _see_to_its_end(process)

    def _conclude(self, job: DemoJob, code: int, said: list[str], out: str) -> None:
        if job.is_over:
            return
        folder = Path(out.strip())
        if out.strip() and folder.parent == self._results and folder.is_dir():
            job.shown = FinishedArm(folder=folder, arm=job.request.arms[0].name)
            job.say(JobState.DONE, "done")
            return
        if code < 0:
            job.say(JobState.FAILED, f"the lab was killed ({_name_of(-code)})")
            return
        reason = said[-1].removeprefix("priolab: ") if said else "priolab run gave no reason"
        job.say(JobState.FAILED, f"{reason}" if code else "priolab run printed no folder")


def _complete(knobs: Mapping[str, str]) -> dict[str, str]:
    """Returns all knobs, with stripped values and defaults."""
    return {name: text.strip() for name, text in with_defaults(knobs).items()}


def _name_of(number: int) -> str:
    return signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"


def _tell_to_end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


async def _see_to_its_end(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def _follow(process: asyncio.subprocess.Process, job: DemoJob) -> list[str]:
    """Reports the job's progress; returns the last lines of its standard error."""
    assert process.stderr is not None
    said: list[str] = []
    async for raw in process.stderr:
        line = raw.decode(errors="replace").strip()
        if not line:
            continue
        said = [*said, line][-_SAID_LINES:]
        _, colon, step = line.partition(": ")
        if colon and not job.is_over and line[0].isdigit():
            job.say(JobState.RUNNING, step)
    return said


async def _read_all(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.read()).decode(errors="replace")
