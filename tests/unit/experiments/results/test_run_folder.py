"""Tests of JSON files and run folders, which appear only when complete, and of wrecks: folders of killed runs."""

import json
import os
from pathlib import Path

import pytest

from priolab.common.formats.files import read_json, write_json
from priolab.experiments.results.run_folder import PartialFolder, RunFolder, wrecks


def test_write_json_leaves_one_file(tmp_path: Path) -> None:
    """A written document can be read back, and no temporary file is left."""
    path = tmp_path / "run.json"
    write_json(path, {"lowat": None, "rate_bit_s": 128_000})
    assert read_json(path) == {"lowat": None, "rate_bit_s": 128_000}
    assert list(tmp_path.iterdir()) == [path]


def test_a_document_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    """If writing fails, the old document stays complete."""
    path = tmp_path / "run.json"
    write_json(path, {"status": "ok"})
    with pytest.raises(TypeError):
        write_json(path, {"status": object()})
    assert json.loads(path.read_text()) == {"status": "ok"}


def test_write_json_never_opens_the_file_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader sees the old document until the new one is complete."""
    path = tmp_path / "run.json"
    write_json(path, 1)
    real = Path.replace
    before: list[object] = []

    def replace(self: Path, target: Path) -> Path:
        before.append((read_json(path), json.loads(self.read_text())))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    write_json(path, 2)
    assert before == [(1, 2)]
    assert read_json(path) == 2


def test_run_folder_has_its_rooms(tmp_path: Path) -> None:
    """A new run folder has a folder for each place and one for the order."""
    folder = RunFolder(tmp_path / "control.1")
    folder.create()
    assert {path.name for path in folder.path.iterdir()} == {"asked", "client", "front", "origin", "link"}
    assert folder.run == tmp_path / "control.1" / "run.json"
    assert folder.arm.parent == folder.asked


def test_published_folder_has_its_final_name(tmp_path: Path) -> None:
    """Until it is published, a folder has a partial name. Afterwards it has its own name and no temporary files."""
    final = tmp_path / "maps-1"
    with PartialFolder(final) as folder:
        (folder.path / "experiment.json").write_text("{}")
        assert folder.path.name == "maps-1.partial"
        assert not final.exists()
        assert folder.publish() == final
    assert [path.name for path in final.iterdir()] == ["experiment.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "maps-1"]


def test_latest_points_at_the_newest(tmp_path: Path) -> None:
    """`latest` is a relative symlink to the folder that was published last."""
    for name in ("maps-1", "maps-2"):
        with PartialFolder(tmp_path / name) as folder:
            folder.publish()
    assert (tmp_path / "latest").readlink() == Path("maps-2")


def test_exception_removes_the_folder(tmp_path: Path) -> None:
    """An interrupted experiment leaves no folder."""

    def interrupted() -> None:
        with PartialFolder(tmp_path / "maps-1") as folder:
            (folder.path / "control.1").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_not_a_wreck(tmp_path: Path) -> None:
    """A partial folder is a wreck only if its owner does not hold the lock."""
    with PartialFolder(tmp_path / "maps-1") as folder:
        assert wrecks(tmp_path) == []
    assert wrecks(tmp_path) == [folder.path]


def test_wrecks_are_partial_folders_without_owner(tmp_path: Path) -> None:
    """`wrecks` lists partial folders by name if their lock is free, or if they are old and without a lock."""
    for name in ("b.partial", "a.partial", "maps-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "b.partial" / ".lock").touch()
    os.utime(tmp_path / "a.partial", (0, 0))
    (tmp_path / "just-begun.partial").mkdir()
    with PartialFolder(tmp_path / "busy"):
        assert wrecks(tmp_path) == [tmp_path / "a.partial", tmp_path / "b.partial"]


def test_no_results_folder_has_no_wrecks(tmp_path: Path) -> None:
    """A missing results folder has no wrecks."""
    assert wrecks(tmp_path / "results") == []
