"""Chooses, finds and fetches the Linux source of the guest kernel.

Rules:
1. One version is pinned for all machines, so that all machines give the same results.
2. If the pinned version is not available, the distribution's own source is used in its place. The kernel's record
   states this replacement.
3. This module needs no root, and writes only to the cache.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from priolab.common.cache_folder import cache_folder
from priolab.common.debian.suite_packages import CannotFetch, SuitePackages
from priolab.common.errors import ScenarioError, Unavailable
from priolab.common.home import kernel_command
from priolab.common.process.processes import die_with_parent
from priolab.common.running import ProgramFailed, finished
from priolab.testbed.guest.kernel_patches.edit import Version

PINNED: Version = (7, 2)
"""The kernel version of all machines that can fetch its source."""

TRIED: tuple[Version, ...] = ((6, 1), (6, 12), PINNED)
"""Kernel versions whose results docs/measured/agreement.md compares."""

VARIABLE = "PRIOLAB_KERNEL"
"""The environment variable with the guest kernel: a version, a source tarball, or a built kernel (prebuilt.py).

`make KERNEL=...` sets it.
"""

_ALLOWED = (
    "a version such as 7.2 or 6.12, the path of a Linux source such as /tmp/linux-7.2.tar.xz, "
    "or a file that `priolab kernel --archive` has made, linux-7.2-....tar.gz#sha256=..."
)
KERNEL_PROGRAMS: Mapping[str, str] = MappingProxyType(
    {**{name: name for name in ("gcc", "make", "flex", "bison", "bc")}, "xz": "xz-utils"}
)
KERNEL_FILES: Mapping[str, str] = MappingProxyType({"/usr/include/stdio.h": "libc6-dev"})
"""The packages that the build of the guest kernel needs.

KERNEL_PROGRAMS has them by program, KERNEL_FILES by file; a file may be a glob pattern.
"""

_SUITES: dict[Version, str] = {(7, 2): "sid", (6, 12): "trixie", (6, 1): "bookworm"}
_TARBALL = re.compile(r"linux-(?:source-)?(\d+)\.(\d+)(?:\.\d+)*(?:-.*)?\.tar(?:\.(?:xz|bz2|gz|zst))?")
_DISTRIBUTION = Path("/usr/src")
_NAME_IT = f"name a source or a built kernel: {kernel_command('/path/linux-7.2.tar.xz')}"
_UNPACKING_S = 600.0


def words(version: Version) -> str:
    """Returns the version as text, such as 7.2."""
    return ".".join(map(str, version))


@dataclass(frozen=True, kw_only=True)
class SourceChoice:
    """The wanted source. tarball: the path that the user named, if any. pinned: True if the user named nothing."""

    version: Version
    tarball: Path | None = None
    pinned: bool = False


def chosen() -> SourceChoice:
    """Returns the user's choice in the environment, or the pinned version. Raises ScenarioError."""
    wish = os.environ.get(VARIABLE, "")
    if not wish:
        return SourceChoice(version=PINNED, pinned=True)
    if match := re.fullmatch(r"(\d+)\.(\d+)", wish):
        return SourceChoice(version=(int(match[1]), int(match[2])))
    tarball = Path(wish)
    version = version_of(tarball)
    if version is None or not tarball.is_file():
        raise ScenarioError("KERNEL", wish, _ALLOWED)
    return SourceChoice(version=version, tarball=tarball.resolve())


@contextmanager
def wanted(version: Version | None) -> Iterator[None]:
    """Sets the environment variable PRIOLAB_KERNEL to a version while the context is open; None changes nothing."""
    before = os.environ.get(VARIABLE)
    if version is not None:
        os.environ[VARIABLE] = words(version)
    try:
        yield
    finally:
        if before is not None:
            os.environ[VARIABLE] = before
        else:
            os.environ.pop(VARIABLE, None)


def version_of(tarball: Path) -> Version | None:
    """Returns the version in the name of a tarball of Debian, Ubuntu or kernel.org; None for other names."""
    match = _TARBALL.fullmatch(tarball.name)
    return (int(match[1]), int(match[2])) if match else None


def present(version: Version) -> Path | None:
    """Returns a tarball of that version on this machine: fetched before, or the distribution's. None if none exists."""
    folders = (_kept(), _DISTRIBUTION)
    return next((path for folder in folders for path in _tarballs(folder) if version_of(path) == version), None)


def is_to_be_fetched() -> bool:
    """True if the source of the kernel that the user wants is not on this machine. Raises ScenarioError."""
    choice = chosen()
    return choice.tarball is None and present(choice.version) is None


def stand_in() -> Path | None:
    """Returns the distribution's newest source, as a substitute; None if no package with a source is installed."""
    return max(_tarballs(_DISTRIBUTION), key=lambda path: version_of(path) or (0, 0), default=None)


def find(choice: SourceChoice, tell: Callable[[str, float], None]) -> Path:
    """Returns a tarball of the wanted source. Fetches the tarball if it is not on this machine. Raises Unavailable.

    If the pinned version cannot be fetched, returns the distribution's own source, if installed.

    tell: called with the step, and the fraction of the step that is done.
    """
    if choice.tarball is not None:
        return choice.tarball
    if (tarball := present(choice.version)) is not None:
        return tarball
    try:
        return _fetch(choice.version, tell)
    except CannotFetch as error:
        if not choice.pinned or (tarball := stand_in()) is None:
            what, remedy = f"the source of Linux {words(choice.version)}", f"{error.remedy}, or {_NAME_IT}"
            raise Unavailable(what, str(error), remedy) from error
        return tarball


def _kept() -> Path:
    return cache_folder() / "sources"


def _tarballs(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("linux-*.tar*")) if version_of(path) and path.is_file())


def _fetch(version: Version, tell: Callable[[str, float], None]) -> Path:
    """Fetches the source's package from the Debian suite that has it. Raises CannotFetch."""
    package = f"linux-source-{words(version)}"
    if version not in _SUITES:
        raise CannotFetch(f"the lab knows no Debian release that has {package}", "install linux-source")
    _kept().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=_kept()) as scratch:
        unpacked = Path(scratch, "package")
        packages = SuitePackages(_SUITES[version], Path(scratch))
        tell("looking for the source", 0.0)
        packages.update()
        archive = packages.fetch_alone(package, lambda share: tell("fetching the source", share))
        tell("unpacking the package", 0.0)
        try:
            finished(["dpkg-deb", "-x", str(archive), str(unpacked)], _UNPACKING_S, begin=die_with_parent).checked()
        except ProgramFailed as error:
            raise CannotFetch(str(error)) from error
        (tarball,) = _tarballs(unpacked / "usr" / "src")
        kept = _kept() / f"linux-{_upstream(archive.name)}.tar{tarball.suffix}"
        tarball.replace(kept)
        return kept


def _upstream(archive: str) -> str:
    """Returns the upstream version in a package's file name: 7.2.13 for linux-source-7.2_7.2.13-1_all.deb."""
    return archive.split("_")[1].partition("-")[0]
