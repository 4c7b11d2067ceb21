"""The interface of every tuner, a program that sets TCP_NOTSENT_LOWAT of a server's connections."""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from priolab.common.formats.decisions import Decision
from priolab.common.tuning import TunerKind

Note = Callable[[Decision], None]
"""A function that receives each decision."""

Say = Callable[[str], None]
"""A function that receives messages for the user, except decisions."""


class CannotTune(Exception):
    """Tuning is not possible; the text is the reason. remedy: what the user can do; empty if nothing is known."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Tuner(Protocol):
    """A context in which TCP_NOTSENT_LOWAT of connections is tuned. After the context, sockets keep their last value.

    A tuner never breaks a connection. If the kernel refuses a value, the decision's outcome has the reason.
    """

    kind: TunerKind

    @property
    def readable(self) -> int | None:
        """A descriptor that becomes readable if `look` should be called early; None if the tuner has no descriptor."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def look(self, now_ns: int) -> int:
        """Does the work that is due and reports new decisions. Returns the time at which `look` must be called next.

        now_ns: the present time, CLOCK_MONOTONIC. Raises CannotTune if tuning is no longer possible.
        """

    def restore(self) -> int:
        """Ends tuning. Open connections that have the tuner's LOWAT get back the LOWAT that the server set.

        Returns the number of these connections.
        """
