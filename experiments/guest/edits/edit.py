"""What a change of the kernel's source is made of."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """One replacement of lines that stand once in a file."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Change:
    """Replacements that only make sense together: all are made, or none."""

    edits: tuple[Edit, ...]

    def apply(self, tree: Path) -> bool:
        """Whether it was made: not, if this source lacks one of the lines."""
        texts: dict[str, str] = {}
        for edit in self.edits:
            file = tree / edit.file
            if edit.file not in texts:
                if not file.exists():
                    return False
                texts[edit.file] = file.read_text()
            if texts[edit.file].count(edit.old) != 1:
                return False
            texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
        for name, text in texts.items():
            (tree / name).write_text(text)
        return True
