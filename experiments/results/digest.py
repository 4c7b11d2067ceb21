"""Computes digests of the lab's own files. A changed byte, a new file or a missing file changes the digest."""

import hashlib
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from priolab.common import home
from priolab.experiments import CONCLUDING, FLOORS

_LEAVES = (
    "analysis/records",
    "analysis/loads",
    "backend",
    "client",
    "common",
    "compose.yaml",
    "netem",
    "proxy",
    "testbed",
)
_NAMED = "experiments/scenario/catalogue"
_MADE_BY_RUNNING = "__pycache__"


def digest(root: Path, names: Iterable[str], *, apart: Iterable[str] = (), seed: str = "") -> str:
    """Returns the SHA-256 digest of the named files and of all files in the named folders.

    names: paths relative to root; a path that does not exist adds nothing. apart: files and folders to leave out.
    seed: further text that the digest depends on.
    """
    found = hashlib.sha256(seed.encode())
    left_out = frozenset(apart)
    for name in names:
        files = [name] if (root / name).is_file() else sorted(_files(root, name, left_out), key=_parts)
        for file in files:
            found.update(f"{file}\0".encode() + (root / file).read_bytes())
    return found.hexdigest()


def _parts(path: str) -> list[str]:
    return path.split("/")


def _files(root: Path, folder: str, left_out: Container[str]) -> Iterator[str]:
    """Yields the paths of all files in a folder, relative to root, in any order."""
    if folder in left_out or not (root / folder).is_dir():
        return
    with os.scandir(root / folder) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name != _MADE_BY_RUNNING:
                    yield from _files(root, path, left_out)
            elif entry.is_file() and path not in left_out:
                yield path


def deciding() -> list[str]:
    """Returns the files and folders whose code decides results.

    These are the packages beside `experiments` that runs use, and the layers of `experiments` up to the one that writes
    run.json.
    """
    rooms = [room for floor in FLOORS for room in floor]
    rooms = rooms[: rooms.index(CONCLUDING) + 1]
    hub = [f"experiments/{room}" for room in rooms]
    return [*_LEAVES, *(name if (home.ROOT / name).is_dir() else f"{name}.py" for name in hub)]


@cache
def lab() -> Mapping[str, str]:
    """Returns the lab's version, and the digest of its code that decides results, by the names `version` and `code`."""
    from importlib.metadata import version  # which takes as long as the rest of this module

    return {"version": version("priority-lab"), "code": code()}


@cache
def code() -> str:
    """Returns a short digest of the code that decides results.

    The files of named scenarios are left out, because each run's order contains the knobs that they set.
    """
    return digest(home.ROOT, deciding(), apart=[_NAMED])[:12]
