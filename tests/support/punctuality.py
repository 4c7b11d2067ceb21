"""Repeats runs on a real clock that the machine delayed; such a run is rightly invalid.

A virtual machine, for example, may get no processor for some time. The machine's own delays are measured by a thread
that only sleeps. The thread has a real-time priority, so that the tested programs cannot delay it.

A machine may also be too slow for any run on a real clock. There each such run is rightly invalid, so a test of
verdicts or times has nothing to test. It is then skipped, and the end of `make test` lists it (tools/reports.py). How
often undisturbed runs are invalid is measured by `make honest`.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

import pytest

from priolab.common.errors import QUIETER

ALWAYS_LATE = "this machine was too late for a run on a real clock, again and again"
"""The reason for which a test on a real clock is skipped."""

_Done = TypeVar("_Done")
_ATTEMPTS = 5
_ATTEMPTS_IF_SLOW = 2
_REASONS = ("calibration of", QUIETER)
_NAP_S = 0.001
_CALM_NS = 10_000_000
_LOOK_S = 2.0
_PATIENCE_S = 60.0
_attempts = _ATTEMPTS
"""How often a test tries; less once the machine has been late in every trial."""


def was_late(text: str) -> bool:
    """Return True if the text, the reason for a run's status, names a delay that the machine may have caused."""
    return any(reason in " ".join(text.split()) for reason in _REASONS)


def any_late(summary: Mapping[str, Any] | None) -> bool:
    """Return True if the machine may have delayed an arm. summary: the output of `priolab show --json`."""
    return summary is not None and any(was_late(arm["reason"] or "") for arm in summary["arms"])


class Witness:
    """A thread that sleeps a millisecond at a time. worst_ns: the most by which a sleep exceeded its millisecond."""

    def __init__(self) -> None:
        self.worst_ns = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sleep, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sleep(self) -> None:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        while not self._over.is_set():
            slept_at_ns = time.monotonic_ns()
            time.sleep(_NAP_S)
            self.worst_ns = max(self.worst_ns, time.monotonic_ns() - slept_at_ns - int(_NAP_S * 10**9))


def until_punctual(go: Callable[[], _Done], late: Callable[[_Done], bool], attempts: int = _ATTEMPTS) -> _Done:
    """Call `go`, and return its result. If the machine was late, wait until it is calm and repeat, up to five times."""
    for _ in range(attempts - 1):
        done = go()
        if not late(done):
            return done
        _wait_for_calm()
    return go()


def must_be_punctual(
    go: Callable[[], _Done], late: Callable[[_Done], bool], or_if: Callable[[_Done], bool] = lambda _: False
) -> _Done:
    """Do the same in a test. Skip the test if the machine was late in the last trial, too.

    Later tests of the same process are then repeated only once, as the machine is slow for all of them.
    or_if: another reason to repeat, for which no test is skipped.
    """
    global _attempts
    done = until_punctual(go, lambda done: late(done) or or_if(done), _attempts)
    if late(done):
        _attempts = _ATTEMPTS_IF_SLOW
        pytest.skip(ALWAYS_LATE)
    return done


def _wait_for_calm() -> None:
    """Wait until the machine has delayed no sleep for two seconds, but at most a minute."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with Witness() as witness:
            time.sleep(_LOOK_S)
        if witness.worst_ns < _CALM_NS:
            return
