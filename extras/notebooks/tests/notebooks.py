"""The notebooks: reading, executing and storing them. As a program, it stores each with its outputs.

A notebook is stored with the outputs of its own code, so that it can be read without running it. Its metadata have a
digest of this code and of the helpers; `extras/notebooks/tests/contract/test_notebooks.py` compares it.

nbformat takes a second to import, so only a test that reads a notebook imports it (tests/support/schemas.py).
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from priolab.common.home import ROOT

FOLDER = ROOT / "extras" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST_BYTES = 300_000

Notebook = Any
"""A notebook as nbformat reads it: attributes and dicts at once."""

_TOLD = "priolab"
_WIDGET = "application/vnd.jupyter.widget-view+json"
_ANSWER = re.compile(r"<details>\n<summary>Answer</summary>\n\n(.*)\n\n</details>\Z", re.DOTALL)
_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def read(path: Path) -> Notebook:
    """Return the notebook."""
    import nbformat

    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def validate(notebook: Notebook) -> None:
    """Raise ValidationError if the notebook does not have the form of a notebook."""
    import nbformat

    nbformat.validate(notebook)


def code(notebook: Notebook) -> list[Any]:
    """Return the code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(notebook: Notebook) -> list[str]:
    """Return the texts of the Markdown cells."""
    return [str(cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]


def answers(notebook: Notebook) -> list[str]:
    """Return the hidden answers of the exercises."""
    return [found[1] for text in texts(notebook) if (found := _ANSWER.search(text))]


def code_of_answers(notebook: Notebook) -> list[str]:
    """Return the code in the hidden answers."""
    return [block for answer in answers(notebook) for block in _CODE.findall(answer)]


def digest(notebook: Notebook) -> str:
    """Return the digest of the notebook's code and of the helpers."""
    summed = hashlib.sha256()
    for source in [
        *(cell.source for cell in code(notebook)),
        *(path.read_text() for path in sorted(FOLDER.glob("*.py"))),
    ]:
        summed.update(source.encode() + b"\0")
    return summed.hexdigest()


def stored_digest(notebook: Notebook) -> str | None:
    """Return the digest of the code whose outputs the notebook has; None for a notebook without outputs."""
    told = notebook.metadata.get(_TOLD, {}).get("code")
    return None if told is None else str(told)


def executed(path: Path, folder: Path) -> Notebook:
    """Return a copy of the notebook, executed in the folder. Raises AssertionError if a cell fails."""
    (done,) = executed_together([path], folder, prepare=lambda _: None)
    assert (failures := errors(done)) == [], failures
    return done


def executed_together(paths: Sequence[Path], folder: Path, prepare: Callable[[Notebook], None]) -> Iterator[Notebook]:
    """Yield a copy of each notebook, executed in the folder up to the first cell that fails.

    prepare: changes a copy before it is executed. All notebooks are executed in one kernel, which forgets
    the names of a notebook before the next. Kernel and client are processes of their own, so that files which their
    libraries leave open cause no warnings in the tests.
    """
    import nbformat

    copies = [folder / path.name for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        notebook = read(path)
        prepare(notebook)
        nbformat.write(notebook, copy)  # type: ignore[no-untyped-call]
    command = [sys.executable, "-m", "priolab.extras.notebooks.tests.notebook_client", *map(str, copies)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    yield from map(read, copies)


def add_answers(notebook: Notebook) -> None:
    """Add the code in the hidden answers, as cells after the notebook's own."""
    import nbformat

    notebook.cells += [nbformat.v4.new_code_cell(source) for source in code_of_answers(notebook)]  # type: ignore[no-untyped-call]


def markdown(notebook: Notebook) -> list[str]:
    """Return the texts in Markdown that the notebook's code shows."""
    return [output.data["text/markdown"] for output in outputs(notebook) if "text/markdown" in output.get("data", {})]


def revealed(notebook: Notebook) -> list[list[str]]:
    """Return the rows in which predictions are compared: prediction, bet, what came, how far off."""
    tables = [text.splitlines() for text in markdown(notebook) if text.startswith("| prediction |")]
    return [line.strip("| ").split(" | ") for _, _, *lines in tables for line in lines]


def errors(notebook: Notebook) -> list[str]:
    """Return what failed in a notebook."""
    return [f"{each.ename}: {each.evalue}" for each in outputs(notebook) if each.output_type == "error"]


def to_be_stored(notebook: Notebook) -> Notebook:
    """Return an executed notebook with the digest of its code, and without what differs between machines and days."""
    import nbformat

    for cell in notebook.cells:
        cell.metadata = {}
    for output in outputs(notebook):
        output.get("data", {}).pop(_WIDGET, None)  # its text stays
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        _TOLD: {"code": digest(notebook)},
    }
    return nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]


def outputs(notebook: Notebook) -> Iterator[Any]:
    """Yield the outputs of all cells."""
    for cell in code(notebook):
        yield from cell.outputs


def main() -> None:
    """Execute all notebooks, and store them with their outputs. The runs come from `results`, if they are there."""
    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(to_be_stored(executed(path, Path(folder))), path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
