"""The files of the matrix: reads the earlier document, keeps its verdicts, writes the new one, and links the runs.

Rules:
1. A document is FILE (.md), and beside it .json. Its page, .html, is beside it, too; that of docs/measured/matrix.md is
   build/matrix.html, because git need not have what follows from the .json. Beside the document is a folder of the same
   name with the editions: the verdicts of documents that were replaced, each in a file with its date.
2. A document that is replaced is kept only if a verdict, a share or a version differs from the new one's.
3. If both have the same date, an edition of that date stays as it is. So an edition has the verdicts of the last
   document of its day, or of the first one as long as no later day has a document.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from priolab.analysis.records.runs import Run
from priolab.common.documents import check_document, write_document
from priolab.common.errors import StepFailed
from priolab.common.formats import files
from priolab.common.home import ROOT
from priolab.experiments.commands.study import filled_document
from priolab.extras.matrix import page, text
from priolab.extras.matrix.document import document, dumped, matrix_from
from priolab.extras.matrix.edition import dumped_edition, edition, same_but_for_the_date
from priolab.extras.matrix.matrix import Matrix

STEP = "matrix"
DOCUMENT = ROOT / "docs/measured/matrix.md"
"""The lab's own document."""
PAGE = ROOT / "build/matrix.html"
"""The page of DOCUMENT."""

_RUNS = "matrix-runs"


def earlier(path: Path) -> Matrix | None:
    """Returns the matrix of the document that is there, from its .json; None without one. Raises StepFailed.

    path: the document's .md file.
    """
    file = path.with_suffix(".json")
    try:
        return matrix_from(files.read_json(file))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError):
        raise StepFailed(STEP, f"{file} is no matrix that this version reads; move it away") from None


def documented() -> Matrix:
    """Returns the matrix of the lab's own document. Raises StepFailed."""
    found = earlier(DOCUMENT)
    if found is None:
        raise StepFailed(STEP, f"{DOCUMENT.with_suffix('.json')} is missing; `make matrix` makes it")
    return found


def page_of(path: Path) -> Path:
    """Returns the file of a document's page. path: the document's .md file."""
    return PAGE if path.resolve() == DOCUMENT.resolve() else path.with_suffix(".html")


def write_page(path: Path, found: Matrix, runs: Path) -> Path:
    """Writes the page of a document; returns its file. Raises StepFailed. runs: the folder of link_runs."""
    file = page_of(path)
    check_document(file, STEP)  # makes the folder
    write_document(file, page.html(found, os.path.relpath(runs, file.parent)).encode(), STEP)
    return file


def link_runs(results: Path, runs: Iterable[Run]) -> Path:
    """Makes links to the folders of runs, under their arms' names; returns the folder of the links.

    So the folder of a cell's run has the same path on every machine, and after every measurement. results: the folder
    of the results. Links that are there stay, unless a run has the same name. Raises StepFailed.
    """
    folder = results / _RUNS
    try:
        folder.mkdir(exist_ok=True)
        for run in runs:
            link = folder / run.arm
            link.unlink(missing_ok=True)
            link.symlink_to(os.path.relpath(run.path, folder))
    except OSError as error:
        raise StepFailed(STEP, f"{folder}: {error.strerror}") from None
    return folder


def _editions(path: Path) -> Path:
    return path.with_suffix("") if path.suffix else path.with_name(f"{path.name}-editions")


def write_all(path: Path, found: Matrix, before: Matrix | None, runs: Path) -> list[Path]:
    """Writes a document, keeps the verdicts of the one before; returns the files written. Raises StepFailed.

    path: the document's .md file. before: the matrix of the document that is replaced. runs: the folder of link_runs.
    """
    made = list[Path]()
    if before and not same_but_for_the_date(edition(before), edition(found)):
        file = _editions(path) / f"{before.date}.json"
        if before.date != found.date or not file.exists():
            check_document(file, STEP)  # makes the folder
            write_document(file, dumped_edition(edition(before)).encode(), STEP)
            made.append(file)
    beside = page_of(path)
    links = None if beside == PAGE else beside.name
    write_document(path, filled_document(STEP, text.places(found, links)).encode(), STEP)
    write_document(path.with_suffix(".json"), dumped(document(found)).encode(), STEP)
    return [*made, path, write_page(path, found, runs), path.with_suffix(".json")]


if __name__ == "__main__":
    print(write_page(DOCUMENT, documented(), ROOT / "results" / _RUNS))
