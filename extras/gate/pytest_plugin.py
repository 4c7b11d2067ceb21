"""A pytest plugin for authors of servers: fixtures that load a page from a server over the lab's link.

    pytest_plugins = ["priolab.extras.gate.pytest_plugin"]  # in conftest.py

    def test_a_late_script_overtakes(priolab_load):
        assert_kept(priolab_load(page="maps", dialect="plain", lowat=16384))

    pytest --priolab --priolab-server=nginx

Rules:
1. Tests that use the fixtures are skipped unless `--priolab` is given, because a load takes seconds.
2. The modules of the lab are imported when a fixture is used, so that a session without `--priolab` starts quickly.
3. A load that fails makes the test fail with one line.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from priolab.extras.gate.loading import Loaded

_HELP = "the server under test, as for the knob SERVER: nginx, or ./my-front, the folder with your server.toml"
_KNOB = "a further knob of the server, such as PROGRAM=./nginx; may be given several times"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options --priolab, --priolab-server and --priolab-knob, and the setting priolab_server."""
    group = parser.getgroup("priolab", "the priority lab")
    group.addoption("--priolab", action="store_true", help="run the tests that load pages with the priority lab")
    group.addoption("--priolab-server", metavar="SERVER", help=_HELP)
    group.addoption("--priolab-knob", metavar="NAME=VALUE", action="append", default=[], help=_KNOB)
    parser.addini("priolab_server", _HELP, default="nginx")


@pytest.fixture(scope="session")
def priolab_front(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """The knobs of the server under test: SERVER, and those of --priolab-knob. A conftest.py may replace the fixture.

    Skips the test without --priolab.
    """
    if not request.config.getoption("--priolab"):
        pytest.skip("needs --priolab")
    server = request.config.getoption("--priolab-server") or request.config.getini("priolab_server")
    knobs = {"SERVER": str(server)}
    for word in request.config.getoption("--priolab-knob"):
        name, equals, value = str(word).partition("=")
        if not equals:
            pytest.fail(f"--priolab-knob={word} is not allowed; allowed: NAME=VALUE", pytrace=False)
        knobs[name] = value
    return knobs


@pytest.fixture
def priolab_link() -> Mapping[str, str]:
    """The knobs of the link: 128 kB/s, 300 ms toward the client. A module or conftest.py may replace the fixture."""
    return {"RATE": "128kbps", "DELAY": "300ms"}


@pytest.fixture(scope="session")
def _priolab_guests(priolab_front: Mapping[str, str]) -> Iterator[None]:  # noqa: ARG001
    """Keeps guests from load to load: the start of a guest takes as long as two loads."""
    from priolab.testbed import keep_guests

    with keep_guests():
        yield


@pytest.fixture
def priolab_load(
    priolab_front: Mapping[str, str],
    priolab_link: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    _priolab_guests: None,
) -> "Callable[..., Loaded]":
    """A function that loads a page, and returns a Loaded: verdict, ledger and frames.

    Its parameters: the page, "maps" by default; dialect="header"; lowat=16384, TCP_NOTSENT_LOWAT in bytes, or None for
    no limit; loads=1, the number of page loads on the connection, of which the last is judged; and further knobs of the
    lab, by name.
    """
    from priolab.client.plan import PlanKind
    from priolab.common.errors import LabError
    from priolab.common.formats.files import FolderError
    from priolab.experiments.commands.trial import Trial
    from priolab.extras.gate.checks import dialect_of
    from priolab.extras.gate.loading import loaded

    results = tmp_path_factory.mktemp("priolab")

    def load_page(
        page: str = "maps", *, dialect: str = "header", lowat: int | None = 16384, loads: int = 1, **knobs: str | int
    ) -> "Loaded":
        __tracebackhide__ = True
        try:
            more = {name: str(value) for name, value in knobs.items()}
            spoken = dialect_of(dialect)
            trial = Trial(plan=PlanKind.LOADS, page=page, dialect=spoken, lowat_bytes=lowat, loads=loads)
            return loaded(priolab_front, priolab_link, results, trial, more)
        except (LabError, FolderError, ValueError) as error:
            said = str(error)
        pytest.fail(f"priolab: {said}", pytrace=False)

    return load_page


def assert_kept(found: "Loaded") -> None:
    """Fails the test unless the order was kept. The message has the verdict, the ledger and the frames."""
    __tracebackhide__ = True
    if not found.kept:
        pytest.fail(f"the order was not kept\n{found}", pytrace=False)
