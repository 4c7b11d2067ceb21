"""Finds the npm packages of servers, in the cache. A folder's name has a digest of package.json and the lock file."""

import hashlib
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.proxy.server import Server

NPM_FILES = ("package.json", "package-lock.json")
"""The files that say which packages to install."""


def folder_for(asked: Path) -> Path:
    """Returns the folder in the cache for the npm packages that a lock file pins; the folder may not exist yet.

    asked: the folder of package.json and the lock file.
    """
    content = b"".join((asked / name).read_bytes() for name in NPM_FILES)
    return cache_folder() / f"npm-{asked.name}-{hashlib.sha256(content).hexdigest()[:12]}"


def modules_of(server: Server) -> Path | None:
    """Returns the folder for a server's npm packages, which may not exist yet; None if the server needs none."""
    return None if server.npm is None else folder_for(server.npm)


def lacks_modules(server: Server) -> bool:
    """Returns True if the server needs npm packages that are not installed."""
    folder = modules_of(server)
    return folder is not None and not folder.exists()
