"""A change of the kernel's source: replacements of lines, in the wording of each range of versions.

Rules:
1. A change says for which versions it is needed. Other versions are left alone: they need no change.
2. The lines to replace occur once in their file. A wording is applied as a whole or not at all.
3. A needed change that no wording fits is lacking. If it decides results, or keeps the host safe, nothing is built;
   otherwise runs cost more, and the kernel's record names what it lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

Version = tuple[int, int]
"""The version of a Linux source, as (7, 2)."""


class Effect(StrEnum):
    """The purpose of a change."""

    RESULT = "result"
    SAFETY = "safety"
    SPEED = "speed"


@dataclass(frozen=True)
class Edit:
    """A replacement of lines that occur once in a file."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """Replacements that only make sense together.

    since: the first version that needs it. before: the first version that no longer needs it, None if there is none.
    wordings: its replacements, in the lines of different versions.
    """

    name: str
    effect: Effect
    since: Version = (6, 1)
    before: Version | None = None
    wordings: tuple[tuple[Edit, ...], ...]

    def is_needed(self, version: Version) -> bool:
        """True if a kernel of that version needs the change."""
        return self.since <= version and (self.before is None or version < self.before)

    def apply(self, tree: Path) -> bool:
        """Applies the change to a source tree; False, with nothing touched, if no wording fits."""
        for edits in self.wordings:
            texts = _edited(tree, edits)
            if texts is not None:
                for name, text in texts.items():
                    (tree / name).write_text(text)
                return True
        return False


def _edited(tree: Path, edits: tuple[Edit, ...]) -> Mapping[str, str] | None:
    """The files' new texts; None if an old text does not occur exactly once."""
    texts: dict[str, str] = {}
    for edit in edits:
        file = tree / edit.file
        if edit.file not in texts:
            if not file.exists():
                return None
            texts[edit.file] = file.read_text()
        if texts[edit.file].count(edit.old) != 1:
            return None
        texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
    return texts
