"""Shared by all tests: versions and capabilities in the header, and fixtures that run the lab as its user does."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from analysis.records.runs import load_experiment
from analysis.reports.summary import summarize
from experiments.commands.doctor import Capability, examine, link_options
from experiments.execution import keeper
from proxy.server import catalogue
from tests.page import axe
from tests.punctuality import any_late, until_punctual

_EXPECT = "PRIOLAB_EXPECT"
_TESTS = Path(__file__).parent
_LAST_ROOMS = {"contract": 1, "unit": 2}
_LONGEST = ("test_matrix.py", "test_notebooks.py", "test_demo_page.py", "test_sabotage.py", "test_servers.py")
"""The longest files of tests/lab, longest first: so that no worker still runs one while the others idle."""


@cache
def _capabilities() -> Mapping[str, Capability]:
    """What this machine can do: half a second, more where there is an engine. Unit tests do without."""
    found = {capability.name.replace(" ", "-"): capability for capability in examine()}
    for option in reversed(link_options()):
        name = f"fabric-{option.fabric}"
        if option.usable or name not in found:
            detail = option.shaper if option.usable else option.reason
            found[name] = Capability(name=name, present=option.usable, detail=detail, remedy=option.remedy)
    script = axe()
    detail = str(script) if script.exists() else "not installed"
    found["axe"] = Capability(name="axe", present=script.exists(), detail=detail, remedy="make setup-test")
    group = keeper.group_of("/")
    writable = group is not None and os.access(group, os.W_OK)
    found["cgroup"] = Capability(name="cgroup", present=writable, detail=group or "no cgroup v2", remedy="")
    return found


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Lists the versions of all programs, unless only unit tests are run."""
    asked = [Path(word.partition("::")[0]).resolve() for word in config.args]
    if all(path.is_relative_to(_TESTS / "unit") for path in asked):
        return []
    found = _capabilities().items()
    return [f"{name}: {capability.detail if capability.present else 'missing'}" for name, capability in found]


def pytest_sessionstart() -> None:
    """Exits if a capability that PRIOLAB_EXPECT names, as in CI, is missing: so skips cannot grow unnoticed.

    Restores SIGINT and SIGHUP: a shell without job control makes background programs ignore Ctrl-C, and nohup(1) makes
    them ignore SIGHUP. The programs that tests interrupt would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    expected = [name for name in os.environ.get(_EXPECT, "").split(",") if name]
    if missing := [name for name in expected if name not in _capabilities() or not _capabilities()[name].present]:
        pytest.exit(f"{_EXPECT} names {', '.join(missing)}, missing here", returncode=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the longest files first, for several workers."""

    def rank(item: pytest.Item) -> tuple[int, int]:
        room, name = item.path.relative_to(_TESTS).parts[0], item.path.name
        within = _LONGEST.index(name) if room == "lab" and name in _LONGEST else len(_LONGEST)
        return _LAST_ROOMS.get(room, 0), within

    items.sort(key=rank)


def needs(name: str) -> None:
    """Skips the test where a capability is missing."""
    capability = _capabilities()[name]
    if not capability.present:
        pytest.skip(f"{name} is missing: {capability.detail}")


@pytest.fixture(params=[name for name, each in catalogue().items() if each.protocol == "h2"])
def server(request: pytest.FixtureRequest) -> str:
    """The name of each server of the catalogue that speaks HTTP/2; needs it installed."""
    name = str(request.param)
    needs(name)
    return name


@pytest.fixture(scope="session")
def guest() -> None:
    """Needs the guest: its kernel, and a machine that can run it."""
    needs("fabric-virtual")


@pytest.fixture
def netns() -> None:
    """Needs network namespaces on the host."""
    needs("fabric-netns")


@pytest.fixture(scope="session")
def bpf() -> None:
    """Needs a kernel that accepts BPF programs from this user."""
    needs("bpf")


@pytest.fixture
def cgroup() -> None:
    """Needs a cgroup v2 in which this user may create others."""
    needs("cgroup")


@pytest.fixture(scope="session")
def bpf_compiler() -> None:
    """Needs the compiler for the guest's tuner."""
    needs("bpf-compiler")


@pytest.fixture(scope="session")
def gcc() -> None:
    """Needs the compiler for the guest's kernel."""
    needs("gcc")


