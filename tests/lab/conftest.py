"""Experiments in the guest, each run once for all modules of this room, into one results folder."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import Done, Lab, make_lab


@dataclass(frozen=True)
class Runs:
    """Runs an experiment once; later tests get the same result. done: all of them so far, by their words."""

    lab: Lab
    done: dict[tuple[str, ...], Done] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """Where they are, for whoever takes what is there (REUSE=yes)."""
        return self.lab.results

    def __call__(self, *words: str) -> Done:
        if words not in self.done:
            self.done[words] = self.lab.run("FABRIC=virtual", *words)
        return self.done[words]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Shared runs."""
    return Runs(make_lab(tmp_path_factory.mktemp("shared")))
