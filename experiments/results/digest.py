"""Files of the lab's own as a digest: another file, or another byte in one, is another digest."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from experiments.host import home

_DECIDING = ("analysis", "backend", "client", "common", "compose.yaml", "experiments", "netem", "proxy")
_DECIDING_NOTHING = (
    "analysis/reports/film.py",
    "analysis/figures",
    "analysis/matrix",
    "analysis/notebooks",
    "analysis/reproduction",
    "experiments/scenario/catalogue",
    "experiments/demo",
    "experiments/sweep/catalogue",
)
_MADE_BY_RUNNING = "__pycache__"


def digest(root: Path, names: Iterable[str], *, apart: Iterable[str] = (), seed: str = "") -> str:
    """Of the files, and of all files in the folders, of these names, but for those `apart`; what is missing is empty.

    seed: what else it is to depend on.
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


def code() -> str:
    """Names the code that decides what a run comes to: all but pictures, notebooks and named scenarios."""
    return digest(home.ROOT, _DECIDING, apart=_DECIDING_NOTHING)[:12]
