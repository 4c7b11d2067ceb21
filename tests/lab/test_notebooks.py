"""The notebooks, and the page with the article's figures, which are made from the same runs."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import analysis
from tests.conftest import priolab_here
from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest")

ROOT = Path(next(iter(analysis.__path__))).resolve().parent
NOTEBOOKS = sorted((ROOT / "analysis" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def results(run: Runs) -> Iterator[Path]:
    """Yields the shared results folder, so that notebooks reuse each other's runs and those of other modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIOLAB_RESULTS", str(run.results))
        patch.setenv("PYTHONPATH", str(ROOT))  # the code beside this test, whichever checkout is installed
        yield run.results


def _reproduce(results: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return priolab_here("reproduce", f"RESULTS={results}", "--out", str(out))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, results: Path, tmp_path: Path) -> None:
    """A notebook runs from top to bottom, its assertions hold, and its outputs have figures."""
    assert results.parent.is_dir()
    copy = tmp_path / path.name
    # In a process of its own, so that files which its libraries leave open cause no warnings in the tests.
    execute = [sys.executable, "-c", "from nbclient.cli import main; main()", "--timeout=240"]
    command = [*execute, f"--output={copy.with_suffix('')}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    notebook = nbformat.read(copy, as_version=4)  # type: ignore[no-untyped-call]
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)


def test_the_articles_pictures_are_reproduced(results: Path, tmp_path: Path) -> None:
    """All figures are reproduced on a page in three forms; a second call takes all experiments from the first."""
    done = _reproduce(results, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r": (not \w+)$", done.stdout, re.MULTILINE) == []
    assert (tmp_path / "index.html").read_text().count('class="stamp yes"') == 5
    assert (tmp_path / "reproduction.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "reproduction.pdf").read_bytes().startswith(b"%PDF")
    again = _reproduce(results, tmp_path)
    assert again.stdout.count("taken from ") == 3
