"""Wraps words at the width of a terminal, so that the terminal does not break them in the middle."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

_FURTHER = 2
"""By how many spaces more than its first line the further lines of a text are indented."""

_NARROWEST = 20


def wrapped(markup: str, width: int, style: str = "") -> Iterator[Text]:
    """Yields the lines of a text in rich's markup, each at most `width` characters wide.

    Further lines are indented. A word that is longer than a line, such as a path, has a line of its own and stays
    whole, so that it can be copied.
    """
    for line in Text.from_markup(markup, style=style).split("\n", allow_blank=True):
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        if line.cell_len <= width or width < _NARROWEST:
            yield line
            continue
        console = Console(width=width)
        room = max(_NARROWEST, width - indent - _FURTHER)
        for number, piece in enumerate(line[indent:].wrap(console, room, overflow="ignore", no_wrap=False)):
            piece.rstrip()
            yield Text(" " * (indent + (_FURTHER if number else 0))) + piece
