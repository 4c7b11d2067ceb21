"""A change of the kernel's source: replacements of lines, with a wording for each range of kernel versions.

Rules:
1. A change states the versions that need it. The sources of other versions stay unchanged.
2. The lines to replace occur once in their file. A wording is applied as a whole or not at all.
3. A needed change is lacking if none of its wordings fits the source. If the lacking change would decide results or
   keep the host safe, no kernel is built. Otherwise runs take longer, and the kernel's record names the lacking change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

Version = tuple[int, int]
"""The version of a Linux source, such as (7, 2)."""


class Effect(StrEnum):
    """The purpose of a change: to decide results, to keep the host safe, or to make runs faster."""

    RESULT = "result"
    SAFETY = "safety"
    SPEED = "speed"


@dataclass(frozen=True)
class Edit:
    """A replacement of lines in a source file, in which these lines must occur exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """Replacements in the kernel's source that are made together or not at all.

    since: the first version that needs the change. before: the first version that no longer needs the change; None if
    all later versions need it. wordings: the replacements for the sources of different versions.
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
        """Applies the first wording that fits a source tree. Returns False, and changes nothing, if none fits."""
        for edits in self.wordings:
            texts = _edited(tree, edits)
            if texts is not None:
                for name, text in texts.items():
                    (tree / name).write_text(text)
                return True
        return False


def _edited(tree: Path, edits: tuple[Edit, ...]) -> Mapping[str, str] | None:
    """Returns the new text of each file; None if an old text does not occur exactly once."""
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
