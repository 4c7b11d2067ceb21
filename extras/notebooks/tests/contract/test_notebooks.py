"""The notebooks as committed: lessons with the outputs of their own code."""

import ast
import base64
import getpass
import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import PIL.Image
import pytest

from priolab.extras.notebooks.tests.notebooks import (
    FOLDER,
    LARGEST_BYTES,
    NOTEBOOKS,
    Notebook,
    answers,
    code,
    code_of_answers,
    digest,
    outputs,
    read,
    revealed,
    stored_digest,
    texts,
    validate,
)
from priolab.extras.reproduction import article
from tests.support.private_modules import private_modules

_WIDEST_PX = 1400
_LONGEST_LINE = 110
_LONGEST_CELL = 12
_HELPERS = {f"priolab.extras.notebooks.{name}" for name in ("bets", "lab", "views")}


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


def test_pictures_fit(notebook: Notebook) -> None:
    """Each notebook has pictures, as PNG that viewers show as wide as the notebook."""
    pictures = [output for output in outputs(notebook) if "image/png" in output.data]
    assert pictures
    for output in pictures:
        with PIL.Image.open(BytesIO(base64.b64decode(output.data["image/png"]))) as drawn:
            assert output.metadata["image/png"]["width"] <= 900 < drawn.width < _WIDEST_PX


def test_its_title_is_a_question(notebook: Notebook) -> None:
    """A notebook has one title, which is a question, then `What to look at`."""
    first = notebook.cells[0].source
    assert re.match(r"# .+\?\n", first)
    assert "**What to look at:**" in first
    assert sum(line.startswith("# ") for text in texts(notebook) for line in text.splitlines()) == 1


def test_it_is_a_lesson(notebook: Notebook) -> None:
    """A notebook asks for a prediction before any run, then runs, explains what came out, and has exercises."""
    heads = [re.match(r"## (\w+)", cell.source) for cell in notebook.cells]
    at = {found[1]: index for index, found in reversed([*enumerate(heads)]) if found}
    first_run = next(index for index, cell in enumerate(notebook.cells) if re.search(r"\b(run|sweep)\(", cell.source))
    assert at["Predict"] < at["Run"] < first_run < at["Explain"] < at["Exercises"]
    assert "reveal(" in notebook.cells[first_run].source, "a bet cannot be moved once the result is there"
    assert "?" in notebook.cells[at["Predict"]].source or ":" in notebook.cells[at["Predict"]].source
    assert sum("check(" in cell.source for cell in code(notebook)) + ("run_again(" in code(notebook)[-1].source) >= 2


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


def test_each_exercise_hides_its_answer(notebook: Notebook) -> None:
    """There are three exercises, each with a question, and an answer that can be opened and that code confirms."""
    exercises = [text for text in texts(notebook) if text.startswith("### ") and "<details>" in text]
    assert [text.splitlines()[0][:6] for text in exercises] == ["### 1.", "### 2.", "### 3."]
    assert all("?" in text.partition("<details>")[0] for text in exercises)
    assert len(answers(notebook)) == len(code_of_answers(notebook)) == 3
    for answer in answers(notebook):
        assert len(answer.partition("```python")[0].split()) > 15
        assert "check(" in answer


def test_no_figure_is_typed_into_a_text(notebook: Notebook) -> None:
    """Texts have no measured seconds: a figure of the lab comes from a run. They have the article's, and settings."""
    typed = [found for text in texts(notebook) for found in re.findall(r"\d+\.\d+ s\b", text.partition("```python")[0])]
    assert typed == []


def test_helpers_take_a_line(notebook: Notebook) -> None:
    """Code uses the helpers and nothing of the lab's insides; cells and lines are short, in answers, too."""
    sources = [*(cell.source for cell in code(notebook)), *code_of_answers(notebook)]
    assert [line for source in sources for line in source.splitlines() if len(line) > _LONGEST_LINE] == []
    assert max(len(source.splitlines()) for source in sources) <= _LONGEST_CELL
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert modules <= _HELPERS
    assert not any(isinstance(node, ast.Import | ast.FunctionDef | ast.Lambda) and not _key(node) for node in nodes)


_OF_THE_ARTICLE = {
    "priolab.extras.reproduction",
    "priolab.extras.reproduction.figures",
    "priolab.extras.reproduction.loads",
}
"""Lessons show the article's numbers beside the lab's, and the charts that compare them (`needs` in extra.toml)."""


def test_they_stand_on_the_public_face() -> None:
    """Notebooks and helpers import `priolab` alone, beside the reproduction of the article."""
    assert private_modules(FOLDER, "priolab.extras.notebooks").keys() == _OF_THE_ARTICLE


def _key(node: ast.AST) -> bool:
    """True for a lambda such as `key=lambda load: load.first_byte_s`."""
    return isinstance(node, ast.Lambda) and isinstance(node.body, ast.Attribute)


def test_the_article_is_named(notebook: Notebook) -> None:
    """A notebook that speaks of the article names its title, its blog and its date."""
    words = " ".join([*texts(notebook), *(output.data.get("text/markdown", "") for output in outputs(notebook))])
    if "article" in words:
        joined = re.sub(r"\s", "", words)
        assert [
            name for name in (article.TITLE, article.BLOG, article.DATE.replace(" ", "")) if name not in joined
        ] == []


def test_links_lead_somewhere(notebook: Notebook) -> None:
    """The links of a notebook lead to existing files."""
    for text in texts(notebook):
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert (FOLDER / target).is_file()
