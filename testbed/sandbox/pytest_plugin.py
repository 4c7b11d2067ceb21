"""A pytest plugin: the fixture `sandbox`, two programs on a link of virtual time.

    pytest_plugins = ["priolab.testbed.sandbox.pytest_plugin"]  # in conftest.py

    def test_a_retry(sandbox):
        result = sandbox(server="./server", LOSS="5%").run("./client")
        assert result.check().seconds < 10

    @pytest.mark.seeds(200, faults="partition, LOSS<=30%")
    def test_whatever_the_link_does(sandbox):
        sandbox(server="./server").run("./client").check()

A guest is kept between the tests of a session. A test without the fixture imports nothing of the lab.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from priolab.testbed.sandbox.pytest_seeds import Attempt
    from priolab.testbed.sandbox.sandbox import Result, Sandbox


@pytest.fixture(scope="session")
def _sandbox_guests() -> Iterator[None]:
    """Keeps guests from test to test."""
    from priolab.testbed.process.command_process import keep_guests

    with keep_guests():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option for one seed alone."""
    parser.getgroup("sandbox").addoption(
        "--sandbox-seed", type=int, metavar="N", help="run tests with the mark `seeds` with this seed alone"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Adds the mark `seeds`."""
    text = "seeds(count, faults=None): call the test with the seeds 1 to count, or those of a range, until it fails"
    config.addinivalue_line("markers", text)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Calls a test with the mark `seeds` with one seed after the other."""
    __tracebackhide__ = True
    mark = pyfuncitem.get_closest_marker("seeds")
    if mark is None:
        return None
    from priolab.testbed.sandbox.pytest_seeds import SeededTest

    values = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}

    def call(attempt: "Attempt") -> None:
        pyfuncitem.stash[_ATTEMPT] = attempt
        pyfuncitem.stash[_MADE] = attempt.made
        pyfuncitem.obj(**values)

    SeededTest(pyfuncitem, mark, call).run()
    return True


_MADE = pytest.StashKey["list[Sandbox]"]()
_ATTEMPT = pytest.StashKey["Attempt"]()
_LINES = 10


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows with a test that failed the last run of each of its sandboxes."""
    report = yield
    if report.failed:
        report.sections += [("sandbox", _told(made.last)) for made in item.stash.get(_MADE, ()) if made.last]
    return report


def _told(result: "Result") -> str:
    """Returns a command that repeats a run, how it ended, and the last lines of each host."""
    from priolab.testbed.sandbox.output_log import last_lines_of_all

    how = result.command or "the test's session; the same calls give the same"
    ended, _ = repr(result).splitlines()
    return "\n".join([f"to repeat it: {how}", ended, *last_lines_of_all(result.frames, _LINES)])


@pytest.fixture
def sandbox(_sandbox_guests: None, request: pytest.FixtureRequest) -> "Iterator[Callable[..., Sandbox]]":
    """A function that makes a Sandbox. Its parameters are those of Sandbox.

    The programs' current folder is that of the test's file, unless `folder` names another.
    """
    from priolab.testbed.sandbox.sandbox import Sandbox

    with ExitStack() as stack:

        def make(**parameters: Any) -> Sandbox:
            given = {"folder": Path(request.path).parent, **parameters}
            attempt: Attempt | None = request.node.stash.get(_ATTEMPT, None)
            if attempt is not None:
                return attempt.make(given)
            made = stack.enter_context(Sandbox(**given))
            request.node.stash.setdefault(_MADE, []).append(made)
            return made

        yield make
