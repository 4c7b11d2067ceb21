"""Run folders, each the only lasting result of a run; and an experiment's folder while its runs are carried out.

Rules:
1. The folder of an experiment or sweep is built under a name that ends in `.partial`, and renamed when it is complete.
2. Every JSON file appears whole or not at all.
3. The owner of a partial folder is the process that builds the folder. The owner holds a lock on the folder. A
   partial folder that nobody locks is a wreck: its owner has ended.
"""

import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, Self

from priolab.common.errors import StepFailed
from priolab.testbed import work_folder

_LOCK = ".lock"
_LOCK_SOON_S = 10.0


def last_line(journal: Path) -> Any:
    """Returns the last value of a file that has a JSON value per line. Raises ValueError if the file is empty."""
    *_, last = journal.read_text().splitlines()
    return json.loads(last)


class RunFolder:
    """Paths inside a run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Makes the run folder and its sub-folders."""
        for room in ("asked", "client", "front", "origin", "link"):
            (self.path / room).mkdir(parents=True)

    @property
    def run(self) -> Path:
        """run.json: the scenario as requested and as observed, status, times, verdict, metrics."""
        return self.path / "run.json"

    @property
    def environment(self) -> Path:
        """env.json: kernel, clock, versions."""
        return self.path / "env.json"

    @property
    def asked(self) -> Path:
        """The folder of the order, and of the programs' configurations and argument lists exactly as used."""
        return self.path / "asked"

    @property
    def arm(self) -> Path:
        """arm.json: the order, which has the settings of the run."""
        return self.asked / "arm.json"

    @property
    def page(self) -> Path:
        """page.json: the page as the origin reads it."""
        return self.asked / "page.json"

    @property
    def outcome(self) -> Path:
        """outcome.json: status, reason and observed settings, as the process of the run wrote them."""
        return self.path / "outcome.json"

    @property
    def client(self) -> Path:
        """The folder of plan.json, events.jsonl, keys.log and socket.json."""
        return self.path / "client"

    @property
    def front(self) -> Path:
        """The folder of the front's logs and sockets.jsonl."""
        return self.path / "front"

    @property
    def origin(self) -> Path:
        """The folder of access.jsonl, with times of CLOCK_MONOTONIC."""
        return self.path / "origin"

    @property
    def second(self) -> Path:
        """The folder of the second front (VIA) and of the link between the fronts; it exists only with VIA.

        It has the second front's logs, counters.json, connections.jsonl, passages.jsonl, and the folder `link`.
        """
        return self.path / "second"

    @property
    def wire(self) -> Path:
        """The folder of captures; it exists only if CAPTURE=yes."""
        return self.path / "wire"

    @property
    def link(self) -> Path:
        """The folder of calibration.json and counters.json."""
        return self.path / "link"


class PartialFolder:
    """An experiment's folder while it is being built. A context manager that removes the folder after an exception."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(final.name + work_folder.PARTIAL)

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True)
        self._lock = lock_new(self.path)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def publish(self) -> Path:
        """Gives the folder its final name, and returns its path under this name."""
        publish(self.path, self.final)
        return self.final


def lock_new(path: Path) -> int:
    """Locks a new folder; returns the descriptor of the lock. Closing the descriptor unlocks the folder."""
    lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)  # a search for wrecks may hold the lock for an instant
    return lock


def lock_wreck(path: Path) -> int | None:
    """Locks a folder that another process made; returns the descriptor of the lock.

    Returns None if that process holds the lock or has removed the lock file.
    """
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), (path / _LOCK).stat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def publish(partial: Path, final: Path) -> None:
    """Gives a complete folder its final name, and makes the symbolic link `latest` point to it. Raises StepFailed.

    The lock file is removed last. An unlocked lock file in a folder with a final name means that the owner was killed
    before it could remove the file.
    """
    partial.rename(final)
    latest = final.parent / "latest"
    temporary = latest.with_name(f".latest.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(final.name)
    try:
        temporary.replace(latest)
    except OSError as error:
        temporary.unlink()
        (final / _LOCK).unlink()
        raise StepFailed(f"pointing {latest} at the results", error.strerror or str(error)) from error
    (final / _LOCK).unlink()


def locked(results: Path) -> list[Path]:
    """Returns the folders in the results folder that have a lock file. Their owners are alive or were killed."""
    return [path.parent for path in results.glob(f"*/{_LOCK}") if not path.parent.is_symlink()]


def wrecks(results: Path) -> list[Path]:
    """Returns the partial folders in the results folder whose owner has ended."""
    found = []
    for path in sorted(results.glob(f"*{work_folder.PARTIAL}")):
        try:
            lock = os.open(path / _LOCK, os.O_RDWR)
        except OSError:
            # The folder has no lock file. The owner of a new folder needs an instant to make the file.
            if time.time() - path.stat().st_mtime > _LOCK_SOON_S:
                found.append(path)
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found.append(path)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
    return found
