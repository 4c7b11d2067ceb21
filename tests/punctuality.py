"""Machines that take their processors away for a while: real clocks go on, and a run that was late is rightly invalid.

A test of a verdict on a real clock then has to go again. How late the machine itself is, a witness says that does
nothing but sleep, with a higher priority than whatever is tested: what it misses was not missed for want of processors.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

_Done = TypeVar("_Done")
_ATTEMPTS = 5
_REASONS = (
    "the ferry's lateness",
    "calibration of",
    "its lateness in ns",
    "how late the first packet",
    "how late the origin",
    "how long packets lay",
)
_NAP_S = 0.001
_CALM_NS = 10_000_000
_LOOK_S = 2.0
_PATIENCE_S = 60.0


def was_late(text: str) -> bool:
    """Whether a run says that time on this machine was not what it has to be."""
    return any(reason in text for reason in _REASONS)


def any_late(summary: Mapping[str, Any] | None) -> bool:
    """The same of a whole experiment."""
    return summary is not None and any(was_late(arm["reason"] or "") for arm in summary["arms"])


class Witness:
    """Sleeps a millisecond at a time, and keeps by how much it overslept at worst."""

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


def until_punctual(go: Callable[[], _Done], late: Callable[[_Done], bool]) -> _Done:
    """What it comes to; where the machine was late, again, up to five times, each time once the machine is calm."""
    for _ in range(_ATTEMPTS - 1):
        done = go()
        if not late(done):
            return done
        _wait_for_calm()
    return go()


def _wait_for_calm() -> None:
    """Until the machine is punctual for two seconds, or for a minute."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with Witness() as witness:
            time.sleep(_LOOK_S)
        if witness.worst_ns < _CALM_NS:
            return
