"""Tests of the set-up with scripts in place of apt-get and pip: their arguments, and the files left behind."""

import hashlib
import os
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from priolab.common.debian import apt
from priolab.common.debian.apt import Rights
from priolab.experiments.setup import python_environment
from priolab.experiments.setup.python_environment import MADE_OF, EnvironmentFailed, PythonEnvironment, install_all

_ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that comes first in PATH, and replace policy-rc.d by a file of the test."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(apt, "_POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(apt, "_DPKG", tmp_path)
    return folder


def _script(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{content}\n")
    (folder / name).chmod(0o755)


def test_nothing_is_started_and_nothing_stays(programs: Path, tmp_path: Path) -> None:
    """A policy-rc.d forbids services while packages are installed, and is removed afterwards."""
    _script(programs, "apt-get", f'"{tmp_path}/policy-rc.d"; echo $? >"{tmp_path}/said"; echo "$@" >"{tmp_path}/asked"')
    installer = apt.Installer(Rights.ROOT)
    with installer.at_work():
        installer.install(["nginx", "caddy"])
    assert (tmp_path / "said").read_text() == "101\n"
    assert not (tmp_path / "policy-rc.d").exists()
    assert (tmp_path / "asked").read_text().split()[1:] == [
        "install",
        "-y",
        "--no-install-recommends",
        "nginx",
        "caddy",
    ]


def test_a_policy_of_somebody_elses_stays(programs: Path, tmp_path: Path) -> None:
    """The set-up leaves a policy-rc.d of the user unchanged."""
    _script(programs, "apt-get", "exit 0")
    (tmp_path / "policy-rc.d").write_text("#!/bin/sh\nexit 0\n")
    with apt.Installer(Rights.ROOT).at_work():
        pass
    assert (tmp_path / "policy-rc.d").read_text() == "#!/bin/sh\nexit 0\n"


def test_a_policy_that_a_killed_set_up_left_forbids_nothing(programs: Path, tmp_path: Path) -> None:
    """A policy-rc.d of a killed set-up allows services, and the next set-up removes it."""
    _script(programs, "apt-get", "exit 0")
    program = (
        "import os, signal, sys; from pathlib import Path; from priolab.common.debian import apt;"
        "apt._POLICY, apt._DPKG = Path(sys.argv[1]), Path(sys.argv[2]);"
        "from priolab.common.debian.apt import Rights\n"
        "with apt.Installer(Rights.ROOT).at_work(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "policy-rc.d"), str(tmp_path)],
        cwd=_ROOT,
        timeout=20,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert subprocess.run([tmp_path / "policy-rc.d", "nginx", "start"], timeout=20, check=False).returncode == 0
    with apt.Installer(Rights.ROOT).at_work():
        pass
    assert not (tmp_path / "policy-rc.d").exists()


def test_lists_that_cannot_be_had_are_told_where_they_matter(programs: Path) -> None:
    """A failed `apt-get update` is reported only if a package cannot be installed afterwards."""
    _script(
        programs,
        "apt-get",
        'case "$*" in *update*) echo "E: no lists" >&2; exit 100 ;; *fine*) ;; *) echo "E: none"; exit 1 ;; esac',
    )
    installer = apt.Installer(Rights.ROOT)
    installer.update()
    installer.install(["fine"])
    with pytest.raises(apt.CannotInstall, match=r"^E: no lists; E: none$"):
        installer.install(["bad"])


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            """dpkg: error processing package nginx (--configure):
 installed nginx package post-installation script subprocess returned error exit status 1
Errors were encountered while processing:
 nginx
E: Sub-process /usr/bin/dpkg returned an error code (1)""",
            (
                "dpkg: error processing package nginx (--configure): installed nginx package post-installation script"
                " subprocess returned error exit status 1"
            ),
        ),
        (
            """Unpacking bc (1.07.1-4) ...
dpkg: error processing archive /var/cache/apt/archives/bc.deb (--unpack):
 cannot copy extracted data for './usr/bin/bc' to '/usr/bin/bc.dpkg-new': failed to write (No space left on device)
E: Sub-process /usr/bin/dpkg returned an error code (1)""",
            (
                "dpkg: error processing archive /var/cache/apt/archives/bc.deb (--unpack): cannot copy extracted data"
                " for './usr/bin/bc' to '/usr/bin/bc.dpkg-new': failed to write (No space left on device)"
            ),
        ),
        (
            (
                "dpkg: unrecoverable fatal error, aborting:\n files list file for package 'bc' is missing final newline"
                "\nE: Sub-process /usr/bin/dpkg returned an error code (2)"
            ),
            "dpkg: unrecoverable fatal error, aborting: files list file for package 'bc' is missing final newline",
        ),
        (
            "E: Sub-process /usr/bin/dpkg returned an error code (1)",
            "E: Sub-process /usr/bin/dpkg returned an error code (1)",
        ),
        ("W: a\nE: Unable to locate package h2o\nE: other", "E: Unable to locate package h2o"),
        ("dpkg: error: it is harmless\nE: no space", "E: no space"),
        ("Killed\n", "Killed"),
    ],
)
def test_the_cause_is_one_line(output: str, line: str) -> None:
    """If dpkg failed, the line is dpkg's own, which names the package. Otherwise it is apt-get's first error."""
    assert apt.complaint(output) == line


