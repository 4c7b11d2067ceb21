"""A job of the demo: an arm that is being made, and the listeners to its progress."""

import asyncio
import time
from dataclasses import dataclass, field
from enum import StrEnum

from experiments.demo.arm_view import FinishedArm
from experiments.execution.request import Request


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


_ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class News:
    """A job's progress, wall_s after it was asked for.

    text: its step, or the reason of its failure; shown: its result.
    """

    state: JobState
    text: str
    wall_s: float
    shown: FinishedArm | None


@dataclass(eq=False, kw_only=True)
class DemoJob:
    """A job. words: of the command line. listeners: the number that follow its news. See News for the rest."""

    id: str
    request: Request
    words: tuple[str, ...]
    listeners: int = 0
    state: JobState = JobState.WAITING
    text: str = "waiting for a processor"
    shown: FinishedArm | None = None
    began_s: float = field(default_factory=time.monotonic)
    process: asyncio.subprocess.Process | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """True if nothing will change any more."""
        return self.state in _ENDED

    @property
    def news(self) -> News:
        """The present progress."""
        return News(
            state=self.state, text=self.text, wall_s=round(time.monotonic() - self.began_s, 1), shown=self.shown
        )

    def say(self, state: JobState, text: str) -> None:
        """Changes state and text, and wakes the listeners."""
        self.state, self.text = state, text
        self.changed.set()
        self.changed = asyncio.Event()
