"""Makes processes of this machine wait for each other, by a lock that the kernel releases at a process's end."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(path: Path, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """A context in which no other process has the lock (flock(2)) of a folder or file. Raises OSError.

    path: a folder, or a file, which is made if it does not exist. waits: called before a wait for another process.
    """
    lock = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
