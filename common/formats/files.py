"""Files of run folders, which may come from anywhere: only regular ones are read, and none but those named are written.

A symlink is followed when a file is read, as `results/latest` is one, and never when one is written.
"""

import json
import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

MOST_DOCUMENT_BYTES = 64 * 2**20
MOST_TOML_BYTES = 2**20
MOST_JOURNAL_BYTES = 256 * 2**20
_MOST_LEVELS = 64
NO_MEMORY = "it takes more memory than there is"
_TOO_DEEP = "it is nested too deeply"


def content(file: Path, most_bytes: int) -> bytes:
    """Reads a regular file. Raises OSError, and ValueError if it is not one, or larger."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if found.st_size > most_bytes:
            raise ValueError(f"it has more than {most_bytes // 2**20} MiB")
        try:
            return opened.read(found.st_size)  # what is added now is not waited for
        except MemoryError:
            raise ValueError(NO_MEMORY) from None


def parsed(parse: Callable[[str], T], text: bytes) -> T:
    """Parses a text with a parser. Raises ValueError, also if it is nested too deeply, or takes too much memory."""
    try:
        made = parse(text.decode())
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except MemoryError:
        raise ValueError(NO_MEMORY) from None
    _check_levels(made)
    return made


def document(file: Path, most_bytes: int = MOST_DOCUMENT_BYTES) -> Any:
    """A JSON document. Raises OSError, and ValueError, also for NaN and Infinity, which are not JSON."""
    return parsed(from_json, content(file, most_bytes))


def from_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for NaN and Infinity; RecursionError."""
    return _DECODER.decode(text)


def printable(text: str, kept: str = "") -> str:
    r"""The text with nothing in it that a terminal obeys or that turns the direction of writing, but for those `kept`.

    What cannot be shown stands as Python writes it, such as \x1b or \u202e.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in kept else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _check_levels(made: object) -> None:
    """Raises ValueError for what is nested more deeply than anything of the lab's."""
    level = [made]
    for _ in range(_MOST_LEVELS):
        folders = [each for each in level if isinstance(each, dict | list)]
        if not folders:
            return
        level = [below for each in folders for below in (each.values() if isinstance(each, dict) else each)]
    raise ValueError(_TOO_DEEP)


def write(file: Path, text: bytes) -> None:
    """Write a file; it appears whole. Raises OSError."""
    write_all({file: text})


def write_all(texts: Mapping[Path, bytes]) -> None:
    """Write files; each appears whole, and none before all have been written. Raises OSError."""
    made: dict[Path, Path] = {}
    try:
        for file, text in texts.items():
            descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
            made[file] = Path(name)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(text)
                os.fchmod(descriptor, 0o644)
        for file, new in made.items():
            new.replace(file)
    finally:
        for new in made.values():
            with suppress(OSError):
                new.unlink()
