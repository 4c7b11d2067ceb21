"""Experiments in the guest, each run once for all modules of this room."""

from dataclasses import dataclass, field

import pytest

from tests.conftest import Done, make_lab


@dataclass(frozen=True)
class Runs:
    """Runs an experiment once; later tests get the same result. done: all of them so far, by their words."""

    factory: pytest.TempPathFactory
    done: dict[tuple[str, ...], Done] = field(default_factory=dict)

    def __call__(self, *words: str) -> Done:
        if words not in self.done:
            self.done[words] = make_lab(self.factory.mktemp("lab")).run("FABRIC=virtual", *words)
        return self.done[words]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Shared runs."""
    return Runs(tmp_path_factory)
