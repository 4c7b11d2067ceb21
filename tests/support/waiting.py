"""Waits for what other processes and threads do."""

import time
from collections.abc import Callable
from pathlib import Path


def until(met: Callable[[], object], what: str = "it does not come", *, limit_s: float = 20.0) -> None:
    """Wait until `met()` is true. Raise AssertionError with `what` after limit_s seconds."""
    end_s = time.monotonic() + limit_s
    while not met():
        assert time.monotonic() < end_s, what
        time.sleep(0.02)


def until_gone(*pids: int) -> None:
    """Wait until no process has one of these ids."""
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
