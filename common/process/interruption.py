"""Turns the signals that ask a command to stop into an exception, so that context managers of the command clean up.

Python drops an exception that is raised in a finalizer or in a callback of a weak reference, such as those of the
import system. If it drops the exception of a signal, the signal comes once more.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from priolab.common.exit_codes import signalled

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a command to stop."""

_AGAIN_S = 0.01


class Interrupted(BaseException):
    """A signal asked the command to stop. number: the number of the signal."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)

    @property
    def name(self) -> str:
        """The name of the signal, such as SIGINT."""
        return signal.Signals(self.number).name

    @property
    def code(self) -> int:
        """The exit code of a command that this signal stopped."""
        return signalled(self.number)


def raise_interrupted() -> None:
    """Makes the first arriving signal of STOPS raise Interrupted. Ignored signals, as under nohup(1), stay ignored.

    A signal that was blocked, so that it could not disturb the start of Python, may arrive now.
    """
    for stop in STOPS:
        if signal.getsignal(stop) is not signal.SIG_IGN:
            signal.signal(stop, _interrupt)
    if sys.unraisablehook is not _drop:
        _dropping.instead = sys.unraisablehook
        sys.unraisablehook = _drop
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


class _Dropping:
    """instead: what handles exceptions that Python drops, other than Interrupted."""

    instead: Callable[["sys.UnraisableHookArgs"], object] = sys.__unraisablehook__


_dropping = _Dropping()


def _drop(dropped: "sys.UnraisableHookArgs") -> None:
    """Sends a signal again whose exception Python drops, from another thread, when this hook has ended."""
    if isinstance(dropped.exc_value, Interrupted):
        signal.signal(dropped.exc_value.number, _interrupt)
        threading.Timer(_AGAIN_S, os.kill, (os.getpid(), dropped.exc_value.number)).start()
    else:
        _dropping.instead(dropped)


@contextmanager
def limited(limit_s: float) -> Iterator[None]:
    """A context in which Interrupted, with SIGALRM as its number, is raised after limit_s seconds.

    Must be entered in the main thread.
    """
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(number: int, _: FrameType | None) -> None:
    # Further signals are ignored, because they must not interrupt the clean-up.
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    if _held.active:
        _held.number = number
    else:
        raise Interrupted(number)


class _Held:
    """State of this process.

    active: True while the exception Interrupted is held back. number: the signal that came meanwhile.
    """

    active = False
    number: int | None = None


_held = _Held()


@contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Holds Interrupted back until the yielded function is called, or else until the end of the context.

    Code that starts a program needs this context. Otherwise a signal during Popen's constructor could leave a running
    program that nothing would stop. Threads other than the main one need nothing, as signals do not interrupt them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def allow() -> None:
        _held.active = False
        number, _held.number = _held.number, None
        if number is not None:
            raise Interrupted(number)

    _held.active = True
    try:
        yield allow
    finally:
        allow()
