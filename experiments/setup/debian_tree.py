"""Roots: file trees made of a Debian suite's packages, in which a front of another suite runs.

Rules:
1. A root is a folder SUITE-SERVER-DIGEST in the user's cache, beside its record SUITE-SERVER-DIGEST.json. The digest is
   that of the packages' digests, so a root of that name always has the same content.
2. Once made (root_making.py), a root is used until a newer one is requested (`priolab roots NAME@SUITE`). Then the
   suite is asked again, because suites change. The newest root is used; older ones stay.

Uses the standard library alone, because the set-up runs before the Python environment exists.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from priolab.common.cache_folder import cache_folder
from priolab.proxy.server import Server

FORMAT = 1
"""The format of the record. Roots with another format are ignored."""


@dataclass(frozen=True, kw_only=True)
class PackageRecord:
    """A package of a root. sha256: the digest of its file."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Root:
    """A root that has been made.

    path: the folder. program: the server's executable, as a path inside the root. version: the version that the server
    prints. digest: the digest of all packages' digests. made_at: the time in ISO 8601, to the microsecond. extra: the
    requested packages beside those of the server.
    """

    path: Path
    suite: str
    server: str
    program: str
    version: str
    digest: str
    made_at: str
    extra: tuple[str, ...]
    packages: tuple[PackageRecord, ...]

    @property
    def name(self) -> str:
        """The folder's name, SUITE-SERVER-DIGEST."""
        return self.path.name

    def record(self) -> dict[str, Any]:
        """Returns the content of the root's record."""
        document = {"format": FORMAT, **{name: value for name, value in asdict(self).items() if name != "path"}}
        plain: dict[str, Any] = json.loads(json.dumps(document))
        return plain


def roots_folder() -> Path:
    """Returns the folder of all roots, which may not exist yet."""
    return cache_folder() / "roots"


def find_root(server: Server, extra: Sequence[str] = ()) -> Root | None:
    """Returns the newest root of a server, whose edition is a suite; None if none has been made.

    extra: the packages that the root has beside those of the server.
    """
    asked = (server.folder.name, server.edition, tuple(extra))
    found = [root for root in all_roots() if (root.server, root.suite, root.extra) == asked]
    return max(found, key=lambda root: root.made_at, default=None)


def all_roots() -> list[Root]:
    """Returns all roots in the cache, by name. Ignores records that cannot be read, and those of another format."""
    roots = [root for file in sorted(roots_folder().glob("*.json")) if (root := _read(file))]
    return [root for root in roots if root.path.is_dir()]


def root_at(path: Path) -> Root | None:
    """Returns the root in this folder; None if the folder has no readable record."""
    return _read(path.parent / f"{path.name}.json")


def _read(file: Path) -> Root | None:
    try:
        record: dict[str, Any] = json.loads(file.read_text())
        if record.pop("format") != FORMAT:
            return None
        packages = tuple(PackageRecord(**package) for package in record.pop("packages"))
        return Root(path=file.with_suffix(""), extra=tuple(record.pop("extra")), packages=packages, **record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
