"""Fixtures and hooks of all tests: versions and capabilities in pytest's header, and fixtures that run `priolab`."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.common.uring import Ring
from priolab.experiments import cli
from priolab.experiments.commands.doctor import Capability, examine, link_options
from priolab.experiments.execution import command_process, keeper
from priolab.experiments.execution.command_process import keep_guests
from priolab.experiments.host.installed import lack_of
from priolab.experiments.host.interruption import STOPS
from priolab.proxy.descriptors import process_ids
from priolab.proxy.server import catalogue, server_of
from tests.page import axe
from tests.punctuality import any_late, until_punctual

_EXPECT = "PRIOLAB_EXPECT"
_TESTS = Path(__file__).parent
_LAST_ROOMS = {"contract": 1, "unit": 2}
_REAL_ROOMS = ("lab", "link")
"""The folders of punctual tests; `make test` collects no others for them."""
_LONGEST = (
    "test_compose.py",
    "test_notebooks.py",
    "test_demo_wishes.py",
    "test_matrix.py",
    "test_chromium.py",
    "test_hostile_folder.py",
    "test_demo_page.py",
    "test_servers.py",
    "test_talk.py",
    "test_sabotage.py",
    "test_demo_stage.py",
)
"""The slowest files of tests/lab, so that no worker is still busy with one when the others are done.

Roughly the slowest first; those with a browser, whose pages have to answer in time, are not all begun at once.
"""


_told: dict[str, Capability] = {}
"""In a worker of pytest-xdist: the capabilities that the process which started it has found."""


@cache
def _capabilities() -> Mapping[str, Capability]:
    """Returns this machine's capabilities. Takes a second; unit tests do not call it."""
    if _told:
        return _told
    found = {capability.name.replace(" ", "-"): capability for capability in examine()}
    for option in reversed(link_options()):
        name = f"fabric-{option.fabric}"
        if option.usable or name not in found:
            detail = str(option.shaper) if option.usable else option.reason
            found[name] = Capability(name=name, present=option.usable, detail=detail, remedy=option.remedy)
    for server in (server_of(f"{name}@{edition}") for name, each in catalogue().items() for edition in each.wheels):
        lack = lack_of(server)
        found[server.name] = Capability(
            name=server.name, present=lack is None, detail=lack or "in the cache", remedy="make setup-test"
        )
    script = axe()
    detail = str(script) if script.exists() else "not installed"
    found["axe"] = Capability(name="axe", present=script.exists(), detail=detail, remedy="make setup-test")
    detail = _io_uring()
    found["io_uring"] = Capability(name="io_uring", present=not detail, detail=detail or "present", remedy="")
    group = keeper.group_of("/")
    writable = group is not None and os.access(group, os.W_OK)
    found["cgroup"] = Capability(name="cgroup", present=writable, detail=group or "no cgroup v2", remedy="")
    return found


def _io_uring() -> str:
    """Returns the reason why this machine's kernel takes no samples in batches; empty if it does."""
    try:
        with Ring(1):
            return ""
    except OSError as error:
        return str(error)


def _only_units(config: pytest.Config) -> bool:
    asked = [Path(word.partition("::")[0]).resolve() for word in config.args]
    return all(path.is_relative_to(_TESTS / "unit") for path in asked)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist this machine's capabilities."""
    if not _only_units(node.config):
        node.workerinput["capabilities"] = {name: asdict(each) for name, each in _capabilities().items()}


def pytest_configure(config: pytest.Config) -> None:
    """Takes in what `pytest_configure_node` tells this worker."""
    told: Mapping[str, Mapping[str, Any]] = getattr(config, "workerinput", {}).get("capabilities", {})
    _told.update({name: Capability(**each) for name, each in told.items()})


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Lists the versions of all programs, unless only unit tests are run."""
    if _only_units(config):
        return []
    found = _capabilities().items()
    return [f"{name}: {capability.detail if capability.present else 'missing'}" for name, capability in found]


def pytest_sessionstart() -> None:
    """Exits if a capability in PRIOLAB_EXPECT is missing; CI sets PRIOLAB_EXPECT so that no test is skipped unnoticed.

    Restores SIGINT and SIGHUP: a shell without job control makes background programs ignore Ctrl-C, and nohup(1) makes
    them ignore SIGHUP. Programs that the tests start would inherit this.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    expected = [name for name in os.environ.get(_EXPECT, "").split(",") if name]
    if missing := [name for name in expected if name not in _capabilities() or not _capabilities()[name].present]:
        pytest.exit(f"{_EXPECT} names {', '.join(missing)}, missing here", returncode=1)


