"""The demo's story as `priolab slides` exports it, from experiments that other tests have run already."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.shared_runs import Runs

IN_STORY = (
    ("LOWAT=131072",),
    ("LOWAT=16384", "CONTROL=no"),
    ("LOWAT=auto", "CONTROL=no"),
    ("RATE=100mbit", "DELAY=5ms"),
)
"""The words of experiments whose arms are in the demo's story."""
ADDRESS = "https://lab.example/talks/priority?year=2026"
"""Where the audience of the exported story finds the published file."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The demo's story, exported by `priolab slides`. results: the results folder, with the runs of all its arms."""

    results: Path

    @property
    def slides(self) -> Path:
        """The folder that `priolab slides` wrote."""
        return self.results / "slides"

    def copy_arms(self, results: Path) -> None:
        """Copies the experiments that have the story's arms to another results folder."""
        for file in self.results.glob("*/experiment.json"):
            if not file.parent.is_symlink():
                shutil.copytree(file.parent, results / file.parent.name)


def copy_story(run: Runs, results: Path) -> set[str]:
    """Copies the shared experiments whose arms are in the demo's story to another results folder; returns their names.

    The story has some more arms.
    """
    folders = [done.folder for done in (run(*words) for words in IN_STORY) if done.folder is not None]
    assert len(folders) == len(IN_STORY)
    for folder in folders:
        shutil.copytree(folder, results / folder.name)
    return {folder.name for folder in folders}
