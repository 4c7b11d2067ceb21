"""Reads and writes files of the user's cache."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from priolab.common.cache_folder import cache_folder
from priolab.common.formats import files


def recall(name: str) -> dict[str, Any]:
    """Returns the object in a JSON file of the cache; an empty one if the file is missing or damaged."""
    found: Any = None
    with suppress(OSError, ValueError):
        found = files.read_json(cache_folder() / name)
    return found if isinstance(found, dict) else {}


def remember(name: str, new: dict[str, Any]) -> None:
    """Adds entries to the object in a JSON file of the cache, if the cache can be written.

    Of two processes that do so at once, one may lose its entries; the file stays whole.
    """
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        files.write(cache_folder() / name, json.dumps(recall(name) | new).encode())


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
