"""Experiments in the guest for the tests of labs, each run once, into a results folder that all modules share.

pytest's workers share the experiments, too: the first worker that needs an experiment runs it, and the others wait.
Tests must not write into a shared results folder; a test that changes files copies the
folder first.
"""

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.lab import Done, Lab
from tests.support.together import together


@dataclass(frozen=True)
class Runs:
    """Runs an experiment once; a later call with the same words returns the same result."""

    lab: Lab

    @property
    def results(self) -> Path:
        """The shared results folder, for commands that reuse existing runs (REUSE=yes)."""
        return self.lab.results

    @property
    def done(self) -> list[Done]:
        """The results of all experiments so far."""
        return [_read(file) for file in sorted(self._kept.glob("*.json"))]

    def __call__(self, *words: str) -> Done:
        return self._once(repr(words), lambda: self.lab.run_here("FABRIC=virtual", *words))

    def together(self, scenarios: Mapping[str, Sequence[str]], *common: str) -> Done:
        """Runs an experiment whose arms have knobs of their own (tests/support/together.py) once; no arm need be ok."""
        return self._once(repr((scenarios, common)), lambda: together(self.lab.results, scenarios, *common))

    def _once(self, asked: str, go: Callable[[], Done]) -> Done:
        kept = self._kept / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"
        with alone(kept.with_suffix(".lock")):
            if not kept.exists():
                _write(kept, go())
            return _read(kept)

    @property
    def _kept(self) -> Path:
        return self.lab.root / "kept"


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Holds an exclusive lock on the file, so that one process at a time runs the context."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(kept: Path, done: Done) -> None:
    """Writes the result atomically."""
    partial = kept.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(done), default=str))
    partial.rename(kept)


def _read(kept: Path) -> Done:
    document = json.loads(kept.read_text())
    return Done(**{**document, "folder": Path(document["folder"]) if document["folder"] else None})
