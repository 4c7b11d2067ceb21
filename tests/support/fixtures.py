"""Fixtures and hooks of all tests: versions and capabilities in pytest's header, and fixtures that run `priolab`."""

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from priolab.common.process.search_path import find
from priolab.experiments.setup.machine import Capability
from priolab.experiments.setup.packages import CAPTURING, READING_CAPTURES
from priolab.experiments.setup.setup_request import needs_of_tests
from priolab.proxy.server import catalogue
from priolab.testbed.process.command_process import CommandProcess, Work, keep_guests
from priolab.testbed.topology.cgroup import own_group
from tests.page import axe
from tests.support import capabilities
from tests.support.capabilities import NEEDED, each, is_needed_by_core, needing
from tests.support.lab import Lab, make_lab
from tests.support.selection import (
    CORE,
    LEFT_OUT,
    MISSING,
    PASSED,
    REST,
    count,
    is_of_core,
    note,
    noted,
    parts,
    wrong_needs,
)
from tests.support.shared_runs import Runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.ordinary_lab import OrdinaryLab

_EXPECT = "PRIOLAB_EXPECT"
_NEEDS = "needs"
_ALONE = "master"  # the name of the only worker
_ROOMS = ("unit", "contract", "server", "link", "lab")
"""The folders of tests: those of the core, and those of each extra."""
_LAST_ROOMS = {"contract": 1, "unit": 2}
_REAL_ROOMS = ("lab", "link")
"""The folders of punctual tests; `make test` collects no others for them."""
_PROCESSORS = os.sched_getaffinity(0)
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


_left_out: Counter[str] = Counter()
"""How many tests --core left out in this process, by what they need."""


def _room(path: Path) -> str:
    """Returns the name of the folder of tests that has the path, such as "lab"; empty if it is in none."""
    return next((part for part in reversed(path.parts) if part in _ROOMS), "")


def _only_units(config: pytest.Config) -> bool:
    return all(_room(Path(word.partition("::")[0])) == "unit" for word in config.args)


def needs_of(item: pytest.Item) -> tuple[str, ...]:
    """Returns the names of what a test needs, each once."""
    return tuple(dict.fromkeys(name for mark in item.iter_markers(_NEEDS) for name in mark.args))


def _needs_of_fixtures(item: pytest.Item) -> Iterator[str]:
    """Yields what the fixtures of a test say by `needing`."""
    if isinstance(item, pytest.Function):
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            yield from getattr(definitions[-1].func, NEEDED, ())


def _may_use(config: pytest.Config, name: str) -> bool:
    return is_needed_by_core(name) or not config.getoption(CORE)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist this machine's capabilities."""
    if not _only_units(node.config):
        node.workerinput["capabilities"] = {name: asdict(each) for name, each in capabilities.known().items()}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options --core and --rest."""
    group = parser.getgroup("tests of the lab")
    group.addoption(f"--{CORE}", action="store_true", help="run the core's tests, with few servers and programs")
    group.addoption(f"--{REST}", action="store_true", help=f"run the tests that the last --{CORE} has not passed")


def pytest_configure(config: pytest.Config) -> None:
    """Takes in the options, and what `pytest_configure_node` tells this worker."""
    given: Mapping[str, Mapping[str, Any]] = getattr(config, "workerinput", {}).get("capabilities", {})
    capabilities.told.update({name: Capability(**each) for name, each in given.items()})


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Lists the versions of all programs, unless only unit tests are run."""
    if _only_units(config):
        return []
    found = {name: each for name, each in capabilities.known().items() if _may_use(config, name)}
    lines = [f"{name}: {capability.detail}" for name, capability in found.items() if capability.present]
    return [*lines, f"missing: {', '.join(name for name, each in found.items() if not each.present) or 'nothing'}"]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Exits if a capability in PRIOLAB_EXPECT is missing; CI sets PRIOLAB_EXPECT so that no test is skipped unnoticed.

    Restores SIGINT and SIGHUP: a shell without job control makes background programs ignore Ctrl-C, and nohup(1) makes
    them ignore SIGHUP. Programs that the tests start would inherit this.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config = session.config
    expected = [name for name in sorted(capabilities.expected(os.environ.get(_EXPECT, ""))) if _may_use(config, name)]
    found = capabilities.known() if expected else {}
    if missing := [name for name in expected if name not in found or not found[name].present]:
        pytest.exit(f"{_EXPECT} names {', '.join(missing)}, missing here", returncode=1)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes over what a worker of pytest-xdist left out. All workers leave out the same."""
    for name, number in getattr(node, "workeroutput", {}).get(_NEEDS, {}).items():
        _left_out[name] = number


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells the process that started this worker what was left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_NEEDS] = dict(_left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Notes what has passed of the core's tests, and what was left out of them."""
    if config.getoption(CORE):
        note([report.nodeid for report in terminalreporter.stats.get("passed", ())], config.rootpath / PASSED)
        count(_left_out, config.rootpath / LEFT_OUT)


