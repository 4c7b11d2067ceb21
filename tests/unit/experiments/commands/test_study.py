"""Tests of studies: they fill the marked places of their documents."""

from pathlib import Path

import pytest

from priolab.analysis.reports.markdown import places
from priolab.common.errors import StepFailed
from priolab.experiments.commands import study
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study

_FOUND = Findings(places={"near": "3 of 3"}, beside={"drawn.svg": b"<svg/>"}, holds=False)


def _measured(results: Path, report: Report) -> Findings:
    assert list(results.iterdir()) == []
    report.say("measured")
    return _FOUND


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a lab's folder with a document; return the document."""
    monkeypatch.setattr(study, "ROOT", tmp_path / "lab")
    document = tmp_path / "lab" / "docs" / "measured" / "a.md"
    document.parent.mkdir(parents=True)
    document.write_text("# A\n\nNear in <!-- measured: near -->1 of 3<!-- end -->.\n")
    return document


def test_a_study_fills_its_document(lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file gets the lab's document with the new texts, and the other files; the terminal shows no marks."""
    file = tmp_path / "out" / "b.md"
    assert Study(name="a", step="the study", measure=_measured).write(file, Report()) is False
    assert file.read_text() == lab.read_text().replace("1 of 3", "3 of 3")
    assert (file.parent / "drawn.svg").read_bytes() == b"<svg/>"
    assert capsys.readouterr().out == "measured\n# A\n\nNear in 3 of 3.\n\n"


def test_without_the_document(lab: Path, tmp_path: Path) -> None:
    """An installed lab has no documents: there the file gets the marked places alone."""
    lab.unlink()
    file = tmp_path / "b.md"
    Study(name="a", step="the study", measure=_measured).write(file, Report())
    assert places(file.read_text()) == _FOUND.places


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """Nothing is measured if the file cannot be written."""
    with pytest.raises(StepFailed, match="is a folder, not a file"):
        Study(name="a", step="the study", measure=lambda *_: pytest.fail("measured")).write(tmp_path, Report())
