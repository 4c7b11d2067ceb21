"""Markdown for the documents that the lab writes: paragraphs, tables, and marked places that a program fills. Pure.

A document is written by hand. A marked place in it is `<!-- measured: NAME -->text<!-- end -->`, in a line or in lines
of its own; `copied` in place of `measured` if the text is in the code already. The marks do not show where the document
is read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Self

_WIDTH = 120
_PLACE = re.compile(r"(<!-- (?:measured|copied): ([\w-]+) -->)(\n?)(.*?)\n?<!-- end -->", re.DOTALL)
_MARK = re.compile(r"<!-- (?:(?:measured|copied): [\w-]+|end) -->")
_MARK_ALONE = re.compile(rf"^{_MARK.pattern}\n", re.MULTILINE)


def filled(text: str, hanging: str = "") -> str:
    """Returns a paragraph in lines of at most 120 characters. hanging: what all lines but the first begin with."""
    return fill(text, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: headings, and rows of cells. A column whose heading ends with a colon has its cells on the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def merged(self, column: int = 0) -> Self:
        """Returns the table in which rows that differ in one column alone are one row, which has all values there."""
        found: dict[tuple[str, ...], list[str]] = {}
        for row in self.rows:
            found.setdefault((*row[:column], *row[column + 1 :]), []).append(row[column])
        rows = ((*rest[:column], "; ".join(values), *rest[column:]) for rest, values in found.items())
        return replace(self, rows=tuple(rows))

    def markdown(self) -> str:
        """Returns the table in Markdown."""
        names = tuple(name.removesuffix(":") for name in self.head)
        marks = tuple("---:" if name.endswith(":") else "---" for name in self.head)
        return "\n".join(
            f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in (names, marks, *self.rows)
        )


def places(document: str) -> dict[str, str]:
    """Returns the text of each marked place of a document, by name."""
    return {place[2]: place[4] for place in _PLACE.finditer(document)}


def with_places(document: str, texts: Mapping[str, str]) -> str:
    """Returns a document with new texts in its marked places, by name. Raises ValueError if these have other names."""
    if differing := texts.keys() ^ places(document).keys():
        raise ValueError(f"not both in the document and measured: {', '.join(sorted(differing))}")

    def place(old: re.Match[str]) -> str:
        mark, name, line_end, _ = old.groups()
        return f"{mark}{line_end}{texts[name]}{line_end if texts[name] else ''}<!-- end -->"

    return _PLACE.sub(place, document)


def with_place(document: str, name: str, text: str) -> str:
    """Returns a document with a new text in one of its marked places. Raises ValueError if it has no such place."""
    return with_places(document, {**places(document), name: text})


def without_marks(document: str) -> str:
    """Returns a document as its readers see it: without the marks."""
    return _MARK.sub("", _MARK_ALONE.sub("", document))
