"""Tests of the sweep that `priolab knee` takes if no sweep is named."""

import json
import shutil
from pathlib import Path

import pytest

from priolab.common.errors import StepFailed
from priolab.experiments import cli
from priolab.experiments.sweep.knee import newest

GOLDEN = Path(__file__).parents[3] / "golden-sweep"


def sweep(results: Path, name: str, started_at: str) -> Path:
    """Make the folder of a sweep without runs."""
    folder = results / name
    folder.mkdir()
    record = json.loads((GOLDEN / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps(record | {"started_at": started_at}))
    return folder


def test_the_newest_sweep(tmp_path: Path) -> None:
    """Experiments do not count, nor does what `latest` points at; an unfinished sweep only if no other is there."""
    with pytest.raises(StepFailed, match="holds no sweep; `priolab sweep` makes one"):
        newest(tmp_path / "none")
    unfinished = sweep(tmp_path, "c.partial", "2026-03-03T00:00:00+00:00")
    assert newest(tmp_path) == unfinished
    sweep(tmp_path, "b", "2026-01-01T00:00:00+00:00")
    wanted = sweep(tmp_path, "a", "2026-02-02T00:00:00+00:00")
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "experiment.json").write_text("{}")
    (tmp_path / "latest").symlink_to("maps")
    broken = sweep(tmp_path, "z", "2027-01-01T00:00:00+00:00")
    (broken / "sweep.json").write_text("{")
    assert newest(tmp_path) == wanted


def test_it_says_which_it_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line names the sweep; with --json there is only the document. A named sweep is taken instead."""
    shutil.copytree(GOLDEN, tmp_path / "old")
    (tmp_path / "maps").mkdir()
    (tmp_path / "latest").symlink_to("maps")
    results = f"--results={tmp_path}"
    cli.main(["knee", results])
    begun = json.loads((GOLDEN / "sweep.json").read_text())["started_at"]
    assert capsys.readouterr().out.splitlines()[0] == f"sweep: {tmp_path / 'old'}, begun {begun}"
    cli.main(["knee", results, "--json"])
    assert json.loads(capsys.readouterr().out)["sweep"]
    assert cli.main(["knee", results, "latest"]) == 1
    assert "sweep.json" in capsys.readouterr().err
