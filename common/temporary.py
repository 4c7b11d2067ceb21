"""The folder for temporary files."""

import os
import tempfile
from pathlib import Path

_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108


def temporary_folder() -> str:
    """Returns the folder that `tempfile` would choose, and makes it choose this one.

    To try a folder, `tempfile` writes a file into it and removes the file again: a kill in between would leave the
    file. Here the kernel is asked instead. Raises FileNotFoundError, as `tempfile` does, if no folder can be written.
    """
    if tempfile.tempdir is None:
        given = [value for name in ("TMPDIR", "TEMP", "TMP") if (value := os.environ.get(name))]
        for each in map(Path, (*given, *_USUAL)):
            if each.is_dir() and os.access(each, os.W_OK | os.X_OK):
                tempfile.tempdir = str(each.absolute())
                break
    return tempfile.gettempdir()