def _check_needs(root: Path, items: list[pytest.Item]) -> None:
    """Raises UsageError if a part does not say what its tests need: set-ups install it before there is pytest."""
    for name, folders in parts().items():
        of_part = [item for item in items if item.nodeid.startswith(tuple(f"{folder}/" for folder in folders))]
        marked = {item.nodeid: [need for need in needs_of(item) if not is_needed_by_core(need)] for item in of_part}
        files = {file for folder in folders for file in (root / folder).rglob("test_*.py")}
        all_are = {item.path for item in of_part} >= files
        if of_part and (wrong := wrong_needs(name, needs_of_tests(name, root), marked, all_are=all_are)):
            raise pytest.UsageError(wrong)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Selects tests by --core and --rest, and sorts them: the slowest files of tests/lab first, unit tests last.

    Marks tests whose fixtures need something. Counts what --core leaves out of the tests that other options select.
    Raises UsageError if a punctual test is where `make test` would not find it, or a need has no name.
    """

    def rank(item: pytest.Item) -> tuple[int, int]:
        room, name = _room(item.path), item.path.name
        within = _LONGEST.index(name) if room == "lab" and name in _LONGEST else len(_LONGEST)
        return _LAST_ROOMS.get(room, 0), within

    if config.getoption(CORE):
        items[:] = [item for item in items if is_of_core(item.path.relative_to(config.rootpath), _room(item.path))]
    if config.getoption(REST):
        passed = noted(config.rootpath / PASSED)
        items[:] = [item for item in items if item.nodeid not in passed]
    items.sort(key=rank)
    for item in items:
        if of_fixtures := tuple(_needs_of_fixtures(item)):
            item.add_marker(pytest.mark.needs(*of_fixtures))
        needs = needs_of(item)
        if strangers := [name for name in needs if name not in capabilities.names()]:
            raise pytest.UsageError(f"{item.nodeid} needs {strangers[0]}, which tests/support/capabilities.py lacks")
        if "fabric-compose" in needs:
            item.add_marker("containers")
        if item.get_closest_marker("punctual") and _room(item.path) not in _REAL_ROOMS:
            raise pytest.UsageError(f"{item.nodeid} is punctual; such tests are in {' or '.join(_REAL_ROOMS)}")
    _check_needs(config.rootpath, items)
    yield
    if config.getoption(CORE):
        others = {item: [name for name in needs_of(item) if not is_needed_by_core(name)] for item in items}
        _left_out.update(names[0] for names in others.values() if names)
        items[:] = [item for item, names in others.items() if not names]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keeps each of several workers, and the programs that it starts, to one processor from its first test of a lab.

    Then the arms of an experiment share a guest, because starting a guest costs as much as two runs. Skips a test that
    needs what is missing here.
    """
    for name in needs_of(item):
        found = capabilities.known()[name]
        if not found.present:
            pytest.skip(f"{name}{MISSING}{found.detail}")
    worker = getattr(item.config, "workerinput", {}).get("workerid")
    if worker and _room(item.path) == "lab":
        processors = sorted(_PROCESSORS)
        os.sched_setaffinity(0, {processors[int(worker.removeprefix("gw")) % len(processors)]})


@pytest.fixture(scope="session", autouse=True)
def _kept_guests() -> Iterator[None]:
    """Keeps guests from test to test: the start of a guest takes as long as two runs."""
    with keep_guests():
        yield


