"""Experiments in the guest, each run once for all modules of this room, into one results folder.

Those who work at the tests side by side share them, too: who needs an experiment first runs it, and the others wait.
Each then has a processor of its own, so all arms of an experiment share a guest: one that begins costs as much as two
runs. Nobody writes into a shared folder; whoever wants to has a copy.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from tests.conftest import Done, Lab


@dataclass(frozen=True)
class Runs:
    """Runs an experiment once; whoever asks for the same words later gets the same result.

    processor: the only one that experiments are run on; None for all there are.
    """

    lab: Lab
    processor: int | None

    @property
    def results(self) -> Path:
        """Where they are, for whoever takes what is there (REUSE=yes)."""
        return self.lab.results

    @property
    def done(self) -> list[Done]:
        """All of them so far."""
        return [_read(file) for file in sorted(self._kept.glob("*.json"))]

    def __call__(self, *words: str) -> Done:
        kept = self._kept / f"{hashlib.sha256(repr(words).encode()).hexdigest()}.json"
        with _alone(kept.with_suffix(".lock")):
            if not kept.exists():
                _write(kept, self.lab.run_unseen("FABRIC=virtual", *words, processor=self.processor))
            return _read(kept)

    @property
    def _kept(self) -> Path:
        return self.lab.root / "kept"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(kept: Path, done: Done) -> None:
    """Whole, or not at all."""
    partial = kept.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(done), default=str))
    partial.rename(kept)


def _read(kept: Path) -> Done:
    document = json.loads(kept.read_text())
    return Done(**{**document, "folder": Path(document["folder"]) if document["folder"] else None})


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Runs:
    """Shared runs. A worker of several has a folder of its own below the one that is all workers'."""
    own = tmp_path_factory.getbasetemp()
    is_alone = worker_id == "master"
    root = (own if is_alone else own.parent) / "shared"
    lab = Lab(root=root)
    for folder in (root, lab.temporary, root / "kept"):
        folder.mkdir(exist_ok=True)
    processors = sorted(os.sched_getaffinity(0))
    return Runs(lab, None if is_alone else processors[int(worker_id.removeprefix("gw")) % len(processors)])
