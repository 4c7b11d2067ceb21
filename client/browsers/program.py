"""Runs the programs of a browser. The end of the context ends a program and its children."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, TypeVar

from priolab.client.load_scheduler import LoadFailed

_POLL_S = 0.02
_Seen = TypeVar("_Seen")


@contextmanager
def running(words: Sequence[str], environment: Mapping[str, str], log: IO[Any]) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a program, whose output goes to the log. Kills the program and its children at the end."""
    process = subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def awaited(look: Callable[[], _Seen | None], process: subprocess.Popen[bytes], name: str, limit_s: float) -> _Seen:
    """Waits until `look` sees that a program is ready, and returns what it saw.

    Raises LoadFailed if the program ends, or takes more than limit_s seconds. name: the program's name in errors.
    """
    due_s = time.monotonic() + limit_s
    while not (seen := look()):
        if process.poll() is not None:
            raise LoadFailed(f"{name} ended with exit code {process.returncode}")
        if time.monotonic() > due_s:
            raise LoadFailed(f"{name} was not ready within {limit_s:g} s")
        time.sleep(_POLL_S)
    return seen
