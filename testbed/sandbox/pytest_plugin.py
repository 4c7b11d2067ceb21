"""A pytest plugin: the fixture `sandbox`, two programs on a link of virtual time.

    pytest_plugins = ["priolab.testbed.sandbox.pytest_plugin"]  # in conftest.py

    def test_a_retry(sandbox):
        result = sandbox(server="./server", LOSS="5%").run("./client")
        assert result.check().seconds < 10

A guest is kept between the tests of a session. A test without the fixture imports nothing of the lab.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from priolab.testbed.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def _sandbox_guests() -> Iterator[None]:
    """Keeps guests from test to test."""
    from priolab.testbed.process.command_process import keep_guests

    with keep_guests():
        yield


@pytest.fixture
def sandbox(_sandbox_guests: None, request: pytest.FixtureRequest) -> "Iterator[Callable[..., Sandbox]]":
    """A function that makes a Sandbox. Its parameters are those of Sandbox.

    The programs' current folder is that of the test's file, unless `folder` names another.
    """
    from priolab.testbed.sandbox.sandbox import Sandbox

    with ExitStack() as stack:

        def make(**parameters: Any) -> Sandbox:
            return stack.enter_context(Sandbox(**{"folder": Path(request.path).parent, **parameters}))

        yield make
