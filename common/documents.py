"""Writes the documents that a user names: files, devices and pipes."""

import contextlib
import os
from pathlib import Path

from priolab.common.errors import StepFailed
from priolab.common.formats import files

_SYSTEM = ("dev", "proc")
"""Folders whose entries may be links to open files: only to write into, never to replace."""


def check_document(path: Path, step: str) -> None:
    """Makes the document's folder, and checks before long work that the document can be written. Raises StepFailed.

    step: the name of the work, for the error.
    """
    if path.is_dir():
        raise StepFailed(step, f"{path} is a folder, not a file")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise StepFailed(step, f"{path} cannot be written")


def write_document(path: Path, content: bytes, step: str) -> None:
    """Writes a file; readers never see it half-written. Raises StepFailed.

    A device or pipe, such as /dev/stdout, stays what it is: the content is written into it. step: the name of the work,
    for the error.
    """
    try:
        if path.exists() and (not path.is_file() or path.absolute().parts[1] in _SYSTEM):
            path.write_bytes(content)
        else:
            files.write(path, content)
    except OSError as error:
        raise StepFailed(step, f"{path} cannot be written: {error.strerror}") from error