def test_somebody_else_installs_packages(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set-up waits while another process holds dpkg's lock, and gives up after its time limit."""
    monkeypatch.setattr(apt, "_RETRY_S", 0.01)
    lock = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)"
    _script(
        programs,
        "apt-get",
        f'echo >>"{tmp_path}/tries"; [ $(wc -l <"{tmp_path}/tries") -gt 3 ] || {{ echo "{lock}"; exit 100; }}',
    )
    apt.Installer(Rights.ROOT).install(["nginx"])
    assert len((tmp_path / "tries").read_text()) == 4
    monkeypatch.setattr(apt, "_PATIENCE_S", 0.0)
    (tmp_path / "tries").write_text("")
    with pytest.raises(apt.CannotInstall, match="held by process 7"):
        apt.Installer(Rights.ROOT).install(["nginx"])


def test_an_ordinary_user_asks_sudo(programs: Path, tmp_path: Path) -> None:
    """An ordinary user's set-up uses `sudo -n` for every command, so that sudo never asks for a password."""
    _script(programs, "sudo", f'printf "%s\\n" "$*" >>"{tmp_path}/asked"; shift; exec "$@"')
    _script(programs, "apt-get", "exit 0")
    with apt.Installer(Rights.SUDO).at_work():
        pass
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[:2] for line in asked] == [["-n", "tee"], ["-n", "chmod"], ["-n", "rm"]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the files of a checkout that an environment is made from."""
    for name in MADE_OF:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def test_an_environment_that_cannot_be_completed_does_not_stay(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error gives pip's reason and the path of the log. The incomplete environment is removed, the log stays."""
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(logs))
    pip = '[ $3 = ensurepip ] && exit 0; echo "ERROR: No matching distribution found for h2"; exit 1'
    _script(
        tmp_path, "python", f"mkdir -p $6/bin; printf '#!/bin/sh\\n{pip}\\n' >$6/bin/python; chmod 755 $6/bin/python"
    )
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(EnvironmentFailed) as caught:
        PythonEnvironment(checkout).install("")
    (log,) = logs.glob("priolab-setup-*.log")
    assert str(caught.value) == f"pip failed: ERROR: No matching distribution found for h2 (log: {log})"
    assert not (checkout / ".venv").exists()


def _wheel(folder: Path, name: str) -> str:
    """Write a wheel without content, and return its digest."""
    file = folder / f"{name}-1-py3-none-any.whl"
    about = f"{name}-1.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("altered", ["tool", "library"])
def test_a_package_that_was_altered(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, altered: str
) -> None:
    """pip refuses an altered package. The error names file, digest, and remedies, and no environment stays."""
    logs, wheels = tmp_path / "logs", tmp_path / "wheels"
    for folder in (logs, wheels):
        folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(logs))
    pinned = tmp_path / "pip"  # the tests' own pip, because ensurepip's does not support hashes in constraints
    pinned.mkdir()
    for part in Path(sysconfig.get_path("purelib")).glob("pip*"):
        (pinned / part.name).symlink_to(part)
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}
    for name, value in {**index, "PYTHONPATH": str(pinned)}.items():
        monkeypatch.setenv(name, value)
    declared = '[project]\ndependencies = []\n[project.optional-dependencies]\nfigures = ["library==1"]\n'
    (checkout / "pyproject.toml").write_text(declared)
    for name, file in {"tool": "build-requirements.txt", "library": "constraints.txt"}.items():
        digest = _wheel(wheels, name)
        listed = digest[::-1] if name == altered else digest
        (checkout / file).write_text(f"{name}==1 \\\n    --hash=sha256:{listed}\n")
    before = {path for path in checkout.rglob("*") if not path.is_relative_to(logs)}
    with pytest.raises(EnvironmentFailed) as caught:
        PythonEnvironment(checkout).install("")
    (log,) = logs.glob("priolab-setup-*.log")
    digest = hashlib.sha256((wheels / f"{altered}-1-py3-none-any.whl").read_bytes()).hexdigest()
    assert str(caught.value) == (
        f"pip failed: {altered}-1-py3-none-any.whl has the digest sha256:{digest}, which neither constraints.txt nor"
        " build-requirements.txt lists; try PIP_NO_CACHE_DIR=1, then another package index"
        f" (PIP_INDEX_URL) (log: {log})"
    )
    assert {path for path in checkout.rglob("*") if not path.is_relative_to(logs)} == before


