"""Tests of the matrix's files: the earlier document, the editions, and the links to the runs."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from priolab.common.errors import LabError
from priolab.common.formats.reading import read_document
from priolab.extras.matrix.document import document, dumped
from priolab.extras.matrix.edition import EDITION_FORMAT, Edition, edition
from priolab.extras.matrix.matrix import Matrix
from priolab.extras.matrix.matrix_files import earlier, link_runs, write_all
from priolab.extras.matrix.tests.unit.made_up import NOTHING, OLD, cell, matrix


def kept(path: Path, date: str) -> Edition:
    """Return the edition of a document on a date."""
    return read_document(path.with_suffix("") / f"{date}.json", Edition, format_number=EDITION_FORMAT)


def made(path: Path, found: Matrix) -> list[str]:
    """Write a document over the one that is there; return the names of the files written."""
    return [str(each.relative_to(path.parent)) for each in write_all(path, found, earlier(path), path.parent / "runs")]


def test_editions(tmp_path: Path) -> None:
    """A document with other verdicts than before keeps the earlier ones."""
    path, usual = tmp_path / "matrix.md", ["matrix.md", "matrix.html", "matrix.json"]
    old = replace(matrix(OLD), date="2026-10-01")
    assert earlier(path) is None
    assert made(path, old) == usual
    again = path.with_suffix(".json").read_bytes()
    assert made(path, old) == usual
    assert path.with_suffix(".json").read_bytes() == again
    same = replace(old, date="2026-10-02")
    assert made(path, same) == usual
    other = replace(matrix(cell(lowat=NOTHING)), date="2026-11-24")
    assert made(path, other) == ["matrix/2026-10-02.json", *usual]
    assert kept(path, same.date) == edition(same)


def test_editions_of_one_day(tmp_path: Path) -> None:
    """On one day the first document is kept, and on a later day the last one of the day before."""
    path, first = tmp_path / "matrix.md", matrix(OLD)
    second, third = matrix(cell(90, 10)), matrix(cell(80, 20))
    for each in (first, second, third):
        made(path, each)
    assert kept(path, first.date) == edition(first)
    made(path, replace(first, date="2026-12-01"))
    assert kept(path, first.date) == edition(third)


def test_another_folder(tmp_path: Path) -> None:
    """The page links to the runs by a path from its own folder. A FILE without a suffix has a folder, too."""
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / "matrix"
    write_all(path, matrix(OLD), None, tmp_path / "r" / "matrix-runs")
    assert 'href="../r/matrix-runs/nginx.plain.probe-spdy/"' in path.with_suffix(".html").read_text()
    assert "matrix-editions/2026-11-24.json" in made(path, matrix(cell(lowat=NOTHING)))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2, "date": "2026-10-01"}', '{"frames": 1}', '{"frames": {"probes": []}}']
)
def test_something_else_is_there(tmp_path: Path, content: str) -> None:
    """A file that is no matrix is not overwritten: one line names it."""
    path = tmp_path / "matrix.md"
    path.with_suffix(".json").write_text(content)
    with pytest.raises(LabError) as caught:
        earlier(path)
    assert str(caught.value).endswith("matrix.json is no matrix that this version reads; move it away")
    assert "\n" not in str(caught.value)


def test_documents_without_the_newer_keys(tmp_path: Path) -> None:
    """A document that has neither signals nor the rows' days can be read."""
    spoiled = json.loads(dumped(document(matrix(OLD))))
    del spoiled["frames"]["signals"]
    for key in ("digest", "date"):
        del spoiled["servers"]["nginx"][key]
    for key in ("arms", "signals"):
        del spoiled["servers"]["nginx"]["dialects"]["plain"][key]
    path = tmp_path / "matrix.md"
    path.with_suffix(".json").write_text(json.dumps(spoiled))
    found = earlier(path)
    assert found is not None
    assert edition(found) == edition(matrix(OLD))


@dataclass
class _Run:
    path: Path
    arm: str


def test_links(tmp_path: Path) -> None:
    """Each arm has a link to the folder of its newest run; links to other arms' runs stay."""
    runs = [_Run(tmp_path / f"matrix-{number}" / f"{arm}.1", arm) for number, arm in ((1, "a"), (1, "b"), (2, "a"))]
    for run in runs:
        run.path.mkdir(parents=True)
    for batch in (runs[:2], runs[2:]):
        folder = link_runs(tmp_path, batch)  # type: ignore[arg-type]
    assert {link.name: link.resolve() for link in folder.iterdir()} == {"a": runs[2].path, "b": runs[1].path}
    assert (folder / "a").readlink() == Path("../matrix-2/a.1")
