"""Computes digests of the lab's own files. A changed byte, a new file or a missing file changes the digest."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from experiments import CONCLUDING, FLOORS
from experiments.host import home

_LEAVES = ("analysis/records", "analysis/loads", "backend", "client", "common", "compose.yaml", "netem", "proxy")
_NAMED = "experiments/scenario/catalogue"
_MADE_BY_RUNNING = "__pycache__"


def digest(root: Path, names: Iterable[str], *, apart: Iterable[str] = (), seed: str = "") -> str:
    """Returns the SHA-256 digest of the named files and of all files in the named folders.

    names: paths relative to root; a path that does not exist adds nothing. apart: files and folders to leave out.
    seed: further text that the digest depends on.
    """
    found = hashlib.sha256(seed.encode())
    left_out = tuple(root / name for name in apart)
    for name in names:
        path = root / name
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        for file in files:
            if _MADE_BY_RUNNING not in file.parts and not any(file.is_relative_to(folder) for folder in left_out):
                found.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return found.hexdigest()


def deciding() -> list[str]:
    """Returns the files and folders whose code decides results.

    These are the packages beside `experiments` that runs use, and the layers of `experiments` up to the one that writes
    run.json.
    """
    rooms = [room for floor in FLOORS for room in floor]
    rooms = rooms[: rooms.index(CONCLUDING) + 1]
    hub = [f"experiments/{room}" for room in rooms]
    return [*_LEAVES, *(name if (home.ROOT / name).is_dir() else f"{name}.py" for name in hub)]


def code() -> str:
    """Returns a short digest of the code that decides results.

    The files of named scenarios are left out, because each run's order contains the knobs that they set.
    """
    return digest(home.ROOT, deciding(), apart=[_NAMED])[:12]