def test_an_environment_that_was_there_stays(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed installation leaves an existing environment usable."""
    made = PythonEnvironment(checkout)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", checkout / ".venv"], timeout=60, check=True)
    assert made.is_to_be_made, "a set-up was killed before it was complete"
    (checkout / ".venv" / ".installed").write_text("an older lab's")
    assert not made.is_to_be_made
    assert made.lacks("")
    monkeypatch.setattr(python_environment, "_kept", lambda _: "")
    with pytest.raises(EnvironmentFailed, match=r"^pip failed: .*No module named pip"):
        made.install("")
    assert made.python.exists()
    assert made.lacks("")


def test_an_interpreter_that_went_away(checkout: Path) -> None:
    """An environment of Python 3.9 is made anew if the system now has another version."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", checkout / ".venv"], timeout=60, check=True)
    made = PythonEnvironment(checkout)
    made.note_as_installed("")
    assert not made.is_to_be_made
    (checkout / ".venv" / "lib" / made.python.resolve().name).rename(checkout / ".venv" / "lib" / "python3.9")
    assert made.is_to_be_made


class _Slow(PythonEnvironment):
    """An environment whose installation takes half a second. began, ended: the times of all installations."""

    def __init__(self, root: Path, times: list[tuple[float, float]]) -> None:
        super().__init__(root)
        self._times = times

    def install(self, extra: str) -> None:
        began = time.monotonic()
        time.sleep(0.5)
        (self.root / ".venv" / "bin" / "priolab").touch()
        self.note_as_installed(extra)
        self._times.append((began, time.monotonic()))


def test_two_set_ups_at_once(checkout: Path) -> None:
    """The second waits for the first, says so, and finds everything installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", checkout / ".venv"], timeout=60, check=True)
    times: list[tuple[float, float]] = []
    said: list[str] = []
    with ThreadPoolExecutor(2) as both:
        for done in [both.submit(install_all, _Slow(checkout, times), [], said.append) for _ in range(2)]:
            done.result()
    assert len(times) == 1
    assert sorted(said) == ["making the Python environment in .venv", "waiting for another set-up of this checkout"]


def test_a_program_that_is_gone_is_installed_again(checkout: Path) -> None:
    """An environment whose mark is there, but not the program `priolab`, lacks the lab."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", checkout / ".venv"], timeout=60, check=True)
    made = PythonEnvironment(checkout)
    made.note_as_installed("")
    assert made.lacks("")
    (checkout / ".venv" / "bin" / "priolab").touch()
    assert not made.lacks("")


def test_an_interruption_lets_apt_end_in_order(programs: Path, tmp_path: Path) -> None:
    """After SIGTERM, apt-get gets SIGINT once, its child finishes, and policy-rc.d is removed."""
    _script(
        programs,
        "apt-get",
        f'trap \'echo told >>"{tmp_path}/said"\' INT; echo begun >"{tmp_path}/said"\n'
        f"(trap '' INT; sleep 1; echo unpacked >>\"{tmp_path}/said\") & wait; wait",
    )
    program = (
        "import sys; from pathlib import Path; from priolab.experiments.commands import setup\n"
        "from priolab.common.debian import apt; from priolab.common.debian.apt import Rights\n"
        "apt._POLICY, apt._DPKG = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "def work(*_, **__):\n"
        "    with apt.Installer(Rights.ROOT).at_work(): apt.Installer(Rights.ROOT).install(['nginx'])\n"
        "setup.set_up = work\n"
        "sys.exit(setup.main([]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "policy-rc.d"), str(tmp_path)],
        cwd=_ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert said == "setup: interrupted by SIGTERM; finished steps are kept, and the same command continues\n"
    assert (tmp_path / "said").read_text().split() == ["begun", "told", "unpacked"]
    assert not (tmp_path / "policy-rc.d").exists()
