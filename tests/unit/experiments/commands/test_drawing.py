"""Tests of drawing in another process."""

import shutil
from pathlib import Path

import pytest

from priolab.analysis.records.runs import load_experiment
from priolab.experiments.commands.drawing import Drawing, timeline

_GOLDEN = Path(__file__).parents[3] / "golden" / "format-3"
_NAMES = ["timeline.svg", "timeline.png", "timeline.html"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the recorded experiment, without a picture."""
    return Path(shutil.copytree(_GOLDEN, tmp_path / "results", ignore=shutil.ignore_patterns("timeline.*")))


def test_the_process_draws_what_this_process_would_draw(folder: Path, tmp_path: Path) -> None:
    """The files of the other process have the same bytes as those that this process draws."""
    with Drawing() as process:
        process.begin(folder)
        found = timeline(load_experiment(folder), process)
    assert [path.name for path in found] == _NAMES
    other = Path(shutil.copytree(folder, tmp_path / "other", ignore=shutil.ignore_patterns("timeline.*")))
    alone = timeline(load_experiment(other), None)
    assert [path.read_bytes() for path in found] == [path.read_bytes() for path in alone]


def test_if_the_process_fails_this_process_draws(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that cannot start its interpreter's module leaves the drawing to this process."""
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Drawing() as process:
        process.begin(folder)
        assert [path.name for path in timeline(load_experiment(folder), process)] == _NAMES


def test_a_picture_is_drawn_once(folder: Path) -> None:
    """Files that are there already are not drawn again."""
    for name in _NAMES:
        (folder / name).write_text("drawn")
    with Drawing() as process:
        process.begin(folder)
        found = timeline(load_experiment(folder), process)
    assert {path.read_text() for path in found} == {"drawn"}
