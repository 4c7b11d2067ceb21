"""Digests of files, and of what a user gives the lab: a server's folder, a program."""

import hashlib
from pathlib import Path

from priolab.common.errors import Unavailable
from priolab.common.formats.files import sha256_of

_MADE_BY_RUNNING = "__pycache__"


def digest_of(path: Path, what: str) -> str:
    """Returns the SHA-256 digest of a file, or of the names and contents of all files in a folder. Raises Unavailable.

    what: the knob and its value, for the error.
    """
    try:
        if path.is_file():
            return f"sha256 {sha256_of(path)}"
        found = hashlib.sha256()
        for file in sorted(file for file in path.rglob("*") if file.is_file() and _MADE_BY_RUNNING not in file.parts):
            found.update(f"{file.relative_to(path)}\0{sha256_of(file)}\0".encode())
    except OSError as error:
        raise Unavailable(what, f"{error.filename}: {error.strerror}", "make the file readable") from error
    return f"sha256 {found.hexdigest()}"
