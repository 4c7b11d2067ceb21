"""Makes foreign text safe for a terminal: results, file names and logs may come from anywhere."""

from rich.markup import escape

from common.formats import files


def printable(text: str) -> str:
    r"""The text without anything that a terminal obeys or that turns the direction of writing; line ends stay.

    Other characters stand as Python writes them, such as \x1b or \u202e.
    """
    return files.printable(text, kept="\n")


def shown(text: str) -> str:
    """The same for rich, without its markup taking effect."""
    return escape(printable(text))
