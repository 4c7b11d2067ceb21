"""The cache of a user, outside the tree: guest kernels, the tuner's program, packages of npm, sources of images."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/priolab, by default ~/.cache/priolab."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "priolab"
