"""The links in the documents: each leads to a file that is there, and to a heading of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.common.home import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def _links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the file and the heading of each link that is not on the web."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" not in target:
            file, _, heading = target.partition("#")
            yield file, heading


def _headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_leads_somewhere(page: Path) -> None:
    """A link's file is there. A link to a heading of a page has its anchor."""
    for file, heading in _links(page.read_text()):
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), file
        if heading and there.suffix == ".md":
            assert heading in _headings(there), (file, heading)


_CODE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:c|css|h|html|ipynb|mjs|py|sh|toml|ts))`")
"""A path of the checkout in a document; it may leave out the first folders."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_path_in_backticks_is_there(page: Path) -> None:
    """The files of code that a page names are there. NAME in capitals stands for any; others' files begin with `..`."""
    named = set(_CODE.findall(page.read_text()))
    ours = [path for path in named if not re.search(r"\b[A-Z]{4,}\b", path) and not path.startswith(("..", ".venv"))]
    missing = [path for path in ours if not (ROOT / path).exists() and not any(ROOT.glob(f"*/{path}"))]
    assert [path for path in missing if not any(ROOT.glob(f"*/*/{path}"))] == []
