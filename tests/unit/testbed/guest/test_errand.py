"""What a guest finds in a folder: the errand of an extra, or that of a run."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from priolab.experiments.results.run_folder import RunFolder
from priolab.testbed.guest.errand import read_errand


def test_of_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder names the module whose Errand it is, and has its settings."""
    seen: list[object] = []
    monkeypatch.setitem(sys.modules, "an_extra", SimpleNamespace(Errand=seen.append))
    folder = RunFolder(tmp_path)
    folder.asked.mkdir()
    settings = {"module": "an_extra", "seed": 7}
    folder.errand.write_text(json.dumps(settings))
    read_errand(folder)
    assert seen == [settings]


def test_of_a_run_that_is_gone(tmp_path: Path) -> None:
    """Another guest may have carried out a run, and its folder has another name then."""
    with pytest.raises(FileNotFoundError):
        read_errand(RunFolder(tmp_path / "gone"))
