"""A job of the desk's: an arm that is being made, and who listens to how far it is."""

import asyncio
import time
from dataclasses import dataclass, field
from enum import StrEnum

from experiments.demo.arm_view import Shown
from experiments.execution.request import Request


class State(StrEnum):
    """Of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


_ENDED = (State.DONE, State.FAILED, State.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class News:
    """How far a job is, wall_s after it was asked for. text: what it does, or why it failed; shown: what came of it."""

    state: State
    text: str
    wall_s: float
    shown: Shown | None


@dataclass(eq=False, kw_only=True)
class Job:
    """words: of the command line. listeners: how many follow its news. See News for the rest."""

    id: str
    request: Request
    words: tuple[str, ...]
    listeners: int = 0
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

    @property
    def news(self) -> News:
        """How far it is now."""
        return News(
            state=self.state, text=self.text, wall_s=round(time.monotonic() - self.began_s, 1), shown=self.shown
        )

    def say(self, state: State, text: str) -> None:
        """Something happened."""
        self.state, self.text = state, text
        self.changed.set()
        self.changed = asyncio.Event()
