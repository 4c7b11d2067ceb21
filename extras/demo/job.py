"""A job of the demo: the run of one arm that the page has requested, and the job's progress."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from enum import StrEnum

from priolab.experiments.execution.request import Request
from priolab.extras.demo.arm_view import FinishedArm


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


CANCELLED = "cancelled"
WAITING = "waiting for a processor"
_ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class News:
    """The progress of a job.

    text: the present step, or the reason of a failure. wall_s: seconds from the first request until the job's end, or
    until now. shown: the result; None until the job is done.
    """

    state: JobState
    text: str
    wall_s: float
    shown: FinishedArm | None


@dataclass(eq=False, kw_only=True)
class DemoJob:
    """A job: the run of one arm.

    words: the knobs on the command line of the job's process. claims: the numbers of the requests that want the result,
    each with True if the request can wait (see `is_background`). began_s: the time of the first request, by the
    monotonic clock. ended_s: the time of the job's end; None before it. is_interrupted: True if the job's process is to
    end, to be started again later. changed: the event that the next change of the job's state, text or claims sets.
    state, text, shown: see News.
    """

    request: Request
    words: tuple[str, ...]
    claims: dict[str, bool] = field(default_factory=dict)
    state: JobState = JobState.WAITING
    text: str = WAITING
    shown: FinishedArm | None = None
    began_s: float = field(default_factory=time.monotonic)
    ended_s: float | None = None
    process: asyncio.subprocess.Process | None = None
    is_interrupted: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""
        return self.state in _ENDED

    @property
    def is_background(self) -> bool:
        """True if nobody waits for the result: all requests made it beforehand."""
        return all(self.claims.values())

    @property
    def news(self) -> News:
        """The job's present progress."""
        wall_s = (self.ended_s or time.monotonic()) - self.began_s
        return News(state=self.state, text=self.text, wall_s=round(wall_s, 1), shown=self.shown)

    def say(self, state: JobState, text: str) -> None:
        """Sets state and text, and wakes the listeners."""
        self.state, self.text = state, text
        if self.is_over:
            self.ended_s = time.monotonic()
        self.wake()

    def wake(self) -> None:
        """Wakes the listeners."""
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(eq=False, kw_only=True)
class Claim:
    """A request's claim on a job. listeners: the number of HTTP requests that follow the job's progress for it."""

    number: str
    job: DemoJob
    listeners: int = 0

    @property
    def is_given_up(self) -> bool:
        """True if the request no longer wants the result."""
        return self.number not in self.job.claims

    @property
    def news(self) -> News:
        """The job's present progress; cancelled if the claim was given up before the job ended."""
        news = self.job.news
        given_up = self.is_given_up and not self.job.is_over
        return replace(news, state=JobState.CANCELLED, text=CANCELLED) if given_up else news
