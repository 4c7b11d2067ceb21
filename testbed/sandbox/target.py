"""A file that the sandbox writes when its programs have ended.

They may have put anything in the place of the file, or of its folder, to which they could not write themselves: a
symlink, a named pipe, a device. So the file is made anew, in the folder that was there before they began.
"""

import os
import stat
from pathlib import Path
from typing import Self

from priolab.common.documents import check_document, write_document
from priolab.common.errors import StepFailed
from priolab.common.formats import files

_SYSTEM = ("dev", "proc")


class Target:
    """A file to be written when the programs have ended. A context manager, to be entered before they begin."""

    def __init__(self, path: Path, step: str) -> None:
        """step: the name of the work, for errors. Raises StepFailed if the file cannot be written."""
        self._path = path
        self._step = step
        check_document(path, step)

    def __enter__(self) -> Self:
        self._before = _identity(self._path)
        try:
            self._folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._refused(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)

    def write(self, content: bytes) -> None:
        """Writes it. A device or pipe that was there before, and still is, gets the content. Raises StepFailed."""
        if self._before is not None and _identity(self._path) == self._before:
            write_document(self._path, content, self._step)
            return
        try:
            files.write(Path(f"/proc/self/fd/{self._folder}", self._path.name), content)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StepFailed:
        return StepFailed(self._step, f"{self._path} cannot be written: {error.strerror}")


def _identity(path: Path) -> tuple[int, int] | None:
    """Returns what tells a device or a pipe from others; None for a regular file, or none."""
    try:
        state = path.stat()
    except OSError:
        return None
    if stat.S_ISREG(state.st_mode) and path.absolute().parts[1] not in _SYSTEM:
        return None
    return state.st_dev, state.st_ino
