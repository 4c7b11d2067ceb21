"""Tests of the choice of the folder for temporary files."""

import tempfile
from pathlib import Path

import pytest

from priolab.common.temporary import temporary_folder


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this a process that has chosen no folder yet."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)


def test_it_is_pythons_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first folder that can be written: of the variables, then the usual ones. Relative ones become absolute."""
    assert temporary_folder() == "/tmp"
    for name in ("TMP", "TMPDIR"):
        monkeypatch.setattr(tempfile, "tempdir", None)
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
        assert temporary_folder() == str(tmp_path / name)
        assert tempfile.gettempdir() == str(tmp_path / name)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nothing"))
    assert temporary_folder() == str(tmp_path / "TMP")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", "TMPDIR")
    assert temporary_folder() == str(tmp_path / "TMPDIR")


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would write a file to try the folder, which a kill might leave."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = tmp_path.stat().st_mtime_ns
    assert temporary_folder() == str(tmp_path)
    assert tmp_path.stat().st_mtime_ns == before
