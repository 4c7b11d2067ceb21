"""Reads and writes files of run folders. A run folder may come from anywhere, so its files are not trusted.

Only regular files up to a size limit are read. Symlinks are followed for reading, because `results/latest` is one. A
write replaces a symlink instead of following it.
"""

import hashlib
import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

_ENCODER = json.JSONEncoder(indent=2)
MOST_DOCUMENT_BYTES = 64 * 2**20
MOST_TOML_BYTES = 2**20
MOST_JOURNAL_BYTES = 256 * 2**20
_MOST_LEVELS = 64
_MOST_DOTS = 100
NO_MEMORY = "it takes more memory than there is"
_TOO_DEEP = "it is nested too deeply"


class FolderError(Exception):
    """The folder is not a run folder, or is damaged. The text names the file, perhaps the line, and the reason."""


def content(file: Path, most_bytes: int) -> bytes:
    """Reads a regular file. Raises OSError, and ValueError if it is no regular file or has more than most_bytes."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if found.st_size > most_bytes:
            raise ValueError(f"it has more than {most_bytes // 2**20} MiB")
        try:
            return opened.read(found.st_size)  # bytes appended from now on are not read
        except MemoryError:
            raise ValueError(NO_MEMORY) from None


def decoded(text: bytes) -> str:
    """Returns the text of a file in UTF-8, UTF-16 or UTF-32, without its byte-order mark. Raises ValueError.

    Text without a mark is UTF-8, unless zero bytes show that it is not (RFC 4627, 3).
    """
    return text.decode(json.detect_encoding(text))


def parsed(parse: Callable[[str], T], text: bytes) -> T:
    """Returns parse(text). Raises ValueError, also if the text is nested too deeply or takes too much memory."""
    try:
        made = parse(decoded(text))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except MemoryError:
        raise ValueError(NO_MEMORY) from None
    _check_levels(made)
    return made


def read_json(file: Path, most_bytes: int = MOST_DOCUMENT_BYTES) -> Any:
    """Reads a JSON document. Raises OSError, and ValueError, also for NaN and Infinity, which are not JSON.

    most_bytes: the largest allowed size of the file.
    """
    return parsed(from_json, content(file, most_bytes))


def from_json(text: str) -> Any:
    """Parses a JSON text. Raises ValueError, also for NaN and Infinity; RecursionError if the text is nested deeply."""
    return _DECODER.decode(text)


def from_toml(text: str) -> dict[str, Any]:
    """Parses a TOML text. Raises ValueError, also for a line with more than 100 dots.

    Such a line may have a key of many parts, for which tomllib takes memory by the square of their number.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > _MOST_DOTS:
            raise ValueError(f"line {number} has more than {_MOST_DOTS} dots")
    return tomllib.loads(text)


def printable(text: str, kept: str = "") -> str:
    r"""Replaces unprintable characters, such as control characters, by Python's escapes, such as \x1b or \u202e.

    So the text cannot control a terminal or reverse the direction of writing. kept: characters that are not replaced.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in kept else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _check_levels(made: object) -> None:
    """Raises ValueError for a value that is nested more deeply than any document of the lab."""
    level = [made]
    for _ in range(_MOST_LEVELS):
        folders = [each for each in level if isinstance(each, dict | list)]
        if not folders:
            return
        level = [below for each in folders for below in (each.values() if isinstance(each, dict) else each)]
    raise ValueError(_TOO_DEEP)


def write(file: Path, text: bytes) -> None:
    """Writes a file atomically: other programs never see a part of it. Raises OSError."""
    write_all({file: text})


def write_all(texts: Mapping[Path, bytes]) -> None:
    """Writes files. Each file appears whole, and no file appears before all files are written. Raises OSError."""
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


def sha256_of(file: Path) -> str:
    """Returns the SHA-256 digest of a file. Raises OSError."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write_json(path: Path, document: object) -> None:
    """Writes a JSON file; readers never see it half-written."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w") as file:  # in pieces: a sweep's document may have a gigabyte
        file.writelines(_ENCODER.iterencode(document))
        file.write("\n")
    temporary.replace(path)
