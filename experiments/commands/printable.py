"""Makes text of unknown origin safe for a terminal: results, file names and logs may come from anywhere."""

from rich.markup import escape

from priolab.common.formats import files


def printable(text: str) -> str:
    r"""Returns the text with control characters and marks of writing direction escaped; line ends stay.

    Escapes are those of Python, such as \x1b or \u202e.
    """
    return files.printable(text, kept="\n")


def ended(text: str) -> str:
    """Returns a sentence of a user's or of the catalogue with its end: a full stop, unless it has an end of its own."""
    return text if text.endswith((".", "?", "!", ":")) else f"{text}."


def shown(text: str) -> str:
    """Returns the printable text, escaped so that rich reads no markup in it."""
    return escape(printable(text))
