"""What the rooms share: versions and capabilities in the header, and how a test runs the lab as its user does."""

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
from experiments.commands.doctor import Finding, examine, ways
from experiments.execution import keeper
from proxy.server import catalogue
from tests.page import axe
from tests.punctuality import any_late, until_punctual

_EXPECT = "PRIOLAB_EXPECT"
_TESTS = Path(__file__).parent
_LAST_ROOMS = {"contract": 1, "unit": 2}
_LONGEST = ("test_matrix.py", "test_notebooks.py", "test_demo_page.py", "test_sabotage.py", "test_servers.py")
"""Of the lab's files, the costliest first: none of them is to be what one worker ends with while the others idle."""


@cache
def _capabilities() -> Mapping[str, Finding]:
    """What this machine can do: half a second, more where there is an engine. Unit tests do without."""
    found = {finding.name.replace(" ", "-"): finding for finding in examine()}
    for way in reversed(ways()):
        name = f"fabric-{way.fabric}"
        if way.usable or name not in found:
            detail = way.shaper if way.usable else way.reason
            found[name] = Finding(name=name, present=way.usable, detail=detail, remedy=way.remedy)
    script = axe()
    detail = str(script) if script.exists() else "not installed"
    found["axe"] = Finding(name="axe", present=script.exists(), detail=detail, remedy="make setup-test")
    group = keeper.group_of("/")
    writable = group is not None and os.access(group, os.W_OK)
    found["cgroup"] = Finding(name="cgroup", present=writable, detail=group or "no cgroup v2", remedy="")
    return found


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Versions of everything real, unless only unit tests are asked for."""
    asked = [Path(word.partition("::")[0]).resolve() for word in config.args]
    if all(path.is_relative_to(_TESTS / "unit") for path in asked):
        return []
    found = _capabilities().items()
    return [f"{name}: {finding.detail if finding.present else 'missing'}" for name, finding in found]


def pytest_sessionstart() -> None:
    """A machine that promises capabilities, as CI does, must have them: skips cannot grow unnoticed.

    A shell without job control has what it starts in the background ignore Ctrl-C, and nohup(1) has it ignore SIGHUP;
    so would what tests interrupt.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    expected = [name for name in os.environ.get(_EXPECT, "").split(",") if name]
    if missing := [name for name in expected if name not in _capabilities() or not _capabilities()[name].present]:
        pytest.exit(f"{_EXPECT} names {', '.join(missing)}, missing here", returncode=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several work at the tests, the longest files come first."""

    def rank(item: pytest.Item) -> tuple[int, int]:
        room, name = item.path.relative_to(_TESTS).parts[0], item.path.name
        within = _LONGEST.index(name) if room == "lab" and name in _LONGEST else len(_LONGEST)
        return _LAST_ROOMS.get(room, 0), within

    items.sort(key=rank)


def needs(name: str) -> None:
    """Skips the test where a capability is missing."""
    finding = _capabilities()[name]
    if not finding.present:
        pytest.skip(f"{name} is missing: {finding.detail}")


@pytest.fixture(params=[name for name, each in catalogue().items() if each.protocol == "h2"])
def server(request: pytest.FixtureRequest) -> str:
    """Each server of the catalogue that speaks HTTP/2, by name; needs it installed."""
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
    """Needs a kernel that takes programs from this user."""
    needs("bpf")


@pytest.fixture
def cgroup() -> None:
    """Needs a cgroup v2 in which this user may make others."""
    needs("cgroup")


@pytest.fixture(scope="session")
def bpf_compiler() -> None:
    """Needs what the guest's tuner is compiled with."""
    needs("bpf-compiler")


@pytest.fixture(scope="session")
def gcc() -> None:
    """Needs what the guest kernel is compiled with."""
    needs("gcc")


@pytest.fixture(scope="session")
def compose() -> None:
    """Needs a Docker engine and compose."""
    needs("fabric-compose")


@pytest.fixture(scope="session")
def captures() -> None:
    """Needs what writes packets down, and what reads them independently of the lab."""
    for name in ("tcpdump", "editcap", "tshark"):
        needs(name)


@pytest.fixture(scope="session")
def npm() -> None:
    """Needs the packages of npm that the SPDY fronts are made of."""
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
    """A finished command: its exit code, what it printed, and the newest summary if there is one."""

    code: int
    out: str
    err: str
    folder: Path | None
    summary: Mapping[str, Any] | None

    def arm(self, name: str) -> Mapping[str, Any]:
        """One arm of the summary."""
        assert self.summary is not None, self.err
        arms: dict[str, Mapping[str, Any]] = {arm["name"]: arm for arm in self.summary["arms"]}
        return arms[name]

    @property
    def trouble(self) -> str:
        """What it said was wrong, and the reason of every arm that has one."""
        arms = self.summary["arms"] if self.summary else []
        return "\n".join([self.err, *(f"{arm['name']}: {arm['reason']}" for arm in arms if arm["reason"])])


@dataclass(frozen=True, kw_only=True)
class Lab:
    """`priolab` with results and temporary files of its own."""

    root: Path

    @property
    def results(self) -> Path:
        """Where its results go."""
        return self.root / "results"

    @property
    def temporary(self) -> Path:
        """Its TMPDIR; empty when nothing was left behind."""
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
        """`priolab run`, to its end."""
        done = subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return self.latest(done)

    def run_unseen(self, *words: str, processor: int | None = None, timeout_s: float = 600) -> Done:
        """The same without table and picture, and beside others that write into the same folder.

        processor: the only one that it may use; None for all.
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
        """`priolab run` on a real clock, again where the machine was late (tests/punctuality.py)."""
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
    """What came of it, with the summary as `priolab show --json` has it; done: the command, if it is known."""
    summary = json.loads(json.dumps(summarize(load_experiment(folder)))) if folder else None
    code, out, err = (done.returncode, done.stdout, done.stderr) if done else (1, "", "")
    return Done(code=code, out=out, err=err, folder=folder, summary=summary)


def make_lab(root: Path) -> Lab:
    """A lab in a folder."""
    lab = Lab(root=root)
    lab.temporary.mkdir()
    return lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A fresh lab."""
    return make_lab(tmp_path)