@pytest.fixture(scope="session")
def compose() -> None:
    """Needs a Docker engine and compose."""
    needs("fabric-compose")


@pytest.fixture(scope="session")
def captures() -> None:
    """Needs the programs that capture packets and read captures independently of the lab."""
    for name in ("tcpdump", "editcap", "tshark"):
        needs(name)


@pytest.fixture(scope="session")
def npm() -> None:
    """Needs the npm packages of the SPDY fronts."""
    needs("spdy")


@pytest.fixture(scope="session")
def chromium() -> None:
    """Needs a browser."""
    needs("chromium")


@pytest.fixture(scope="session")
def axe_script(chromium: None) -> Path:  # noqa: ARG001
    """The accessibility checker; needs it, and a browser."""
    needs("axe")
    return axe()


@dataclass(frozen=True, kw_only=True)
class Done:
    """A finished command: its exit code, its output, and the newest results' folder and summary if there are any."""

    code: int
    out: str
    err: str
    folder: Path | None
    summary: Mapping[str, Any] | None

    def arm(self, name: str) -> Mapping[str, Any]:
        """The arm of that name in the summary."""
        assert self.summary is not None, self.err
        arms: dict[str, Mapping[str, Any]] = {arm["name"]: arm for arm in self.summary["arms"]}
        return arms[name]

    @property
    def trouble(self) -> str:
        """The command's error output, and the reason of every arm that has one."""
        arms = self.summary["arms"] if self.summary else []
        return "\n".join([self.err, *(f"{arm['name']}: {arm['reason']}" for arm in arms if arm["reason"])])


@dataclass(frozen=True, kw_only=True)
class Lab:
    """`priolab` with its own folders for results and temporary files."""

    root: Path

    @property
    def results(self) -> Path:
        """The folder of its results."""
        return self.root / "results"

    @property
    def temporary(self) -> Path:
        """Its TMPDIR; empty if nothing was left behind."""
        return self.root / "tmp"

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment, with the lab's TMPDIR."""
        return os.environ | {"TMPDIR": str(self.temporary)}

    def command(self, *words: str) -> list[str]:
        """The argument list of a run."""
        return [sys.executable, "-m", "experiments.cli", "run", f"RESULTS={self.results}", *words]

    def sweep_command(self, *words: str) -> list[str]:
        """The argument list of a sweep."""
        return [sys.executable, "-m", "experiments.cli", "sweep", f"RESULTS={self.results}", *words]

    def run(self, *words: str, timeout_s: float = 240) -> Done:
        """Runs `priolab run` to its end."""
        done = subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return self.latest(done)

    def run_unseen(self, *words: str, processor: int | None = None, timeout_s: float = 600) -> Done:
        """Runs `priolab run` without table and picture; others may write into the same folder meanwhile.

        processor: the only processor it may use; None for all.
        """
        confined = [] if processor is None else ["taskset", "--cpu-list", str(processor)]
        done = subprocess.run(
            [*confined, *self.command(*words, "--print-folder")],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return done_in(Path(done.stdout.strip()) if done.stdout else None, done)

    def run_on_time(self, *words: str) -> Done:
        """Runs `priolab run` on a real clock; repeats it if the machine was late (tests/punctuality.py)."""
        return until_punctual(lambda: self.run(*words), lambda done: any_late(done.summary))

    def latest(self, done: subprocess.CompletedProcess[str] | None = None) -> Done:
        """The newest results, with the command that made them if it is known."""
        latest = self.results / "latest"
        folder = latest.resolve() if latest.exists() else None
        return done_in(folder, done)

    def processes(self) -> list[str]:
        """Command lines of running processes that name this lab's folders."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if str(self.root) in line:
                    found.append(line)
        return found


def done_in(folder: Path | None, done: subprocess.CompletedProcess[str] | None = None) -> Done:
    """The results in a folder, with the summary of `priolab show --json`. done: the command, if it is known."""
    summary = json.loads(json.dumps(summarize(load_experiment(folder)))) if folder else None
    code, out, err = (done.returncode, done.stdout, done.stderr) if done else (1, "", "")
    return Done(code=code, out=out, err=err, folder=folder, summary=summary)


def make_lab(root: Path) -> Lab:
    """Makes a lab in a folder."""
    lab = Lab(root=root)
    lab.temporary.mkdir()
    return lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A fresh lab."""
    return make_lab(tmp_path)
