"""What every tuner is, whatever it is made of."""

from collections.abc import Callable
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from common.formats.decisions import Decision

Note = Callable[[Decision], None]
"""Is told each decision."""

Say = Callable[[str], None]
"""Is told, in a sentence, what else whoever watches should know."""


class TunerKind(StrEnum):
    """What tuners are made of."""

    BPF = "bpf"
    USERLAND = "userland"


class CannotTune(Exception):
    """It cannot be done here; the text is the reason. remedy: what may help, empty if nothing is known to."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Tuner(Protocol):
    """At work while its context lasts. Afterwards, or when it dies, sockets keep their last value.

    Nothing it does fails a connection: what the kernel refuses is told as a decision's outcome.
    """

    kind: TunerKind

    @property
    def readable(self) -> int | None:
        """A descriptor that is readable when there is something to tell before it is time to look, if it has one."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def look(self, now_ns: int) -> int:
        """Do what is due and tell new decisions; when the next look is. now_ns: CLOCK_MONOTONIC as it is.

        Raises CannotTune if there is nothing left to tune.
        """

    def restore(self) -> int:
        """Give open connections that still have the tuner's value what they had; how many. It tunes no more."""