@pytest.fixture(params=each(name for name, server in catalogue().items() if server.protocol == "h2"))
def server(request: pytest.FixtureRequest) -> str:
    """Returns the name of each HTTP/2 server of the catalogue."""
    return str(request.param)


@pytest.fixture(scope="session")
@needing("fabric-virtual")
def guest() -> None:
    """Says that the test runs the guest."""


@pytest.fixture
@needing("fabric-netns")
def netns() -> None:
    """Says that the test makes network namespaces."""


@pytest.fixture(scope="session")
@needing("bpf")
def bpf() -> None:
    """Says that the test loads BPF programs."""


@pytest.fixture
def group(bpf: None) -> Iterator[Path]:  # noqa: ARG001
    """Return a new cgroup for the test of a tuner."""
    with own_group(f"priolab-test-{os.getpid()}") as path:
        yield path


@pytest.fixture
@needing("cgroup")
def cgroup() -> None:
    """Says that the test makes cgroups (v2)."""


@pytest.fixture(scope="session")
@needing("clang")
def clang() -> None:
    """Says that the test compiles BPF programs with clang."""


@pytest.fixture(scope="session")
@needing("gcc")
def gcc() -> None:
    """Says that the test uses the compiler for the guest's kernel."""


@pytest.fixture(scope="session")
@needing("fabric-compose")
def compose() -> None:
    """Says that the test uses Docker with its compose plugin."""


@pytest.fixture(scope="session")
@needing(*CAPTURING, *READING_CAPTURES)
def captures() -> None:
    """Says that the test captures packets and reads the captures."""


@pytest.fixture(scope="session")
@needing("spdy")
def npm() -> None:
    """Says that the test uses the npm packages of the SPDY fronts."""


@pytest.fixture(scope="session")
@needing("chromium")
def chromium() -> None:
    """Says that the test uses Chromium."""


@pytest.fixture(scope="session")
@needing("axe")
def axe_script(chromium: None) -> Path:  # noqa: ARG001
    """Returns the accessibility checker axe, for a page in Chromium."""
    return axe()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A fresh lab."""
    return make_lab(tmp_path)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Runs:
    """Returns the shared runs. Several workers share a folder in the parent of the workers' own folders."""
    own = tmp_path_factory.getbasetemp()
    root = (own if worker_id == _ALONE else own.parent) / "shared"
    lab = Lab(root=root)
    for folder in (root, lab.temporary, root / "kept"):
        folder.mkdir(exist_ok=True)
    return Runs(lab)


@pytest.fixture(scope="module")
def browser(chromium: None) -> "Iterator[Browser]":  # noqa: ARG001
    """Yields a browser for all tests of a module; each visit has a context of its own.

    The browser is Chromium without its own windows, if that is installed: it needs two thirds of the processor time.
    """
    from playwright.sync_api import sync_playwright

    from tests.support.visits import launched

    program = find("chromium-headless-shell") or find("chromium")
    assert program
    with sync_playwright() as playwright, launched(playwright, program) as opened:
        yield opened


@pytest.fixture
def ordinary_lab() -> "Iterator[OrdinaryLab]":
    """Yields a lab in a folder that an ordinary user can reach, unlike pytest's folders."""
    from tests.support import ordinary
    from tests.support.ordinary_lab import OrdinaryLab

    root = Path(tempfile.mkdtemp(prefix="ordinary-", dir="/tmp"))
    try:
        lab = OrdinaryLab(root=root)
        (root / "stage").mkdir()
        lab.temporary.mkdir()
        if os.geteuid() == 0:
            for folder in (root, lab.temporary):
                os.chown(folder, ordinary.NOBODY, ordinary.NOBODY)
        yield lab
    finally:
        shutil.rmtree(root)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[CommandProcess]:
    """Returns the list of the processes of jobs that are started during the test."""
    found: list[CommandProcess] = []
    start = CommandProcess.__init__

    def begin(self: CommandProcess, work: Work) -> None:
        start(self, work)
        found.append(self)

    monkeypatch.setattr(CommandProcess, "__init__", begin)
    return found
