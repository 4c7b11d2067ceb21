"""The interface of every tuner."""

from collections.abc import Callable
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from common.formats.decisions import Decision

Note = Callable[[Decision], None]
"""Receives each decision."""

Say = Callable[[str], None]
"""Receives other messages for the user, a sentence each."""


class TunerKind(StrEnum):
    """The kinds of tuners: a BPF program in the kernel, or a process."""

    BPF = "bpf"
    USERLAND = "userland"


class CannotTune(Exception):
    """Tuning is not possible here; the text is the reason. remedy: a way out, empty if none is known."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Tuner(Protocol):
    """Tunes connections while its context lasts. Afterwards, or when it dies, sockets keep their last value.

    Nothing it does fails a connection: if the kernel refuses a value, the decision's outcome says so.
    """

    kind: TunerKind

    @property
    def readable(self) -> int | None:
        """A descriptor that becomes readable when `look` should be called before it is due; None if there is none."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def look(self, now_ns: int) -> int:
        """Does what is due and reports new decisions. Returns when to be called next. now_ns: CLOCK_MONOTONIC now.

        Raises CannotTune if there is nothing left to tune.
        """

    def restore(self) -> int:
        """Ends tuning; open connections that have the tuner's value get their previous one back. Returns how many."""
