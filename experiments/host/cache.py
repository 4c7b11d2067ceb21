"""The cache of a user, outside the tree: guest kernels, the tuner's program, packages of npm, sources of images."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/priolab, by default ~/.cache/priolab."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "priolab"


@contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """Yields an empty folder to fill. It gets its final name at the end, or is removed on failure. Raises OSError."""
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{final.name}-", dir=final.parent) as scratch:
        made = Path(scratch) / final.name
        made.mkdir()
        yield made
        try:
            made.rename(final)
        except OSError:
            if not final.is_dir():  # another process may have been first
                raise
