"""What is made once per user and kept outside the tree: the guest kernel, the tuner's program, the origin's images."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/priolab, by default ~/.cache/priolab."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "priolab"
