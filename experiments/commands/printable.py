"""Text of others on a terminal: results, file names and logs may come from anywhere."""

from rich.markup import escape

from analysis.records import files


def printable(text: str) -> str:
    r"""The text with nothing in it that a terminal obeys or that turns the direction of writing; line ends stay.

    What cannot be shown stands as Python writes it, such as \x1b or \u202e.
    """
    return files.printable(text, kept="\n")


def shown(text: str) -> str:
    """The same for rich: it stands as it is, whatever rich would make of it."""
    return escape(printable(text))
