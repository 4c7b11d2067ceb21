"""A sweep's folder: what there is of it, and who goes on with it.

Rules:
1. `sweep.json` is there before the first run, and never changes; it has the order in which runs are handed out.
2. A run that has its own name is complete. What ends in `.partial` is a wreck of whoever was killed, and is removed.
3. While somebody works in it he holds its lock. Whoever asks for the same sweep (arms, manner, programs, kernel, code)
   goes on with the newest such folder that nobody holds.
4. Runs that failed, or could not be made, are made again when it is resumed: the reason may have gone. One that is
   invalid stays: it was measured, and to repeat it until it pleases would be choosing results.
5. It has a partial name until every run is there; then experiment.json is written, and it is an experiment like others.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from experiments.results.run_folder import (
    PARTIAL,
    RunFolder,
    lock_new,
    lock_wreck,
    locked,
    publish,
    read_json,
    write_json,
)

_DOCUMENT = "sweep.json"
_AGAIN = ("failed", "unsupported")


class SweepFolder:
    """An unfinished one, held. A context: it stays when it is left by an exception, unless no run is in it."""

    def __init__(self, path: Path, document: Mapping[str, Any], lock: int) -> None:
        self.path = path
        self.final = path.with_name(path.name.removesuffix(PARTIAL))
        self.document = document
        self._lock = lock

    @classmethod
    def begin(cls, final: Path, document: Mapping[str, Any]) -> Self:
        """A new one."""
        path = final.with_name(final.name + PARTIAL)
        path.mkdir()
        lock = lock_new(path)
        write_json(path / _DOCUMENT, document)
        return cls(path, document, lock)

    @classmethod
    def resume(cls, results: Path, fingerprint: Mapping[str, Any]) -> Self | None:
        """The newest one with that fingerprint that nobody holds, cleared; None if there is none.

        Also one that is complete, and whose owner was killed while it was given its name.
        """
        found = []
        for path in locked(results):
            document = document_of(path)
            if document is not None and document.get("fingerprint") == fingerprint:
                found.append((str(document["started_at"]), path, document))
        for _, path, document in sorted(found, key=lambda each: each[:2], reverse=True):
            lock = lock_wreck(path)
            if lock is not None:
                folder = cls(path, document, lock)
                folder._clear()
                return folder
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None and self.path.exists() and not self.done():
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    @property
    def order(self) -> Sequence[str]:
        """Names of all runs."""
        order: Sequence[str] = self.document["order"]
        return order

    def building(self, name: str) -> RunFolder:
        """Where a run's folder is built."""
        return RunFolder(self.path / f"{name}{PARTIAL}")

    def file(self, name: str) -> None:
        """The run is complete."""
        self.building(name).path.rename(self.path / name)

    def run(self, name: str) -> dict[str, Any]:
        """run.json of a run that was filed."""
        document: dict[str, Any] = read_json(RunFolder(self.path / name).run)
        return document

    def done(self) -> list[str]:
        """Names of runs that are there, in order."""
        return _done(self.path, self.order)

    def publish(self, experiment: Mapping[str, Any]) -> Path:
        """Every run is there: the folder under its final name."""
        write_json(self.path / "experiment.json", experiment)
        publish(self.path, self.final)
        return self.final

    def _status(self, name: str) -> str:
        """Of a run that was filed. After a machine lost its power, what was written last may be gone."""
        try:
            return str(self.run(name)["status"])
        except (OSError, ValueError, KeyError, TypeError):
            return "failed"

    def _clear(self) -> None:
        """Remove what is to be made again, and what was only begun."""
        for path in list(self.path.iterdir()):
            if path.name.endswith(PARTIAL):
                shutil.rmtree(path)
            elif path.name.startswith(".") and path.name.endswith(".new"):
                path.unlink()
        for name in self.done():
            if self._status(name) in _AGAIN:
                # Renamed first: half of a folder must not pass for a run.
                (self.path / name).rename(self.building(name).path)
                shutil.rmtree(self.building(name).path)


def unfinished(path: Path) -> str | None:
    """What there is of an interrupted sweep, in words; None if that is not one."""
    document = document_of(path)
    if document is None:
        return None
    done = len(_done(path, document["order"]))
    return f"{done} of {len(document['order'])} runs are in {path}"


def _done(path: Path, order: Sequence[str]) -> list[str]:
    there = {entry.name for entry in os.scandir(path)}
    return [name for name in order if name in there]


def document_of(path: Path) -> dict[str, Any] | None:
    """sweep.json of a folder, finished or not; None if it has none that can be read."""
    try:
        document = read_json(path / _DOCUMENT)
    except (OSError, ValueError):
        return None
    order = document.get("order") if isinstance(document, dict) and "started_at" in document else None
    return document if isinstance(order, list) and all(isinstance(name, str) for name in order) else None
