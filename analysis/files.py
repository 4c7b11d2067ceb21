"""Files of run folders, which may come from anywhere: only regular ones are read, and none but those named are written.

A symlink is followed when a file is read, as `results/latest` is one, and never when one is written.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MOST_DOCUMENT_BYTES = 64 * 2**20
MOST_JOURNAL_BYTES = 256 * 2**20


def content(file: Path, most_bytes: int) -> bytes:
    """All of a regular file. Raises OSError, and ValueError if it is none, or larger."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        read = opened.read(most_bytes + 1)
    if len(read) > most_bytes:
        raise ValueError(f"it has more than {most_bytes // 2**20} MiB")
    return read


def parsed(parse: Callable[[str], T], text: bytes) -> T:
    """What a parser makes of a text. Raises ValueError, also for what is nested too deeply."""
    try:
        return parse(text.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


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
