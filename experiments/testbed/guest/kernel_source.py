"""Chooses, finds and fetches the Linux source of the guest kernel.

Rules:
1. One version is pinned for all machines, so that all machines give the same results.
2. If the pinned version is not available, the distribution's own source is used in its place. The kernel's record
   states this replacement.
3. This module needs no root, and writes only to the cache. apt fetches a source with a configuration of the lab's own,
   from the package servers of this machine.
"""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from priolab.experiments.errors import ScenarioError, StepFailed, Unavailable
from priolab.experiments.host.cache import cache_folder
from priolab.experiments.host.processes import die_with_parent
from priolab.experiments.host.program_logs import last_lines
from priolab.experiments.testbed.guest.kernel_patches.edit import Version

PINNED: Version = (7, 2)
"""The kernel version of all machines that can fetch its source."""

TRIED: tuple[Version, ...] = ((6, 1), (6, 12), PINNED)
"""Kernel versions whose results docs/measured/agreement.md compares."""

VARIABLE = "PRIOLAB_KERNEL"
"""The environment variable with the version, or the source tarball, of the guest kernel. `make KERNEL=...` sets it."""

_ALLOWED = "a version such as 7.2 or 6.12, or the path of a Linux source such as /tmp/linux-7.2.tar.xz"
_SUITES: dict[Version, str] = {(7, 2): "sid", (6, 12): "trixie", (6, 1): "bookworm"}
_TARBALL = re.compile(r"linux-(?:source-)?(\d+)\.(\d+)(?:\.\d+)*(?:-.*)?\.tar(?:\.(?:xz|bz2|gz|zst))?")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_DISTRIBUTION = Path("/usr/src")
_LISTS = Path("/etc/apt")
_ARCHIVE = "debian"
_SECURITY = "debian-security"  # has newer sources of a stable suite than the archive
_WITHOUT_SECURITY = "sid"
_NAME_IT = "name a source: make kernel KERNEL=/path/linux-7.2.tar.xz"
_DEADLINE_S = 1800.0
_POLL_S = 0.5


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
    except (StepFailed, Unavailable) as error:
        if not choice.pinned or (tarball := stand_in()) is None:
            raise Unavailable(
                f"the source of Linux {words(choice.version)}", error.reason, f"install linux-source, or {_NAME_IT}"
            ) from error
        return tarball


def _kept() -> Path:
    return cache_folder() / "sources"


def _tarballs(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("linux-*.tar*")) if version_of(path) and path.is_file())


def mirrors(folder: Path, archive: str = _ARCHIVE) -> list[str]:
    """Returns the URIs of an archive in this machine's package sources, each once.

    folder: the folder of apt's configuration. archive: the last part of the URIs, such as "debian".
    """
    uri_of_it = re.compile(rf"\S+://\S+/{archive}/?(?=\s|$)")
    texts = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    lines = [
        line
        for file in texts
        if file.suffix in (".list", ".sources") and file.is_file()
        for line in file.read_text(errors="replace").splitlines()
        if not line.lstrip().startswith("#")
    ]
    return list(dict.fromkeys(uri.rstrip("/") for line in lines for uri in uri_of_it.findall(line)))


def _fetch(version: Version, tell: Callable[[str, float], None]) -> Path:
    """Fetches the source's package from the Debian suite that has it, with an apt configuration of the lab's own."""
    what, package = f"fetching Linux {words(version)}", f"linux-source-{words(version)}"
    if version not in _SUITES:
        raise Unavailable(what, f"the lab knows no Debian release that has {package}", _NAME_IT)
    archives = list(_archives(_SUITES[version]))
    if not archives or not _KEYRING.exists():
        lack = "no Debian archive among this machine's package sources" if not archives else f"no {_KEYRING}"
        raise Unavailable(what, lack, _NAME_IT)
    _kept().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=_kept()) as scratch:
        root = Path(scratch)
        environment = _private_apt(root, archives)
        tell("looking for the source", 0.0)
        _run(["apt-get", "update", "-q"], root, environment, what)
        sized = _run(["apt-get", "download", "--print-uris", package], root, environment, what).split()
        size_bytes = int(sized[2]) if len(sized) > 2 and sized[2].isdigit() else 0
        _download(package, root, environment, what, lambda: tell("fetching the source", _share(root, size_bytes)))
        (archive,) = root.glob("*.deb")
        tell("unpacking the package", 0.0)
        _run(["dpkg-deb", "-x", str(archive), str(root / "package")], root, environment, what)
        (tarball,) = _tarballs(root / "package" / "usr" / "src")
        kept = _kept() / f"linux-{_upstream(archive.name)}.tar{tarball.suffix}"
        tarball.replace(kept)
        return kept


def _upstream(archive: str) -> str:
    """Returns the upstream version in a package's file name: 7.2.13 for linux-source-7.2_7.2.13-1_all.deb."""
    return archive.split("_")[1].partition("-")[0]


def _archives(suite: str) -> Iterator[tuple[str, str]]:
    """Yields the URI and suite of each archive that has packages of that suite, security updates included.

    Yields nothing if Debian's archive is not among this machine's package sources.
    """
    archive = mirrors(_LISTS)[:1]
    yield from ((uri, suite) for uri in archive)
    if archive and suite != _WITHOUT_SECURITY:
        yield from ((uri, f"{suite}-security") for uri in mirrors(_LISTS, _SECURITY)[:1])


def _private_apt(root: Path, archives: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Writes a configuration for apt. Returns the environment with which apt uses it."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True)
    lists = (f"deb [signed-by={_KEYRING}] {uri} {suite} main\n" for uri, suite in archives)
    (root / "sources.list").write_text("".join(lists))
    settings = {
        "Dir::State": root / "state",
        "Dir::State::lists": root / "state" / "lists",
        "Dir::Cache": root / "cache",
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Sandbox::User": "root",
    }
    (root / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    return os.environ | {"APT_CONFIG": str(root / "apt.conf"), "LC_ALL": "C.UTF-8"}


def _run(command: list[str], folder: Path, environment: dict[str, str], what: str) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
            preexec_fn=die_with_parent,
        )
    except FileNotFoundError:
        raise Unavailable(what, f"{command[0]} is not installed", _NAME_IT) from None
    except subprocess.TimeoutExpired:
        raise StepFailed(what, f"{shlex.join(command)} took more than {_DEADLINE_S:g} s") from None
    if done.returncode != 0:
        raise StepFailed(
            what, f"{shlex.join(command[:2])} ended with exit code {done.returncode}: {last_lines(done.stderr, 1)}"
        )
    return done.stdout


def _download(package: str, folder: Path, environment: dict[str, str], what: str, progress: Callable[[], None]) -> None:
    with subprocess.Popen(
        ["apt-get", "download", "-q", package],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    ) as process:
        try:
            while True:
                try:
                    _, said = process.communicate(timeout=_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    progress()
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise StepFailed(what, f"apt-get download ended with exit code {process.returncode}: {last_lines(said, 1)}")


def _share(folder: Path, size_bytes: int) -> float:
    """Returns the fraction of the package that has been downloaded, between 0 and 1. size_bytes: the whole package."""
    here = sum(path.stat().st_size for path in folder.rglob("linux-source-*.deb") if path.is_file())
    return min(1.0, here / size_bytes) if size_bytes else 0.0
