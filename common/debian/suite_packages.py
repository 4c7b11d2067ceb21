"""Fetches packages of a Debian suite by an apt of its own, on a machine of any distribution that has apt.

Rules:
1. No right of root is needed, and nothing on this machine is installed or changed. This apt has its own state, cache
   and sources. From this machine's configuration it takes only the settings about fetching, such as a proxy, and the
   keys; it runs none of the hooks that other packages have put there.
2. The list of installed packages is empty. So the C library, too, is fetched from the suite.
3. apt checks the signature of the suite's lists, and the digest of each package.
4. The archive's address is the environment variable MIRROR; without it that of Debian in this machine's sources;
   without these the one that an installed debootstrap uses. The lab itself knows no address.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from priolab.common.debian.apt import complaint
from priolab.common.debian.suite_sources import (
    KEYRING,
    Source,
    deb822_sources,
    debian_sources,
    one_line_sources,
    sources_for,
    usual_archive,
)
from priolab.common.process.processes import die_with_parent
from priolab.common.process.search_path import find
from priolab.common.running import ProgramFailed, finished

VARIABLE = "MIRROR"
"""The environment variable with the address of Debian's archive. `make MIRROR=...` sets it."""

_ETC = Path("/etc/apt")
_DEBOOTSTRAP = (Path("/usr/sbin/debootstrap"), Path("/usr/share/debootstrap/functions"))
_NAME_ONE = f"name a mirror: {VARIABLE}=http://HOST/debian"
_UPDATE_S, _FETCH_S, _QUESTION_S = 300.0, 1800.0, 60.0
_OWN_SETTINGS = ("Acquire::IndexTargets", "Acquire::Languages", "Acquire::Changelogs")
_CONFIGURATION = """Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::sourcelist "{home}/suite.sources";
Dir::State "{home}";
Dir::State::status "{home}/status";
Dir::Cache "{home}";
Dir::Cache::archives "{home}/archives";
Dir::Log "{home}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root"; // the user _apt may not enter the home of another user
Acquire::Languages {{ "none"; }};
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
"""


class CannotFetch(Exception):
    """The packages could not be fetched. The text is the reason, such as apt-get's first error. remedy: what to do."""

    def __init__(self, reason: str, remedy: str = f"check the network, or {_NAME_ONE}") -> None:
        self.remedy = remedy
        super().__init__(reason)


class SuitePackages:
    """The packages of a suite."""

    def __init__(self, suite: str, home: Path) -> None:
        """home: an empty folder for the files of this apt. Raises CannotFetch."""
        for program in ("apt-get", "apt-config", "dpkg", "dpkg-deb"):
            if find(program) is None:
                raise CannotFetch(f"{program} is not installed", f"install {program}")
        self._home, self._archives = home, home / "archives"
        for folder in (home / "lists" / "partial", self._archives / "partial"):
            folder.mkdir(parents=True)
        (home / "status").touch()
        (home / "suite.sources").write_text(sources_for(suite, _archives()))
        self._environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        fetching = _of_fetching(self._run(["apt-config", "dump", "Acquire"], _QUESTION_S))
        architecture = self._run(["dpkg", "--print-architecture"], _QUESTION_S).strip()
        configuration = home / "apt.conf"
        configuration.touch(mode=0o600)  # a proxy's address may have a password
        configuration.write_text(fetching + _CONFIGURATION.format(home=home, architecture=architecture))
        self._environment["APT_CONFIG"] = str(configuration)

    def update(self) -> None:
        """Fetches the suite's package lists, and checks their signature. Raises CannotFetch."""
        self._run(["apt-get", "-q", "update"], _UPDATE_S)

    def fetch(self, packages: Sequence[str]) -> Sequence[Path]:
        """Fetches packages and everything that they depend on; returns the files. Raises CannotFetch."""
        self._run(["apt-get", "-q", "-y", "--download-only", "install", *packages], _FETCH_S)
        return sorted(self._archives.glob("*.deb"))

    def count(self, packages: Sequence[str]) -> int:
        """Returns the number of packages that `fetch` would fetch. Raises CannotFetch."""
        said = self._run(["apt-get", "-q", "-y", "--print-uris", "install", *packages], _QUESTION_S)
        return sum(line.startswith("'") for line in said.splitlines())

    def fetch_alone(self, package: str, tell: Callable[[float], None]) -> Path:
        """Fetches a package without those that it depends on; returns its file. Raises CannotFetch.

        tell: called every half second with the fraction that is fetched, between 0 and 1.
        """
        said = self._run(["apt-get", "download", "--print-uris", package], _QUESTION_S).split()
        size_bytes = int(said[2]) if len(said) > 2 else 0  # of the line 'ADDRESS' FILE SIZE DIGEST

        def look() -> None:
            here_bytes = sum(file.stat().st_size for file in self._home.rglob(f"{package}_*") if file.is_file())
            tell(min(1.0, here_bytes / size_bytes) if size_bytes else 0.0)

        self._run(["apt-get", "-q", "download", package], _FETCH_S, look)
        (file,) = self._home.glob("*.deb")
        return file

    def _run(self, command: Sequence[str], limit_s: float, look: Callable[[], None] | None = None) -> str:
        try:
            done = finished(
                command, limit_s, environment=self._environment, folder=self._home, look=look, begin=die_with_parent
            )
        except ProgramFailed as error:
            raise CannotFetch(str(error)) from error
        if done.code != 0:
            said = complaint(done.out + done.errors).removeprefix("E: ")
            raise CannotFetch(said or f"{command[0]} ended with exit code {done.code}")
        return done.out


def _archives() -> Sequence[Source]:
    """Returns Debian's archives for this machine. Raises CannotFetch if none is known, or if its keys are missing."""
    scripts = [file.read_text(errors="replace") for file in _DEBOOTSTRAP if file.is_file()]
    usual = next((address for script in scripts if (address := usual_archive(script))), None)
    found = debian_sources(machine_sources(_ETC), os.environ.get(VARIABLE), usual)
    if not found:
        reason = "no archive of Debian is among this machine's package sources"
        raise CannotFetch(reason, f"{_NAME_ONE}, or install debootstrap, which knows one")
    if f"Signed-By: {KEYRING}" in found[0].trust and not Path(KEYRING).exists():
        raise CannotFetch(f"{KEYRING} does not exist", "run `apt-get install debian-archive-keyring`")
    return found


def knows_debian() -> bool:
    """Returns True if the sources of this machine's apt have Debian's archive."""
    return bool(debian_sources(machine_sources(_ETC), None, None))


def machine_sources(etc: Path) -> Sequence[Source]:
    """Returns the sources of this machine's apt, those in sources.list first. etc: the folder of its configuration."""
    found: list[Source] = []
    for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        read = {".list": one_line_sources, ".sources": deb822_sources}.get(file.suffix)
        if read and file.is_file():
            found += read(file.read_text(errors="replace"))
    return found


def _of_fetching(dumped: str) -> str:
    """Returns, from the output of `apt-config dump Acquire`, the settings that do not choose the files to fetch."""
    lines = [line for line in dumped.splitlines() if not line.startswith(_OWN_SETTINGS)]
    return "".join(f"{line}\n" for line in lines)
