"""Files that come from anywhere: what is read of them, and what is written beside them."""

import os
from pathlib import Path

import pytest

from analysis import files
from analysis.journals import Arrival, FolderError, read_lines
from analysis.load import load_experiment, load_plan
from experiments.entries import read_entry
from experiments.errors import ScenarioError


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A FIFO would be waited for, a device never ends; a folder is none either."""
    os.mkfifo(tmp_path / "fifo")
    for file in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(FolderError, match=r"^\S+: it is not a regular file$"):
            read_lines(file, Arrival)
    with pytest.raises(FolderError, match=r"it is not a regular file|Is a directory"):
        read_lines(tmp_path, Arrival)
    with pytest.raises(ScenarioError, match="it is not a regular file"):
        read_entry(tmp_path / "fifo")


def test_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read to its end."""
    monkeypatch.setattr("analysis.journals.MOST_JOURNAL_BYTES", 2**20)
    with (tmp_path / "journal").open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(FolderError, match="it has more than 1 MiB"):
        read_lines(tmp_path / "journal", Arrival)


@pytest.mark.parametrize("levels", [2000, 200_000])
def test_what_is_nested_too_deeply(tmp_path: Path, levels: int) -> None:
    """Wherever it stands."""
    (tmp_path / "client").mkdir()
    deep = "[" * levels + "]" * levels
    (tmp_path / "client" / "plan.json").write_text(deep)
    with pytest.raises(FolderError, match=r"nested too deeply|not a plan"):
        load_plan(tmp_path)
    (tmp_path / "experiment.json").write_text(deep)
    with pytest.raises(FolderError, match=r"nested too deeply|format None"):
        load_experiment(tmp_path)
    (tmp_path / "journal").write_text(deep + "\n")
    with pytest.raises(FolderError, match=r"journal:1: not an event"):
        read_lines(tmp_path / "journal", Arrival)
    (tmp_path / "mine.toml").write_text(f"knobs = {deep}")
    with pytest.raises(ScenarioError, match=r"nested too deeply|a table of KNOB"):
        read_entry(tmp_path / "mine.toml")


def test_nothing_is_written_through_a_symlink(tmp_path: Path) -> None:
    """What it leads to stays as it was, and the link becomes the file."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("as it was")
    (tmp_path / "picture").symlink_to(elsewhere)
    files.write(tmp_path / "picture", b"new")
    assert elsewhere.read_text() == "as it was"
    assert (tmp_path / "picture").read_bytes() == b"new"
    assert not (tmp_path / "picture").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "picture"]


def test_none_before_all(tmp_path: Path) -> None:
    """One that cannot be written keeps the others from appearing."""
    with pytest.raises(OSError, match="No such file"):
        files.write_all({tmp_path / "one": b"1", tmp_path / "nowhere" / "two": b"2"})
    assert list(tmp_path.iterdir()) == []
