"""Markdown for the documents that the lab writes: paragraphs and rows of tables. Pure."""

from collections.abc import Iterable
from textwrap import fill

_WIDTH = 118


def filled(text: str, hanging: str = "") -> str:
    """Returns a paragraph in lines of at most 118 characters. hanging: what all lines but the first begin with."""
    return fill(text, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def head(*columns: str) -> list[str]:
    """Returns the first two lines of a table. Figures stand on the right in a column whose name ends with a colon."""
    names = (f" {name.removesuffix(':')} " if name else " " for name in columns)
    marks = ("---:" if name.endswith(":") else "---" for name in columns)
    return [f"|{'|'.join(names)}|", f"|{'|'.join(marks)}|"]


def row(cells: Iterable[str]) -> str:
    """Returns a row of a table."""
    return f"| {' | '.join(cells)} |"
