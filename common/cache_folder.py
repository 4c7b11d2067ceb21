"""The user's cache: guest kernels, programs, packages, sources, the JavaScript of figures."""

import os
import pwd
from pathlib import Path


def cache_folder() -> Path:
    """Returns the path of $XDG_CACHE_HOME/priolab, by default ~/.cache/priolab. Ignores variables with relative paths.

    The XDG Base Directory Specification says so.
    """
    given, home = (Path(os.environ.get(name, "")) for name in ("XDG_CACHE_HOME", "HOME"))
    if not given.is_absolute():
        given = (home if home.is_absolute() else Path(pwd.getpwuid(os.getuid()).pw_dir)) / ".cache"
    return given / "priolab"