@pytest.hookimpl(tryfirst=True)  # before pytest selects tests by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the slowest files of tests/lab to the front, and contract tests and unit tests to the end.

    Marks tests that need the fixture `compose`. Raises UsageError if a punctual test is where `make test` would not
    find it.
    """

    def rank(item: pytest.Item) -> tuple[int, int]:
        room, name = item.path.relative_to(_TESTS).parts[0], item.path.name
        within = _LONGEST.index(name) if room == "lab" and name in _LONGEST else len(_LONGEST)
        return _LAST_ROOMS.get(room, 0), within

    items.sort(key=rank)
    for item in items:
        if "compose" in getattr(item, "fixturenames", ()):
            item.add_marker("containers")
        if item.get_closest_marker("punctual") and item.path.relative_to(_TESTS).parts[0] not in _REAL_ROOMS:
            raise pytest.UsageError(f"{item.nodeid} is punctual; such tests are in {' or '.join(_REAL_ROOMS)}")


def present(name: str) -> bool:
    """Returns True if this machine has a capability, such as a server."""
    return _capabilities()[name].present


def needs(name: str) -> None:
    """Skips the test where a capability is missing."""
    capability = _capabilities()[name]
    if not capability.present:
        pytest.skip(f"{name} is missing: {capability.detail}")


@pytest.fixture(scope="session", autouse=True)
def _kept_guests() -> Iterator[None]:
    """Keeps guests from test to test: the start of a guest takes as long as two runs."""
    with keep_guests():
        yield


@pytest.fixture(scope="module")
def own_guests() -> Iterator[None]:
    """Lets the tests of a module start guests of their own, which end with their runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_process, "_kept", None)
        yield


@pytest.fixture(params=[name for name, each in catalogue().items() if each.protocol == "h2"])
def server(request: pytest.FixtureRequest) -> str:
    """Returns the name of each HTTP/2 server of the catalogue; skips the test if the server is not installed."""
    name = str(request.param)
    needs(name)
    return name


@pytest.fixture(scope="session")
def guest() -> None:
    """Skips the test if this machine cannot run the guest, or has no guest kernel."""
    needs("fabric-virtual")


@pytest.fixture
def netns() -> None:
    """Skips the test if network namespaces cannot be made."""
    needs("fabric-netns")


@pytest.fixture(scope="session")
def bpf() -> None:
    """Skips the test if the kernel accepts no BPF programs from this user."""
    needs("bpf")


@pytest.fixture
def cgroup() -> None:
    """Skips the test if this user cannot create cgroups (v2)."""
    needs("cgroup")


@pytest.fixture(scope="session")
def bpf_compiler() -> None:
    """Skips the test if the compiler for the guest's tuner is missing."""
    needs("bpf-compiler")


@pytest.fixture(scope="session")
def gcc() -> None:
    """Skips the test if the compiler for the guest's kernel is missing."""
    needs("gcc")


@pytest.fixture(scope="session")
def compose() -> None:
    """Skips the test if Docker or its compose plugin is missing."""
    needs("fabric-compose")


@pytest.fixture(scope="session")
def captures() -> None:
    """Skips the test if tcpdump, editcap or tshark is missing."""
    for name in ("tcpdump", "editcap", "tshark"):
        needs(name)


