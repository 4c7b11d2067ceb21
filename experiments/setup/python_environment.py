"""The Python environment of a checkout, in .venv. The set-up makes and updates it.

Rules:
1. Every package is checked against the digests in build-requirements.txt (pip itself, setuptools) and constraints.txt
   (all other packages). `make constraints` writes both files.
2. Packages are installed from wheels: a source package would fetch build tools, whose digests are unknown.
   PIP_ONLY_BINARY=:none: allows source packages.
3. The lab itself is installed after the packages that it needs, by the setuptools of .venv; this step fetches nothing.
4. The set-up updates the environment when pyproject.toml, constraints.txt or build-requirements.txt has changed.
5. If the user chooses an interpreter (make PYTHON=...), the set-up makes an environment of another interpreter anew.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from priolab.common.process.lock import alone
from priolab.common.process.processes import die_with_parent
from priolab.common.running import finished
from priolab.common.temporary import temporary_folder
from priolab.experiments.setup.packages import wanted_browsers
from priolab.experiments.setup.pip_errors import cause_of
from priolab.experiments.setup.setup_request import SetupPart, SetupRequest

_PROJECT = "pyproject.toml"
_PINNED = "constraints.txt"
_BUILD_TOOLS = "build-requirements.txt"
_LAUNCHER = "experiments/launcher/priolab"
MADE_OF = (_PROJECT, _PINNED, _BUILD_TOOLS, _LAUNCHER)
_EXTRAS = {
    SetupPart.TEST: ("dev", "what tests and checks need"),
    SetupPart.LINT: ("dev", "what tests and checks need"),
    SetupPart.NOTEBOOK: ("notebook", "JupyterLab"),
    SetupPart.DEMO: ("demo", "the demo's web server"),
    SetupPart.SITE: ("site", "what makes the documents a web site"),
}
_SIGNS = {
    "dev": "pytest",
    "notebook": "jupyterlab",
    "demo": "starlette",
    "site": "sphinx",
    "chromium": "playwright",
    "firefox": "websockets",
}
"""A Python package of each extra, by which an installed extra is recognized."""

_IS_CHOSEN = "PRIOLAB_PYTHON_IS_CHOSEN"
"""The environment variable that make sets if the user has chosen the interpreter that carries out the set-up."""

_BROWSERS = {"chromium": "Playwright, which drives Chromium,", "firefox": "websockets, which reaches Firefox,"}

_UNUSABLE = re.compile(r"[:{}\\\x00-\x1f\x7f\ud800-\udfff]")
"""The characters of a path at which Python makes no environment or starts no script, or Node finds no module."""

_UNQUOTED = set('"$`')
"""The characters that a shell reads between double quotes."""

_BEGIN_OF_LAUNCHER = b"#!/bin/sh\n'''exec' "
_END_OF_LAUNCHER = b""" "$0" "$@"\n' '''\n"""
_BESIDE_IT = b'"$(dirname "$(readlink -f "$0")")/python"'


class EnvironmentFailed(Exception):
    """The environment cannot be made. The text gives the reason, and the path of the log."""


def extras(request: SetupRequest) -> list[tuple[str, str]]:
    """Returns the extras that the request needs, as name and description."""
    if request.part in _EXTRAS:
        return [_EXTRAS[request.part]]
    return [(each.name, _BROWSERS[each.name]) for each in wanted_browsers(request) if each.driver and request.runs_here]


_ON_INTERRUPT = (
    "import os, sys, _signal; any(each.endswith('/priolab') for each in sys.orig_argv[1:4])"
    " and _signal.getsignal(2) != 1 and _signal.signal(2, lambda *_: os.write(2,"
    " b'priolab: interrupted by SIGINT; nothing was kept\\n') and os._exit(130))\n"
)
"""A line that Python carries out when it starts (site); 1 is SIG_IGN, as under nohup(1)."""


class PythonEnvironment:
    """The .venv of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        content = b"".join((root / name).read_bytes() for name in MADE_OF)
        self._wanted = f"{hashlib.sha256(content).hexdigest()} {root}"

    def lacks(self, extra: str) -> bool:
        """Returns True if the lab with this extra is missing or not up to date. An empty extra stands for no extra."""
        if not extra and not (self.folder / "bin" / "priolab").exists():  # a set-up may have been killed
            return True
        try:
            return self._mark(extra).read_text() != self._wanted or not self._is_sound()
        except OSError:
            return True

    @property
    def is_to_be_made(self) -> bool:
        """True if the environment does not exist, or does not work any more."""
        return not self._is_sound()

    def install(self, extra: str) -> None:
        """Makes the environment, if need be, and installs an extra's packages; if `extra` is empty, installs the lab.

        Raises EnvironmentFailed. A new environment that cannot be completed is removed.
        """
        if unusable := _UNUSABLE.search(str(self.folder)):
            raise EnvironmentFailed(
                f"the checkout's path {str(self.root)!r} contains {unusable[0]!r}, with which Python "
                "or Node does not work; move the checkout to another folder"
            )
        is_new = not self.folder.exists()
        try:
            if not self._is_sound():
                self._run([sys.executable, "-P", "-m", "venv", "--clear", "--without-pip", str(self.folder)], "venv")
                # separately, because venv would hide the errors of ensurepip
                self._run([str(self.python), "-P", "-m", "ensurepip", "--upgrade", "--default-pip"], "ensurepip")
            if not extra:
                self._install("--require-hashes", "-r", _BUILD_TOOLS)
            self._install("--require-hashes", "-c", _PINNED, *self._packages(extra))
            if not extra:
                self._install("--no-deps", "--no-build-isolation", "-e", ".")
                self.answer_interrupts()
            self.note_as_installed(extra)
        except OSError as error:
            self._forget(is_new=is_new)
            raise EnvironmentFailed(f"{error.filename or self.folder}: {error.strerror}") from error
        except BaseException:
            self._forget(is_new=is_new)
            raise

    def _packages(self, extra: str) -> list[str]:
        """Returns the packages of the lab and its figures, or of this extra, with the versions of pyproject.toml."""
        project = tomllib.loads((self.root / _PROJECT).read_text())["project"]
        optional: dict[str, list[str]] = project["optional-dependencies"]
        return optional[extra] if extra else [*project["dependencies"], *optional["figures"]]

    def _install(self, *words: str) -> None:
        pip = [str(self.python), "-P", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        self._run([*pip, *words], "pip")
        if set(str(self.folder)) & _UNQUOTED:
            for script in self.python.parent.iterdir():
                if script.is_file() and not script.is_symlink():
                    mend_launcher(script)

    def answer_interrupts(self) -> None:
        """Lets Ctrl-C end `priolab` with one line before any code of the lab is in memory. Raises OSError.

        Python reads this file before it looks for the lab's packages, which takes tens of milliseconds in a checkout.
        """
        for packages in self.folder.glob("lib/python*/site-packages"):
            (packages / "00-priolab.pth").write_text(_ON_INTERRUPT)

    def note_as_installed(self, extra: str) -> None:
        """Records that the lab with this extra is installed."""
        self._mark(extra).write_text(self._wanted)

    def _forget(self, *, is_new: bool) -> None:
        if is_new:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _mark(self, extra: str) -> Path:
        return self.folder / (f".installed-{extra}" if extra else ".installed")

    def _is_sound(self) -> bool:
        """Returns True if the environment was once complete, and its packages are for the Python version that it needs.

        A set-up that was killed leaves an incomplete environment. The system may have replaced its Python since, and
        the user may have chosen another one.
        """
        if not self._mark("").exists():
            return False
        try:
            python = self.python.resolve(strict=True)
        except OSError:
            return False
        if os.environ.get(_IS_CHOSEN) and python != Path(sys.executable).resolve():
            return False
        return not python.name.startswith("python3.") or (self.folder / "lib" / python.name).is_dir()

    def _run(self, command: Sequence[str], what: str) -> None:
        variables = {"PIP_ONLY_BINARY": ":all:", **os.environ}
        done = finished(command, None, environment=variables, folder=self.root, merges=True, begin=die_with_parent)
        if done.code != 0:
            cause = cause_of(done.out) or f"it ended with exit code {done.code}"
            raise EnvironmentFailed(f"{what} failed: {cause}{_kept(done.out)}")


def mend_launcher(script: Path) -> None:
    """Lets a script that pip wrote find the Python beside it. pip puts the folder's path between double quotes.

    Leaves other files as they are.
    """
    head, *rest = script.read_bytes().split(_BEGIN_OF_LAUNCHER, 1)
    if not head and rest:
        code = rest[0].split(_END_OF_LAUNCHER, 1)[1]
        script.write_bytes(_BEGIN_OF_LAUNCHER + _BESIDE_IT + _END_OF_LAUNCHER + code)


def _kept(said: str) -> str:
    """Writes the log of a failure to a temporary file; returns a remark with its path, or an empty text on an error."""
    try:
        descriptor, path = tempfile.mkstemp(prefix="priolab-setup-", suffix=".log", dir=temporary_folder())
        with os.fdopen(descriptor, "w") as log:
            log.write(said)
    except OSError:
        return ""
    return f" (log: {path})"


def lacks_extra(extra: str) -> str | None:
    """Returns the package that is missing if this process's environment lacks the extra; None if it has the extra."""
    return None if find_spec(_SIGNS[extra]) else _SIGNS[extra]


def lacks_venv() -> str | None:
    """Returns the Debian package that contains the module venv for this interpreter; None if venv is installed.

    Debian has a package with venv for each version of Python; python3-venv is for the version of `python3`.
    """
    if find_spec("venv") and find_spec("ensurepip"):
        return None
    usual = shutil.which("python3")
    is_usual = usual is not None and Path(usual).resolve() == Path(sys.executable).resolve()
    return "python3-venv" if is_usual else f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def install_all(environment: PythonEnvironment, wanted: Sequence[tuple[str, str]], say: Callable[[str], None]) -> None:
    """Installs the lab, then the wanted extras; leaves out what is installed already. Raises EnvironmentFailed.

    Two set-ups of a checkout do this one after the other. wanted: name and description of each extra. say: called with
    a line of progress before each installation.
    """
    with alone(environment.root, lambda: say("waiting for another set-up of this checkout")):
        for extra, what in [
            ("", "making the Python environment"),
            *((extra, f"installing {what}") for extra, what in wanted),
        ]:
            if environment.lacks(extra):
                say(f"{what} in .venv")
                environment.install(extra)
