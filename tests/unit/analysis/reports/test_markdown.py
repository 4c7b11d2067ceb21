"""Tests of Markdown: tables, and the marked places of documents."""

import re
from pathlib import Path

import pytest

from priolab.analysis.reports.markdown import Table, places, with_places, without_marks
from priolab.common.home import ROOT

_PAGES = [ROOT / "docs/reference/knobs.md", *sorted(ROOT.glob("docs/measured/*.md"))]
_DOCUMENT = """# A study

In <!-- measured: near -->2 of 3<!-- end --> networks.

<!-- measured: table -->
| a |
| --- |
<!-- end -->

<!-- copied: losses -->
<!-- end -->
"""


def test_a_table() -> None:
    """A colon at the end of a heading puts the column on the right. No cell ends at a bar in its text."""
    made = Table(head=("", "time:"), rows=(("a|b", "1 s"),)).markdown()
    assert made.splitlines() == ["|  | time |", "| --- | ---: |", "| a&#124;b | 1 s |"]


def test_rows_that_differ_in_one_column() -> None:
    """Rows that differ in one column alone are one row, at the place of the first."""
    made = Table(head=("", "b:", "c"), rows=(("x", "1", "p"), ("y", "1", "q"), ("x", "2", "p")))
    assert made.merged(1).rows == (("x", "1; 2", "p"), ("y", "1", "q"))
    assert made.merged().rows == made.rows


def test_places() -> None:
    """A place is in a line or in lines of its own, and may be empty. What else the document has stays."""
    assert places(_DOCUMENT) == {"near": "2 of 3", "table": "| a |\n| --- |", "losses": ""}
    assert with_places(_DOCUMENT, places(_DOCUMENT)) == _DOCUMENT
    other = {"near": "3 of 3", "table": "", "losses": "One.\n\nTwo."}
    assert places(with_places(_DOCUMENT, other)) == other
    assert with_places(with_places(_DOCUMENT, other), places(_DOCUMENT)) == _DOCUMENT


def test_every_place_is_measured() -> None:
    """A place without a text, and a text without a place, are errors: the document would keep an old figure."""
    with pytest.raises(ValueError, match="losses, other"):
        with_places(_DOCUMENT, {"near": "", "table": "", "other": ""})


def test_readers_see_no_marks() -> None:
    """Without the marks, the document has its text, and no lines of the marks."""
    assert without_marks(_DOCUMENT) == "# A study\n\nIn 2 of 3 networks.\n\n| a |\n| --- |\n\n"


@pytest.mark.parametrize(
    "page", [ROOT / "docs/reference/knobs.md", *sorted(ROOT.glob("docs/measured/*.md"))], ids=lambda page: page.stem
)
def test_marks_of_the_documents(page: Path) -> None:
    """Each mark belongs to a place. A line that begins with one has nothing else: Markdown would take it for HTML."""
    text = page.read_text()
    lines = [line for line in text.splitlines() if line.startswith("<!--")]
    assert [line for line in lines if not re.fullmatch(r"<!-- ((measured|copied): [\w-]+|end) -->", line)] == []
    assert "<!--" not in without_marks(text)
    assert with_places(text, places(text)) == text
    assert places(text)
