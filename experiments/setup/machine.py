"""Facts about this machine that a set-up depends on."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.common.debian.apt import Rights
from priolab.common.process.search_path import find
from priolab.experiments.setup.packages import Want
from priolab.testbed import namespace_requirements

_RELEASE = Path("/etc/os-release")
_PATIENCE_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A Linux distribution, as os-release(5) describes it.

    name: the name for messages. families: the values of ID and ID_LIKE.
    """

    name: str
    families: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Facts about this machine.

    has_apt: True if apt-get is installed. rights: how packages may be installed. has_cache: True if the cache folder
    exists. cache_trouble: the reason why the cache folder cannot be written; None if it can be written. no_namespaces:
    the reason why this user may not make namespaces, and the remedy; None if the user may.
    """

    distribution: Distribution
    has_apt: bool
    rights: Rights
    has_cache: bool = True
    cache_trouble: str | None = None
    no_namespaces: str | None = None


def distribution(release: str | None = None) -> Distribution:
    """Reads the text of an os-release file, by default this machine's. A text without a name gives "this system"."""
    if release is None:
        try:
            release = _RELEASE.read_text(errors="replace")
        except OSError:
            release = ""
    fields = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    texts = {name: value.strip().strip("\"'") for name, value in fields.items()}
    families = [texts.get("ID", ""), *texts.get("ID_LIKE", "").split()]
    return Distribution(
        name=texts.get("PRETTY_NAME") or texts.get("NAME") or "this system",
        families=tuple(dict.fromkeys(family for family in families if family)),
    )


def look(*, lacks_something: bool) -> Machine:
    """Collects the facts about this machine.

    lacks_something: True if something must be installed, so that sudo has to be tried.
    """
    trouble = cache_trouble()
    return Machine(
        distribution=distribution(),
        has_apt=find("apt-get") is not None,
        rights=_rights() if lacks_something else Rights.NONE,
        has_cache=cache_folder().is_dir(),
        cache_trouble=trouble,
        no_namespaces=namespace_requirements.namespaces_refused(),
    )


def lacking(wants: Iterable[Want]) -> tuple[Want, ...]:
    """Returns the wanted things of which this machine lacks a program or a file."""
    return tuple(want for want in wants if not _is_there(want))


def _is_there(want: Want) -> bool:
    if want.programs and not any(find(program) for program in want.programs):
        return False
    return all(any(Path("/").glob(file.removeprefix("/"))) for file in want.files)


def _rights() -> Rights:
    if os.geteuid() == 0:
        return Rights.ROOT
    if find("sudo") is None:
        return Rights.NONE
    asked = subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return Rights.SUDO if asked.returncode == 0 else Rights.NONE


def cache_trouble() -> str | None:
    """Makes the cache folder if need be; returns why it cannot be written, or None if it can be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"the cache folder {folder} cannot be made: {error.strerror}"
    if os.access(folder, os.W_OK | os.X_OK):
        return None
    why = "read-only file system" if os.statvfs(folder).f_flag & os.ST_RDONLY else "permission denied"
    return f"the cache folder {folder} cannot be written: {why}"


@dataclass(frozen=True, kw_only=True)
class Capability:
    """A part that the lab needs.

    detail: the part's version or path, or why the part is missing. remedy: how to install the part; empty if present.
    """

    name: str
    present: bool
    detail: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class LinkOption:
    """A fabric with a shaper.

    reason: why the two cannot be used together. remedy: how to make them usable. Both are empty if they can be used.
    """

    fabric: str
    shaper: str
    usable: bool
    reason: str
    remedy: str
