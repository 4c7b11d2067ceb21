"""Turns signals that ask a command to stop into an exception: on its way out everything is undone."""

import signal
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a command to stop."""


class Interrupted(BaseException):
    """A signal asked the command to stop. number: the signal's."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)

    @property
    def name(self) -> str:
        """The signal's name, SIGINT."""
        return signal.Signals(self.number).name

    @property
    def code(self) -> int:
        """The exit code for it."""
        return 128 + self.number


def raise_interrupted() -> None:
    """Makes the first such signal raise Interrupted; signals already ignored, as by nohup(1), stay so."""
    for stop in STOPS:
        if signal.getsignal(stop) is not signal.SIG_IGN:
            signal.signal(stop, _interrupt)


def _interrupt(number: int, _: FrameType | None) -> None:
    # Once is enough: undoing must not be interrupted in turn.
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    raise Interrupted(number)