@pytest.fixture(scope="session")
def npm() -> None:
    """Skips the test if the npm packages of the SPDY fronts are missing."""
    needs("spdy")


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skips the test if no Chromium is installed."""
    needs("chromium")


@pytest.fixture(scope="session")
def axe_script(chromium: None) -> Path:  # noqa: ARG001
    """Returns the accessibility checker axe; skips the test if axe or the browser is missing."""
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
        """The lab's results folder."""
        return self.root / "results"

    @property
    def temporary(self) -> Path:
        """The lab's TMPDIR, which is empty unless a command left files behind."""
        return self.root / "tmp"

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment, with the lab's TMPDIR."""
        return os.environ | {"TMPDIR": str(self.temporary)}

    def command(self, *words: str) -> list[str]:
        """The argument list of a run."""
        return [sys.executable, "-m", "priolab.experiments", "run", f"RESULTS={self.results}", *words]

    def sweep_command(self, *words: str) -> list[str]:
        """The argument list of a sweep."""
        return [sys.executable, "-m", "priolab.experiments", "sweep", f"RESULTS={self.results}", *words]

    def run(self, *words: str, timeout_s: float = 240) -> Done:
        """Runs `priolab run` to its end."""
        done = subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return self.latest(done)

    def run_unseen(self, *words: str, timeout_s: float = 600) -> Done:
        """Runs `priolab run` without printing a table or drawing figures; other runs may use the same folder."""
        done = subprocess.run(
            self.command(*words, "--print-folder"),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return _unseen(done)

    def run_here(self, *words: str) -> Done:
        """Does the same as `run_unseen` in this process, which saves the start of Python; must be the main thread."""
        return _unseen(self.command_here("run", *words, "--print-folder"))

    def command_here(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command that takes RESULTS, such as `priolab run`, in this process."""
        return priolab_here(command, f"RESULTS={self.results}", *words, temporary=self.temporary)

    def run_on_time(self, *words: str, or_if: Callable[[Done], bool] = lambda _: False) -> Done:
        """Runs `priolab run` on a real clock, without figures; repeats it if the machine was late (punctuality.py).

        or_if: another reason to repeat it, which is seen in the results.
        """
        return until_punctual(lambda: self.run_unseen(*words), lambda done: any_late(done.summary) or or_if(done))

    def latest(self, done: subprocess.CompletedProcess[str] | None = None) -> Done:
        """Returns the newest results. done: the command that made them, if known."""
        latest = self.results / "latest"
        folder = latest.resolve() if latest.exists() else None
        return done_in(folder, done)

    def processes(self) -> list[str]:
        """Returns the command lines of running processes that contain this lab's folder."""
        found = []
        for pid in process_ids():
            if pid != os.getpid():
                try:
                    line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if str(self.root) in line:
                    found.append(line)
        return found


def priolab_here(*words: str, temporary: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `priolab` in this process, which saves the start of Python; must be called in the main thread.

    temporary: its TMPDIR; None for this process's.
    """
    out, err = io.StringIO(), io.StringIO()
    with _restored(), pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        if temporary is not None:
            patch.setenv("TMPDIR", str(temporary))
            patch.setattr(tempfile, "tempdir", None)
        code = cli.main(words)
    if code == 128 + signal.SIGINT:  # the command has taken a signal that was meant for the tests
        raise KeyboardInterrupt
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@contextmanager
def _restored() -> Iterator[None]:
    """Restores the signal handlers of this process, which a command changes."""
    handlers = {stop: signal.getsignal(stop) for stop in STOPS}
    try:
        yield
    finally:
        for stop, handler in handlers.items():
            signal.signal(stop, handler)


def _unseen(done: subprocess.CompletedProcess[str]) -> Done:
    """Returns the results in the folder that the command has printed."""
    return done_in(Path(done.stdout.strip()) if done.stdout else None, done)


def done_in(folder: Path | None, done: subprocess.CompletedProcess[str] | None = None) -> Done:
    """Returns the results in a folder, with the summary of `priolab show --json`.

    done: the command that made them; without it the exit code is the one that `priolab run` has for such a summary.
    """
    summary = json.loads(json.dumps(summarize(load_experiment(folder)))) if folder else None
    is_ok = summary is not None and summary["status"] == "ok"
    code, out, err = (done.returncode, done.stdout, done.stderr) if done else (0 if is_ok else 1, "", "")
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
