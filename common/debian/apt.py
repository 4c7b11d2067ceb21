"""Asks apt which packages it can install, and installs packages without starting their services.

Rules:
1. A package's service is not started: the script policy-rc.d forbids the start during the installation. A policy-rc.d
   of another program is left as it is. The lab's policy-rc.d forbids nothing once the set-up that wrote it has ended,
   even if this set-up was killed. The next set-up recognizes the file by one of the file's lines.
2. Set-ups that run at the same time wait for each other, and for any other installation of packages.
3. After an interruption the set-up sends SIGINT to apt-get, and waits until apt-get has ended, so that dpkg can finish
   its work.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from priolab.common.debian.downloads import size_of
from priolab.common.process.interruption import held_back
from priolab.common.process.lock import alone
from priolab.common.process.search_path import find
from priolab.common.running import ProgramFailed, finished

_LISTS = Path("/var/lib/apt/lists")
_DPKG = Path("/var/lib/dpkg")
_POLICY = Path("/usr/sbin/policy-rc.d")
_OURS = "# the priority lab's set-up made this, and removes it"
_BEGAN = 19
"""The index of the start time among the fields of /proc/PID/stat that follow the name."""

_DPKG_FAILED = re.compile(r"E: Sub-process \S*dpkg\b")
_OF_DPKG = re.compile(r"dpkg(?:-\w+)?: .*error")
_LOCKED = "Could not get lock"
_PATIENCE_S = 300.0
_RETRY_S = 2.0
_QUESTION_S = 30.0


class Rights(StrEnum):
    """The way in which this user may install packages."""

    ROOT = "root"
    SUDO = "sudo"
    NONE = "none"


class CannotInstall(Exception):
    """apt-get failed. The text is one line: the cause in its output."""


def knows_packages() -> bool:
    """Returns True if package lists exist; a fresh system has none before the first `apt-get update`."""
    return any(_LISTS.glob("*_Packages*"))


def obtainable(packages: Sequence[str]) -> Mapping[str, bool]:
    """Returns for each package whether apt can install it; an empty mapping if apt gives no answer."""
    if not packages or find("apt-cache") is None or not knows_packages():
        return {}
    try:
        said = finished(["apt-cache", "policy", *packages], _QUESTION_S, environment=os.environ | {"LC_ALL": "C"})
        found = candidates(said.checked().out)
    except ProgramFailed:
        return {}
    return {package: package in found for package in packages}


def candidates(policy: str) -> frozenset[str]:
    """Returns the packages that can be installed, from the output of `apt-cache policy`."""
    found, package = set(), ""
    for line in policy.splitlines():
        if not line.startswith(" "):
            package = line.removesuffix(":")
        elif line.startswith("  Candidate: ") and "(none)" not in line:
            found.add(package)
    return frozenset(found)


class Installer:
    """Installs packages by apt-get, as root or through sudo."""

    def __init__(self, rights: Rights) -> None:
        self._become = ["sudo", "-n"] if rights is Rights.SUDO else []
        self._trouble_with_lists = ""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A context in which no other set-up installs packages, and no service is started. Raises CannotInstall."""
        with alone(_DPKG if _DPKG.is_dir() else Path("/")):
            ours = not _POLICY.exists() or _OURS in _POLICY.read_text(errors="replace")
            try:
                if ours:
                    self._run(["tee", str(_POLICY)], text_in=_policy())
                    self._run(["chmod", "755", str(_POLICY)])
                yield
            finally:
                if ours:
                    subprocess.run([*self._become, "rm", "-f", str(_POLICY)], check=False)

    def update(self) -> None:
        """Fetches the package lists. A failure is reported only if an installation then fails, too."""
        try:
            self._apt_get("update")
        except CannotInstall as error:
            self._trouble_with_lists = f"{error}; "

    def install(self, packages: Sequence[str]) -> None:
        """Installs packages. Raises CannotInstall."""
        try:
            self._apt_get("install", "-y", "--no-install-recommends", *packages)
        except CannotInstall as error:
            raise CannotInstall(f"{self._trouble_with_lists}{error}") from None

    def download_bytes(self, packages: Sequence[str]) -> int | None:
        """Returns how much apt-get would download to install the packages; None if it gives no answer."""
        if not packages:
            return 0
        asked = ["apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends", *packages]
        try:
            return size_of(finished([*self._become, *asked], _QUESTION_S).checked().out)
        except ProgramFailed:
            return None

    def _apt_get(self, *words: str) -> None:
        end = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._run(
                    ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "-o=Dpkg::Use-Pty=0", *words]
                )
                return
            except CannotInstall as error:
                if _LOCKED not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(_RETRY_S)

    def _run(self, command: Sequence[str], text_in: str = "") -> None:
        with (
            held_back() as allow,
            subprocess.Popen(
                [*self._become, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            ) as process,
        ):
            try:
                allow()
                said, _ = process.communicate(text_in)
            except BaseException:
                process.send_signal(signal.SIGINT)
                process.communicate()
                raise
        if process.returncode != 0:
            raise CannotInstall(complaint(said) or f"{command[0]} ended with exit code {process.returncode}")


def _policy() -> str:
    """Returns a policy-rc.d that forbids services (exit code 101) while this process lives, and then allows them (0).

    The script recognizes this process by its id and its start time.
    """
    state = f"/proc/{os.getpid()}/stat"
    began = Path(state).read_text().rpartition(")")[2].split()[_BEGAN]
    return f"""#!/bin/sh
{_OURS}
set -- $(sed 's/.*)//' {state} 2>/dev/null)
[ "${{{_BEGAN + 1}}}" != {began} ] || exit 101
"""


def complaint(said: str) -> str:
    """Returns the cause of a failure in `said`, the output of apt-get, as one line.

    If dpkg failed, this is dpkg's first error, which names the package; apt-get says only that dpkg failed. Otherwise
    it is apt-get's first error, and without an error the last line.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    of_apt = next((line for line in lines if line.startswith("E: ")), lines[-1] if lines else "")
    if not _DPKG_FAILED.match(of_apt):
        return of_apt
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if _OF_DPKG.match(line):
            return f"{line} {following}" if line.endswith(":") else line
    return of_apt
