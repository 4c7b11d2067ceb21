"""Templates of configurations: texts with placeholders of the form `@{name}`.

`@@` stands for an at sign. An at sign before any other character than a brace stands for itself.
"""

import string
from collections.abc import Mapping


class _Template(string.Template):
    """`$` has a meaning in the servers' configuration files, so the placeholders begin with another sign."""

    delimiter = "@"
    pattern = r"@(?:(?P<escaped>@)|\{(?P<braced>[a-z][a-z_0-9]*)\}|(?P<invalid>\{)|(?P<named>(?!)))"  # type: ignore[assignment]


def rendered(text: str, values: Mapping[str, str]) -> str:
    """Replaces the placeholders by their values. Raises KeyError for an unknown name, ValueError for a lone `@{`."""
    return _Template(text).substitute(values)


def placeholders(text: str) -> dict[str, int]:
    """Returns the names of a template's placeholders, each with the number of the first line that has it, from 1."""
    found: dict[str, int] = {}
    for match in _Template.pattern.finditer(text):  # type: ignore[attr-defined]
        if name := match["braced"]:
            found.setdefault(name, text.count("\n", 0, match.start()) + 1)
    return found
