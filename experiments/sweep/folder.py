"""A sweep's folder: its content, its lock, and its resumption.

Rules:
1. `sweep.json` is there before the first run, and never changes; it has the order in which runs are handed out.
2. A run under its own name is complete. A folder that ends in `.partial` was left by a killed owner, and is removed.
3. The owner of a sweep in progress holds its lock. A request for the same sweep (arms, manner, programs, kernel, code)
   resumes the newest such folder without an owner.
4. Runs that failed, or could not be made, are made again when it is resumed: the reason may have gone. An invalid run
   stays: it was measured, and to repeat it until it pleases would be choosing results.
5. It has a partial name until every run is there; then experiment.json is written, and it is an experiment like others.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from analysis.records.runs import load_run
from common.formats.experiment import ExperimentRecord
from common.formats.reading import FolderError, read_document
from common.formats.run import RunRecord
from common.formats.sweep import MOST_SWEEP_BYTES, SWEEP_FORMAT, SweepRecord
from experiments.results.run_folder import (
    PARTIAL,
    RunFolder,
    lock_new,
    lock_wreck,
    locked,
    publish,
    write_json,
)

_DOCUMENT = "sweep.json"
_AGAIN = ("failed", "unsupported")


class SweepFolder:
    """An unfinished sweep's folder, locked. A context: left by an exception, it stays unless no run is in it."""

    def __init__(self, path: Path, record: SweepRecord, lock: int) -> None:
        self.path = path
        self.final = path.with_name(path.name.removesuffix(PARTIAL))
        self.record = record
        self._lock = lock

    @classmethod
    def begin(cls, final: Path, record: SweepRecord) -> Self:
        """Begins a new folder."""
        path = final.with_name(final.name + PARTIAL)
        path.mkdir()
        lock = lock_new(path)
        write_json(path / _DOCUMENT, record.as_document())
        return cls(path, record, lock)

    @classmethod
    def resume(cls, results: Path, fingerprint: Mapping[str, Any]) -> Self | None:
        """Returns the newest folder with that fingerprint and without an owner, cleared; None if there is none.

        It may be a complete one whose owner was killed while renaming it.
        """
        found = []
        for path in locked(results):
            record = record_of(path)
            if record is not None and record.fingerprint == fingerprint:
                found.append((record.started_at, path, record))
        for _, path, record in sorted(found, key=lambda each: each[:2], reverse=True):
            lock = lock_wreck(path)
            if lock is not None:
                folder = cls(path, record, lock)
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
        return self.record.order

    def building(self, name: str) -> RunFolder:
        """The folder in which to build a run."""
        return RunFolder(self.path / f"{name}{PARTIAL}")

    def file(self, name: str) -> None:
        """Renames a complete run's folder to its own name."""
        self.building(name).path.rename(self.path / name)

    def run(self, name: str) -> RunRecord:
        """Reads run.json of a filed run. Raises FolderError."""
        return load_run(self.path / name).record

    def done(self) -> list[str]:
        """Names of the runs done, in order."""
        return _done(self.path, self.order)

    def publish(self, experiment: ExperimentRecord) -> Path:
        """Gives the complete folder its final name."""
        write_json(self.path / "experiment.json", asdict(experiment))
        publish(self.path, self.final)
        return self.final

    def _status(self, name: str) -> str:
        """The status of a filed run. After a power failure the last written files may be gone: then it has failed."""
        try:
            return self.run(name).status
        except FolderError:
            return "failed"

    def _clear(self) -> None:
        """Removes runs to be made again, and runs only begun."""
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
    """Describes an interrupted sweep; None if the folder is not one."""
    record = record_of(path)
    if record is None:
        return None
    return f"{len(_done(path, record.order))} of {len(record.order)} runs are in {path}"


def _done(path: Path, order: Sequence[str]) -> list[str]:
    there = {entry.name for entry in os.scandir(path)}
    return [name for name in order if name in there]


def record_of(path: Path) -> SweepRecord | None:
    """Reads sweep.json of a folder, finished or not; None if there is none that can be read."""
    try:
        return read_document(path / _DOCUMENT, SweepRecord, format_number=SWEEP_FORMAT, most_bytes=MOST_SWEEP_BYTES)
    except FolderError:
        return None
