"""Lists the files from which container images are built, and finds them in a clone or an installed lab."""

import shutil
from pathlib import Path

from priolab.common import home
from priolab.common.cache import new_folder
from priolab.common.cache_folder import cache_folder

FILES = (".dockerignore", "compose.yaml")
FOLDERS = ("backend", "client", "common", "netem", "proxy")
IMAGE_SOURCES = (*FILES, *FOLDERS)
"""The files and folders from which container images are built."""
APART = ("common/debian",)
"""The folders in these that no image needs. A contract of imports keeps it so, and .dockerignore names them, too."""


def image_folder(tag: str) -> Path:
    """Returns the folder from which container images are built: the clone, or a copy in the cache. Raises OSError.

    tag: part of the copy's name; for each tag the copy is made only once.
    """
    if home.is_clone():
        return home.ROOT
    folder = cache_folder() / f"images-{tag}"
    if folder.is_dir():
        return folder
    with new_folder(folder) as made:
        for name in FILES:
            shutil.copyfile(home.ROOT / name, made / name)
        for name in FOLDERS:
            shutil.copytree(home.ROOT / name, made / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
