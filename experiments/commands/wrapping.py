"""Wraps words at the width of a terminal, so that the terminal does not break them in the middle."""

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

_FURTHER = 2
"""By how many spaces more than its first line the further lines of a text are indented."""

_NARROWEST = 20
_WORD = re.compile(r"\S+(?: (?:s|ms|KiB|kB/s|kbit/s|packets?)(?!\w))? *")
"""A word; a number and its unit stay together."""


def wrapped(markup: str, width: int, style: str = "") -> Iterator[Text]:
    """Yields the lines of a text in rich's markup, each at most `width` characters wide.

    Further lines are indented. A word that is longer than a line, such as a path, stays whole, so that it can be
    copied.
    """
    for line in Text.from_markup(markup, style=style).split("\n", allow_blank=True):
        if line.cell_len <= width or width < _NARROWEST:
            yield line
            continue
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        for number, piece in enumerate(line[indent:].divide(_breaks(line.plain[indent:], width - indent))):
            piece.rstrip()
            yield Text(" " * (indent + (_FURTHER if number else 0))) + piece


def _breaks(text: str, width: int) -> list[int]:
    """Returns the positions at which further lines begin. width: the width of the first line."""
    breaks: list[int] = []
    used = 0
    for word in _WORD.finditer(text):
        if used and used + cell_len(word[0].rstrip()) > width - (_FURTHER if breaks else 0):
            breaks.append(word.start())
            used = 0
        used += cell_len(word[0])
    return breaks
