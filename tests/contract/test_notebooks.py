"""The notebooks as committed: their titles, their links, and no outputs."""

from pathlib import Path

import nbformat
import pytest

import analysis

FOLDER = Path(next(iter(analysis.__path__))) / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_they_are_numbered() -> None:
    """The notebooks' names begin with 01, 02 and so on, without gaps."""
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{number:02d}-" for number in range(1, len(NOTEBOOKS) + 1)]
    assert len(NOTEBOOKS) >= 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """A notebook has no outputs, execution counts or metadata of a machine, and names no version but Python 3."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.language_info == {"name": "python"}
    for cell in notebook.cells:
        assert not cell.metadata
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_title_is_a_question(path: Path) -> None:
    """A notebook has one title, which is a question, then `What to look at`; its code has assertions."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    first = notebook.cells[0].source
    title = first.splitlines()[0]
    assert title.startswith("# ")
    assert title.endswith("?")
    assert "**What to look at:**" in first
    sources = [cell.source for cell in notebook.cells]
    assert (
        sum(
            line.startswith("# ")
            for cell in notebook.cells
            if cell.cell_type == "markdown"
            for line in cell.source.splitlines()
        )
        == 1
    )
    assert any("assert " in source for source in sources)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    """The links in a notebook's last cell lead to existing files."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    for target in notebook.cells[-1].source.split("](")[1:]:
        assert (FOLDER / target.partition(")")[0]).is_file()
