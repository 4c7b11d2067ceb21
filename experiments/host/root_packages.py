"""Fetches the packages of a Debian suite with everything that they depend on, by an apt of its own.

Rules:
1. No right of root is needed, and nothing on this machine is installed or changed. This apt has its own state, cache
   and sources. From this machine's configuration it takes only the settings about fetching, such as a proxy, and the
   keys; it runs none of the hooks that other packages have put there.
2. The list of installed packages is empty. So the C library, too, is fetched from the suite.
3. apt checks the signature of the suite's lists, and the digest of each package.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from priolab.common.running import ProgramFailed, finished
from priolab.experiments.host.apt import complaint
from priolab.experiments.host.processes import die_with_parent
from priolab.experiments.host.root_sources import Source, deb822_sources, one_line_sources, sources_for
from priolab.experiments.host.search_path import find

_ETC = Path("/etc/apt")
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
    """The packages could not be fetched. The text is the first error in the output of apt-get."""


class SuitePackages:
    """The packages of a suite. home: an empty folder for the files of this apt."""

    def __init__(self, suite: str, home: Path, mirror: str | None) -> None:
        """mirror: the address of the suite's packages; None for one from this machine's sources. Raises CannotFetch."""
        for program in ("apt-get", "apt-config", "dpkg", "dpkg-deb"):
            if find(program) is None:
                raise CannotFetch(f"{program} is not installed")
        self._archives = home / "archives"
        for folder in (home / "lists" / "partial", self._archives / "partial"):
            folder.mkdir(parents=True)
        (home / "status").touch()
        (home / "suite.sources").write_text(sources_for(suite, machine_sources(_ETC), mirror))
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

    def _run(self, command: Sequence[str], limit_s: float) -> str:
        try:
            done = finished(command, limit_s, environment=self._environment, begin=die_with_parent)
        except ProgramFailed as error:
            raise CannotFetch(str(error)) from error
        if done.code != 0:
            said = complaint(done.out + done.errors).removeprefix("E: ")
            raise CannotFetch(said or f"{command[0]} ended with exit code {done.code}")
        return done.out


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
