"""A change of the kernel's source: C files that are added, and hooks that call them from the kernel's own files.

Rules:
1. A change states the versions that need it. The sources of other versions stay unchanged.
2. A hook replaces a text that occurs once in its file. The text is as short as it can be, so that it is the same in
   many versions. A wording is applied as a whole or not at all.
3. A needed change is lacking if none of its wordings fits the source. If the lacking change would decide results or
   keep the host safe, no kernel is built. Otherwise runs take longer, and the kernel's record names the lacking change.
4. The C files are in this folder. Their functions are declared in priolab.h, which a file with a hook includes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_C_FILES = Path(__file__).parent
_OBJECTS = "arch/um/kernel"
_INCLUDE = "#include <priolab.h>\n"

DECLARATIONS = ("arch/um/include/shared/priolab.h", (_C_FILES / "priolab.h").read_bytes())
"""The path in the source tree, and the content, of the header that files with hooks include."""

Version = tuple[int, int]
"""The version of a Linux source, such as (7, 2)."""


class Effect(StrEnum):
    """The purpose of a change: to decide results, to keep the host safe, or to make runs faster."""

    RESULT = "result"
    SAFETY = "safety"
    SPEED = "speed"


@dataclass(frozen=True)
class Edit:
    """A replacement of a text in a source file, in which this text must occur exactly once.

    An empty `old` stands for the end of the file, and makes the file if there is none.
    """

    file: str
    old: str
    new: str


def compiled(name: str, folder: str = _OBJECTS) -> Edit:
    """Returns the edit that adds a C file of this folder to a folder of the kernel's source."""
    return Edit(f"{folder}/priolab_{name}", "", (_C_FILES / name).read_text())


def linked(name: str) -> tuple[Edit, ...]:
    """Returns the edits that add a C file to the kernel."""
    return compiled(name), Edit(f"{_OBJECTS}/Makefile", "", f"obj-y += priolab_{Path(name).stem}.o\n")


def included(name: str, file: str) -> tuple[Edit, ...]:
    """Returns the edits that include a C file at the end of a file of the kernel, whose static functions it uses."""
    return compiled(name, str(Path(file).parent)), Edit(file, "", f'#include "priolab_{name}"\n')


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

    @property
    def files(self) -> frozenset[str]:
        """The files of the kernel that the change edits, in any of its wordings."""
        return frozenset(edit.file for edits in self.wordings for edit in edits if edit.old)

    def fits(self, tree: Path) -> bool:
        """True if one of the wordings fits a source tree."""
        return any(_edited(tree, edits) is not None for edits in self.wordings)

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
            if edit.old and not file.exists():
                return None
            texts[edit.file] = file.read_text() if file.exists() else ""
        text = texts[edit.file]
        if edit.old and text.count(edit.old) != 1:
            return None
        text = text.replace(edit.old, edit.new) if edit.old else text + edit.new
        calls_c_file = edit.old and "priolab_" in edit.new and edit.file.endswith(".c")
        texts[edit.file] = _INCLUDE + text if calls_c_file and not text.startswith(_INCLUDE) else text
    return texts
