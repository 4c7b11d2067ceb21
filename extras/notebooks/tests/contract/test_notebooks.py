"""The notebooks as committed: lessons with the outputs of their own code."""

import getpass
import re
from itertools import pairwise
from pathlib import Path

import pytest

from priolab.extras.notebooks.tests.notebooks import (
    FOLDER,
    LARGEST_BYTES,
    NOTEBOOKS,
    Notebook,
    code,
    digest,
    outputs,
    read,
    revealed,
    stored_digest,
    texts,
    validate,
)
from tests.support.private_modules import private_modules


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def notebook(path: Path) -> Notebook:
    return read(path)


def test_they_are_numbered() -> None:
    """The notebooks' names begin with 01, 02 and so on, without gaps."""
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{number:02d}-" for number in range(1, 6)]


def test_outputs_are_those_of_the_code(notebook: Notebook) -> None:
    """The stored outputs come from one execution, from top to bottom, of this code with these helpers."""
    validate(notebook)
    assert stored_digest(notebook) == digest(notebook), "make notebook-outputs stores the outputs anew"
    assert [cell.execution_count for cell in code(notebook)] == [*range(1, len(code(notebook)) + 1)]
    kinds = {output.output_type for output in outputs(notebook)}
    assert kinds == {"display_data"}, "neither errors nor streams"


def test_changed_code_has_another_digest(notebook: Notebook) -> None:
    """If a line of code changes, the stored outputs no longer count as those of the code; a text may change."""
    stored = digest(notebook)
    notebook.cells[0].source += "."
    assert digest(notebook) == stored
    code(notebook)[-1].source += "\n"
    assert digest(notebook) != stored


def test_nothing_of_a_machine_is_stored(path: Path, notebook: Notebook) -> None:
    """The file names no folder or user of a machine and no version but Python 3, and cells have no metadata."""
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.language_info == {"name": "python"}
    assert [dict(cell.metadata) for cell in notebook.cells if cell.metadata] == []
    words = [
        str(output.get("data", {}).get(kind, ""))
        for output in outputs(notebook)
        for kind in ("text/plain", "text/markdown")
    ]
    folders = re.compile(r"(?<![\w.])/(home|root|tmp|work|usr|var|Users)\b|results/|0x[0-9a-f]{6}|\d{8}-\d{6}")
    assert [word for word in words if folders.search(word)] == []
    user = getpass.getuser()
    assert len(user) < 4 or not any(re.search(rf"\b{re.escape(user)}\b", word) for word in words)
    assert path.stat().st_size < LARGEST_BYTES


def test_each_prediction_is_a_bet_that_is_revealed(notebook: Notebook) -> None:
    """After a text that asks for predictions comes a cell with a bet for each. What came is shown beside each bet.

    The stored lesson is one in which nobody has bet.
    """
    shown = []
    for asks, cell in pairwise(notebook.cells):
        asked = len(re.findall(r"^\d\. ", asks.source, re.MULTILINE)) or 1
        if re.search("^## Predict$|^Predict first:", asks.source, re.MULTILINE):
            made = [str(output.data["text/markdown"]) for output in cell.outputs]
            assert len(made) >= asked
            assert all(text.endswith("): **no bet**") for text in made)
            shown += [text.partition(" ... (")[0] for text in made]
        else:
            assert "bet_" not in cell.source or cell.cell_type == "markdown"
    rows = revealed(notebook)
    assert [prediction for prediction, *_ in rows] == shown
    assert {(bet, off) for _, bet, _, off in rows} == {("no bet", "-")}


def test_no_figure_is_typed_into_a_text(notebook: Notebook) -> None:
    """Texts have no measured seconds: a figure of the lab comes from a run. They have the article's, and settings."""
    typed = [found for text in texts(notebook) for found in re.findall(r"\d+\.\d+ s\b", text.partition("```python")[0])]
    assert typed == []


_OF_THE_ARTICLE = {
    "priolab.extras.reproduction",
    "priolab.extras.reproduction.figures",
    "priolab.extras.reproduction.loads",
}
"""Lessons show the article's numbers beside the lab's, and the charts that compare them (`needs` in extra.toml)."""


def test_they_stand_on_the_public_face() -> None:
    """Notebooks and helpers import `priolab` alone, beside the reproduction of the article."""
    assert private_modules(FOLDER, "priolab.extras.notebooks").keys() == _OF_THE_ARTICLE


def test_links_lead_somewhere(notebook: Notebook) -> None:
    """The links of a notebook lead to existing files."""
    for text in texts(notebook):
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert (FOLDER / target).is_file()
