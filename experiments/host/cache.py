"""The user's cache: guest kernels, the tuner's program, npm packages, sources and versions of container images."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Returns the path of $XDG_CACHE_HOME/priolab, by default ~/.cache/priolab."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "priolab"


@contextmanager
def new_folder(final: Path) -> Iterator[Path]:
    """Yields an empty folder; renames it to `final` at the end, or removes it after an exception. Raises OSError."""
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{final.name}-", dir=final.parent) as scratch:
        made = Path(scratch) / final.name
        made.mkdir()
        yield made
        try:
            made.rename(final)
        except OSError:
            if not final.is_dir():  # another process may have made the folder meanwhile
                raise
