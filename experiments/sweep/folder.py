"""A sweep's folder: its content, its lock, and its resumption.

Rules:
1. `sweep.json` is written before the first run, and never changes. It contains the order in which runs are given out.
2. A run's folder under its final name is complete. A run's folder that ends in `.partial` was left by a process that
   was killed, and is removed when the sweep is resumed.
3. The process that runs a sweep, its owner, holds the lock of the sweep's folder. A request for the same sweep (arms,
   fabric, shaper and similar options, programs, kernel, code) resumes the sweep's newest folder that has no owner.
4. A resumed sweep repeats runs that failed or were unsupported, because the reason may be gone. A resumed sweep keeps
   invalid runs: they were measured, and repeating them until they are ok would be selecting results.
5. The sweep's folder has a name that ends in `.partial` until every run is complete. Then experiment.json is written,
   and the folder is a results folder like that of any experiment.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from priolab.analysis.records.runs import load_run
from priolab.common.formats.experiment import ExperimentRecord
from priolab.common.formats.files import write_json
from priolab.common.formats.reading import FolderError, read_document
from priolab.common.formats.run import RunRecord
from priolab.common.formats.sweep import MOST_SWEEP_BYTES, SWEEP_FORMAT, SweepRecord
from priolab.experiments.results.run_folder import RunFolder, lock_new, lock_wreck, locked, publish
from priolab.testbed import work_folder

_DOCUMENT = "sweep.json"
_AGAIN = ("failed", "unsupported")


class SweepFolder:
    """The locked folder of an unfinished sweep.

    A context manager: after an exception it removes the folder if no run is complete.
    """

    def __init__(self, path: Path, record: SweepRecord, lock: int) -> None:
        self.path = path
        self.final = path.with_name(path.name.removesuffix(work_folder.PARTIAL))
        self.record = record
        self._lock = lock

    @classmethod
    def begin(cls, final: Path, record: SweepRecord) -> Self:
        """Makes and locks a new folder, and writes sweep.json."""
        path = final.with_name(final.name + work_folder.PARTIAL)
        path.mkdir()
        lock = lock_new(path)
        write_json(path / _DOCUMENT, record.as_document())
        return cls(path, record, lock)

    @classmethod
    def resume(cls, results: Path, fingerprint: Mapping[str, Any]) -> Self | None:
        """Returns the newest folder that has this fingerprint and no owner; None if no folder has both properties.

        Removes the runs to be repeated. The folder may have all of its runs, if its owner was killed before it could
        rename the folder.
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
        """The names of all runs, in the order in which they are given out."""
        return self.record.order

    def building(self, name: str) -> RunFolder:
        """Returns the folder in which a run's files are until the run is complete."""
        return RunFolder(self.path / f"{name}{work_folder.PARTIAL}")

    def file(self, name: str) -> None:
        """Gives a complete run's folder its final name."""
        self.building(name).path.rename(self.path / name)

    def run(self, name: str) -> RunRecord:
        """Reads run.json of a complete run. Raises FolderError."""
        return load_run(self.path / name).record

    def done(self) -> list[str]:
        """Returns the names of the complete runs, in the order in which runs are given out."""
        return _done(self.path, self.order)

    def publish(self, experiment: ExperimentRecord) -> Path:
        """Writes experiment.json, and gives the complete folder its final name."""
        write_json(self.path / "experiment.json", asdict(experiment))
        publish(self.path, self.final)
        return self.final

    def _status(self, name: str) -> str:
        """Returns a complete run's status: `failed` if its run.json cannot be read, as may be after a power failure."""
        try:
            return self.run(name).status
        except FolderError:
            return "failed"

    def _clear(self) -> None:
        """Removes runs to be repeated, unfinished runs, and unfinished files."""
        for path in list(self.path.iterdir()):
            if path.name.endswith(work_folder.PARTIAL):
                _remove(path)
            elif path.name.startswith(".") and path.name.endswith(".new"):
                path.unlink()
        for name in self.done():
            if self._status(name) in _AGAIN:
                # Renamed first, so that a half-removed folder does not count as a complete run.
                (self.path / name).rename(self.building(name).path)
                _remove(self.building(name).path)


def _remove(path: Path) -> None:
    """Removes a folder; of anything else, such as a link to a folder, only the name."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def unfinished(path: Path) -> str | None:
    """Describes in words which runs an interrupted sweep has; None if the folder is not that of a sweep."""
    record = record_of(path)
    if record is None:
        return None
    return f"{len(_done(path, record.order))} of {len(record.order)} runs are in {path}"


def wreck_in_words(wreck: Path) -> str:
    """Describes, in a line for the user, an unfinished folder that no process owns."""
    if there := unfinished(wreck):
        return f"{there}: an interrupted sweep; the same command resumes the sweep if programs and code are unchanged"
    return f"ignoring {wreck}: the unfinished folder of a killed experiment; you can remove it"


def _done(path: Path, order: Sequence[str]) -> list[str]:
    there = {entry.name for entry in os.scandir(path)}
    return [name for name in order if name in there]


def read_record(path: Path) -> SweepRecord:
    """Reads sweep.json of a folder, finished or not. Raises FolderError."""
    return read_document(path / _DOCUMENT, SweepRecord, format_number=SWEEP_FORMAT, most_bytes=MOST_SWEEP_BYTES)


def record_of(path: Path) -> SweepRecord | None:
    """Reads sweep.json of a folder, finished or not; None if the file is missing or cannot be read."""
    try:
        return read_record(path)
    except FolderError:
        return None
