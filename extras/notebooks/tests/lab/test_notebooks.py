"""The notebooks, and the page with the article's figures, which are made from the same runs."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from priolab.extras.notebooks.tests.notebooks import (
    FOLDER,
    NOTEBOOKS,
    Notebook,
    add_answers,
    code,
    code_of_answers,
    errors,
    executed_together,
    read,
    revealed,
    to_be_stored,
)
from tests.support.lab import priolab_here
from tests.support.selection import values_to_test
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

ROOT = FOLDER.parents[1]


_EACH = [
    pytest.param(path, id=path.stem, marks=() if path == NOTEBOOKS[0] else pytest.mark.release) for path in NOTEBOOKS
]
"""The notebooks. All but the first take two minutes, and so wait for releases."""


@pytest.fixture(scope="module")
def results(run: Runs) -> Iterator[Path]:
    """Yields the shared results folder, so that notebooks reuse each other's runs and those of other modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIOLAB_RESULTS", str(run.results))
        patch.setenv("PYTHONPATH", str(ROOT))  # the code beside this test, whichever checkout is installed
        yield run.results


def _reproduce(results: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return priolab_here("reproduce", f"RESULTS={results}", "--out", str(out))


@pytest.fixture(scope="module")
def done(
    results: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Mapping[Path, Notebook]:
    """Executes the notebooks that are to be tested, each with bets, and with the code of its answers."""
    assert results.parent.is_dir()
    wanted = values_to_test(request, "path")
    chosen = [path for path in NOTEBOOKS if path in wanted]
    notebooks = executed_together(chosen, tmp_path_factory.mktemp("notebooks"), _prepare)
    return dict(zip(chosen, notebooks, strict=True))


def _prepare(notebook: Notebook) -> None:
    """Has bets put when they are shown: in turn near and far from what came when the notebook was stored."""
    came = {prediction: (text, number % 2 == 0) for number, (prediction, _, text, _) in enumerate(revealed(notebook))}
    for cell in code(notebook):
        if "bet_" in cell.source:
            cell.source += f"\nfrom priolab.extras.notebooks.tests.betting import put\nput({came})"
    add_answers(notebook)


@pytest.mark.parametrize("path", _EACH)
def test_bets_are_compared(path: Path, done: Mapping[Path, Notebook]) -> None:
    """Each prediction is compared with what came: near bets are right or hardly off, far ones wrong or well off."""
    rows = revealed(done[path])
    assert [prediction for prediction, *_ in rows] == [prediction for prediction, *_ in revealed(read(path))]
    assert len(rows) >= 2
    for number, (_, bet, came, off) in enumerate(rows):
        is_near = number % 2 == 0
        assert (bet == came) <= is_near
        if off in ("right", "exact", "wrong"):
            assert (off != "wrong") == is_near
            continue
        (betted, unit), (amount, _), (apart, _, *words) = bet.split(), came.split(), off.split()
        assert float(apart) == pytest.approx(abs(float(betted) - float(amount)), abs=0.011 if unit == "s" else 1)
        assert float(apart) < float(amount) / 10 if is_near else float(apart) > float(amount) / 2
        assert (words[-1] in ("late", "long", "high")) == (float(betted) > float(amount))


@pytest.mark.parametrize("path", _EACH)
def test_a_notebook_runs(path: Path, done: Mapping[Path, Notebook]) -> None:
    """A notebook runs from top to bottom, and so does the code of its answers; what they state holds.

    Each cell shows what its stored outputs show: as many texts and pictures, whatever their figures.
    """
    stored, notebook = read(path), done[path]
    assert errors(notebook) == []
    assert len(code(notebook)) == len(code(stored)) + len(code_of_answers(stored))
    assert all(cell.execution_count for cell in code(notebook))
    assert _shown(to_be_stored(notebook))[: len(code(stored))] == _shown(stored)


def _shown(notebook: Notebook) -> list[list[list[str]]]:
    """Return the kinds of each output of each code cell."""
    return [[sorted(output.get("data", {})) for output in cell.outputs] for cell in code(notebook)]


def test_the_articles_pictures_are_reproduced(results: Path, tmp_path: Path) -> None:
    """All figures are reproduced on a page; a second call takes all experiments from the first."""
    done = _reproduce(results, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r": (not \w+)$", done.stdout, re.MULTILINE) == []
    assert (tmp_path / "index.html").read_text().count('class="stamp yes"') == 5
    assert "ぼちぼち日記" in (tmp_path / "index.html").read_text()
    again = _reproduce(results, tmp_path)
    assert again.stdout.count("taken from ") == 3
