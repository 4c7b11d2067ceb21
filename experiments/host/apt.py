"""Asks apt for packages, and installs them without starting their services.

Rules:
1. A package's service is not started: policy-rc.d forbids that during the installation. A policy-rc.d that was there
   before is left as it is. Ours forbids nothing once its set-up has ended, even if it was killed, and has a line by
   which the next set-up recognizes it.
2. Set-ups side by side wait for each other, and for any other installation of packages.
3. An interruption goes to apt-get alone, which ends in order and is waited for: dpkg is not torn out of its work.
"""

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from experiments.host.machine import Rights
from experiments.host.processes import find

_LISTS = Path("/var/lib/apt/lists")
_DPKG = Path("/var/lib/dpkg")
_POLICY = Path("/usr/sbin/policy-rc.d")
_OURS = "# the priority lab's set-up made this, and removes it"
_BEGAN = 19
"""The start time's place among the fields of /proc/PID/stat after the name."""

_LOCKED = "Could not get lock"
_PATIENCE_S = 300.0
_RETRY_S = 2.0
_QUESTION_S = 30.0


class CannotInstall(Exception):
    """An apt-get that failed; the text is its own first line of error."""


def knows_packages() -> bool:
    """True if the package lists are there; a fresh system has none before the first `apt-get update`."""
    return any(_LISTS.glob("*_Packages*"))


def obtainable(packages: Sequence[str]) -> Mapping[str, bool]:
    """Tells which packages can be installed; empty where that cannot be told."""
    if not packages or find("apt-cache") is None or not knows_packages():
        return {}
    try:
        said = subprocess.run(
            ["apt-cache", "policy", *packages],
            env=os.environ | {"LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=_QUESTION_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    found = candidates(said.stdout)
    return {package: package in found for package in packages}


def candidates(policy: str) -> frozenset[str]:
    """The installable packages in the output of `apt-cache policy`."""
    found, package = set(), ""
    for line in policy.splitlines():
        if not line.startswith(" "):
            package = line.removesuffix(":")
        elif line.startswith("  Candidate: ") and "(none)" not in line:
            found.add(package)
    return frozenset(found)


class Installer:
    """Installs packages as root, or by sudo."""

    def __init__(self, rights: Rights) -> None:
        self._become = ["sudo", "-n"] if rights is Rights.SUDO else []
        self._trouble_with_lists = ""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A context in which no other set-up installs, and no service is started. Raises CannotInstall."""
        folder = os.open(_DPKG if _DPKG.is_dir() else "/", os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            ours = not _POLICY.exists() or _OURS in _POLICY.read_text(errors="replace")
            try:
                if ours:
                    self._run(["tee", str(_POLICY)], text_in=_policy())
                    self._run(["chmod", "755", str(_POLICY)])
                yield
            finally:
                if ours:
                    subprocess.run([*self._become, "rm", "-f", str(_POLICY)], check=False)
        finally:
            os.close(folder)

    def update(self) -> None:
        """Fetches the package lists. A failure is only reported if packages cannot be installed, either."""
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
        with subprocess.Popen(
            [*self._become, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(text_in)
            except BaseException:
                process.send_signal(signal.SIGINT)
                process.communicate()
                raise
        if process.returncode != 0:
            raise CannotInstall(complaint(said) or f"{command[0]} ended with {process.returncode}")


def _policy() -> str:
    """A policy that forbids (101) while this process lives, known by its number and start time; then allows (0)."""
    state = f"/proc/{os.getpid()}/stat"
    began = Path(state).read_text().rpartition(")")[2].split()[_BEGAN]
    return f"""#!/bin/sh
{_OURS}
set -- $(sed 's/.*)//' {state} 2>/dev/null)
[ "${{{_BEGAN + 1}}}" != {began} ] || exit 101
"""


def complaint(said: str) -> str:
    """The line of apt-get's output that tells the error: its first error, or the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("E: ")), lines[-1] if lines else "")
