"""Locates the lab's own files, in a clone or an installation, and tells the two apart."""

import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from experiments.host.cache import cache_folder, new_folder

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the packages; in a clone, the clone."""

_OF_A_CLONE = ("pyproject.toml", "constraints.txt", "Makefile")
_SHARED = (".dockerignore", "compose.yaml")
_IN_IMAGES = ("backend", "client", "common", "netem", "proxy")
IMAGE_SOURCES = (*_SHARED, *_IN_IMAGES)
"""The sources of container images: files among the package's data, and folders."""


def is_clone(root: Path = ROOT) -> bool:
    """True if make, and everything else outside the package, is there."""
    return all((root / name).is_file() for name in _OF_A_CLONE)


def setup_command(words: str = "") -> str:
    """The command that sets this machine up, for messages."""
    return f"`{'make' if is_clone() else 'priolab'} setup{f' {words}' if words else ''}`"


def in_checkout() -> bool:
    """True if this process runs in the environment of its own code's checkout."""
    return is_clone() and Path(sys.prefix) == ROOT / ".venv"


def pip_install(package: str) -> str:
    """The command that adds a package to this Python environment, for messages; a clone's checks its digest."""
    checked = f"--require-hashes -c {ROOT / 'constraints.txt'} " if in_checkout() else ""
    return f"`{Path(sys.prefix) / 'bin' / 'pip'} install {checked}{package}`"


def shared(name: str) -> Path:
    """Locates a file beside the packages in a clone, or in an installed lab's data. Raises FileNotFoundError."""
    if (ROOT / name).is_file():
        return ROOT / name
    try:
        files = distribution("priority-lab").files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name and (path := Path(str(file.locate()))).is_file():
            return path.resolve()
    raise FileNotFoundError(f"{name} is not among the files of the installed lab")


def image_folder(tag: str) -> Path:
    """The folder that images are built from: the clone, or a copy in the cache, made once. Raises OSError."""
    if is_clone():
        return ROOT
    folder = cache_folder() / f"images-{tag}"
    if folder.is_dir():
        return folder
    with new_folder(folder) as made:
        for name in _SHARED:
            shutil.copyfile(shared(name), made / name)
        for name in _IN_IMAGES:
            shutil.copytree(ROOT / name, made / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
