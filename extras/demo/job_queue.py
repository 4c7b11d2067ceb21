"""The job queue: accepts requests for arms, and runs as many arms at once as the machine can.

Rules:
1. A request consists of the knobs of one scenario; any other request is refused before a job starts.
2. A finished arm is shown at once. All requests for an arm that is running or waiting share one job; each has a claim.
3. A job is the command `priolab run`; its results are an experiment like any other. Its process then waits for the next
   job. If the demo's process ends, the jobs' processes end, too.
4. A job is cancelled when its last claim is given up. A request gives its claim up when it cancels, or when it has had
   no listener for 30 s. This time lets a page that is being reloaded connect again.
5. A job that fails has ended; the job's text is the reason.
6. A request may be made beforehand, in the background. A job without any other request runs only while no other job
   waits or runs, and is interrupted by the next one; it starts again later. One such job runs at a time.
"""

import asyncio
import itertools
import signal
import traceback
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from priolab.common.errors import LabError, ScenarioError
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.request import Request
from priolab.experiments.scenario.knobs import KNOBS, scenario_from, with_defaults
from priolab.extras.demo.arm_view import FinishedArm
from priolab.extras.demo.finished_arms import FinishedArms
from priolab.extras.demo.job import CANCELLED, WAITING, Claim, DemoJob, JobState, News
from priolab.extras.demo.job_process import JobProcesses, tell_to_end

_SECOND_THOUGHTS_S = 0.25
"""The delay before a job starts, so that moving a slider does not start a job for each value that the slider passes."""
_UNHEARD_S = 30.0
_STOP_S = 100.0
_MOST_WAITING = 16
_MOST_BACKGROUND = 4


class Busy(LabError):
    """The demo takes no job: too many are waiting, or it is ending."""


class JobQueue:
    """The job queue of one event loop. run_words: execution options of every job, such as FABRIC."""

    def __init__(self, results: Path, run_words: Mapping[str, str], side_by_side: int) -> None:
        self._results = results
        self._run_words = {**run_words, "RESULTS": str(results), "CONTROL": "no"}
        self._finished = FinishedArms(results)
        self._side_by_side = side_by_side
        self._moved = asyncio.Condition()
        self._processes = JobProcesses()
        self._running: list[DemoJob] = []
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

    def ask(self, knobs: Mapping[str, str], *, background: bool = False) -> FinishedArm | Claim:
        """Returns the finished arm of these knobs, or a claim on the job that runs it. Missing knobs have defaults.

        background: True if nobody waits for the result yet.

        Raises ScenarioError, Busy, and Unavailable if the arm cannot be run here.
        """
        request = self._request(knobs)
        if found := self._finished.find(request):
            return found
        words = tuple(f"{name}={value}" for name, value in {**_complete(knobs), **self._run_words}.items())
        job = next((job for job in self._waiting_or_running if job.words == words), None)
        job = job or self._new(request, words, background=background)
        claim = Claim(number=f"{next(self._numbers)}", job=job)
        job.claims[claim.number] = background
        self._claims[claim.number] = claim
        self._watch(claim)
        if not background:
            self._interrupt_background()
        self._move()
        return claim

    @property
    def _waiting_or_running(self) -> list[DemoJob]:
        return [job for job in self._jobs if not job.is_over]

    def _new(self, request: Request, words: tuple[str, ...], *, background: bool) -> DemoJob:
        """Starts a job. Raises Busy."""
        if self._is_closing:
            raise Busy("the demo is ending")
        most = _MOST_BACKGROUND if background else _MOST_WAITING
        if sum(job.is_background == background for job in self._waiting_or_running) >= most:
            raise Busy(f"{most} arms are running or waiting; wait until some have ended, or cancel them")
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
        claim.job.claims.pop(claim.number, None)
        claim.job.wake()
        if not claim.job.claims:
            self._end(claim.job)
        elif claim.job.is_background:  # those who still want the result can wait
            self._interrupt_background()

    def _end(self, job: DemoJob) -> None:
        """Marks a job as cancelled, and asks its process to end; the process cleans up first."""
        if job.is_over:
            return
        process = job.process
        job.say(JobState.CANCELLED, CANCELLED)
        if process is not None:
            tell_to_end(process)
        self._move()

    def _interrupt_background(self) -> None:
        """Asks the processes of jobs that can wait to end, if another job waits or runs."""
        if all(job.is_background for job in self._waiting_or_running):
            return
        for job in self._running:
            if job.is_background and not job.is_over:
                job.is_interrupted = True
                if job.process is not None:
                    tell_to_end(job.process)

    async def close(self) -> None:
        """Ends all jobs, and waits until they have cleaned up; no further job begins."""
        self._is_closing = True
        for job in self._jobs:
            self._end(job)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_S)
        await self._processes.close()

    def _move(self) -> None:
        """Lets waiting jobs look again if they may begin."""

        async def move() -> None:
            async with self._moved:
                self._moved.notify_all()

        task = asyncio.ensure_future(move())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _may_begin(self, job: DemoJob) -> bool:
        before = self._jobs[: self._jobs.index(job)]
        waiting = [each for each in before if each not in self._running and not each.is_over]
        if not job.is_background:
            ahead = sum(not each.is_background for each in waiting)
            return len(self._running) + ahead < self._side_by_side
        return not self._running and not waiting and all(each.is_background for each in self._waiting_or_running)

    async def _carry_out(self, job: DemoJob) -> None:
        await asyncio.sleep(_SECOND_THOUGHTS_S)
        is_first = True
        while is_first or job.is_interrupted:
            is_first = job.is_interrupted = False
            async with self._moved:
                await self._moved.wait_for(lambda: job.is_over or self._may_begin(job))
                self._running.append(job)
            try:
                await self._begin(job)
            finally:
                self._running.remove(job)
                job.process = None
                self._move()

    async def _begin(self, job: DemoJob) -> None:
        if job.is_over:
            return
        job.say(JobState.RUNNING, "starting")
        try:
            code, said, out = await self._processes.carry_out(job)
        except OSError as error:
            job.say(JobState.FAILED, f"priolab run could not be started: {error.strerror}")
        except Exception as error:  # a bug in the demo: the traceback goes to the terminal, the job has failed
            traceback.print_exc()
            job.say(JobState.FAILED, f"the demo: {type(error).__name__}: {error}")
        else:
            if job.is_interrupted and code and not job.is_over:
                job.say(JobState.WAITING, WAITING)
            else:
                job.is_interrupted = False
                self._conclude(job, code, said, out)

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
    """Returns all knobs, with stripped values and defaults.

    The page sends every knob, so one that has its default counts as not given; otherwise LINK would stand for nothing.
    Raises ScenarioError.
    """
    stripped = {name: text.strip() for name, text in knobs.items()}
    return with_defaults(
        {name: text for name, text in stripped.items() if name not in KNOBS or text != KNOBS[name].default}
    )


def _name_of(number: int) -> str:
    return signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
