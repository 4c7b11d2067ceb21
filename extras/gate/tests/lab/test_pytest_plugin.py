"""The pytest plugin for authors of servers, in a session of its own."""

import re
import sys
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.home import IMPORTED_FROM
from priolab.extras.gate.tests.front.folder import front_folder
from priolab.extras.gate.tests.front.scheduler import Fault

pytest_plugins = ["pytester"]

GUIDE = (Path(__file__).parents[4] / "docs/guide/gate.md").read_text()
_MODULE = "priolab.extras.gate.pytest_plugin"
_PLUGIN = ("-p", _MODULE, "-p", "no:cacheprovider", "-p", "no:xdist")
_TESTS = """
from priolab.extras.gate.pytest_plugin import assert_kept

def test_a_late_script(priolab_load):
    assert_kept(priolab_load(SIZE="200k"))
"""


_CACHES = cache_folder().parent


@pytest.fixture(autouse=True)
def caches(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the caches where they are, because pytester sets another home. Print messages once: with CI set, twice."""
    del pytester
    monkeypatch.setenv("XDG_CACHE_HOME", str(_CACHES))
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


def _run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*_PLUGIN, *words)


def test_only_where_it_is_asked_for(pytester: pytest.Pytester) -> None:
    """A project gets the fixtures by a line in its conftest.py, and others get none. Each name says whose it is."""
    others = ["-p", "no:cacheprovider", "-p", "no:xdist", "--fixtures", "-v"]
    shown = pytester.runpytest(*others).outlines
    assert not [line for line in shown if "priolab" in line]
    pytester.makeconftest(f"pytest_plugins = [{_MODULE!r}]")
    shown = pytester.runpytest(*others).outlines
    named = {line.split()[0] for line in shown if "gate/pytest_plugin.py" in line}
    assert named == {"priolab_front", "priolab_link", "priolab_load", "_priolab_guests"}


def test_without_the_option(pytester: pytest.Pytester) -> None:
    """Without --priolab the tests are skipped, with the reason."""
    pytester.makepyfile(_TESTS)
    result = _run(pytester, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs --priolab*"])


def _without_figures(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)


@pytest.mark.usefixtures("guest")
def test_the_example_of_the_guide(pytester: pytest.Pytester) -> None:
    """The guide's files and its first command pass as they are. Without `dialect` the test fails with its message."""
    section = GUIDE.partition("\n## In pytest\n")[2].partition("\n## ")[0]
    conftest, tests = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    name, *words = re.findall(r"^pytest .*$", section, re.MULTILINE)[0].split()
    (message,) = re.findall(r"^```\n(the order was not kept\n.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert name == "pytest"
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_order=tests, test_without=tests.replace('dialect="plain", ', ""))
    result = pytester.runpytest_subprocess(*words)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["test_order.py .*", "test_without.py F*"])
    assert _without_figures(message.partition(" = ")[0]) in _without_figures(result.stdout.str())


@pytest.mark.usefixtures("guest")
def test_a_sound_server(pytester: pytest.Pytester) -> None:
    """The test passes; the server may be named in the settings."""
    front = front_folder(pytester.path / "front")
    pytester.makeini(f"[pytest]\npriolab_server = {front}\n")
    pytester.makepyfile(_TESTS)
    _run(pytester, "--priolab").assert_outcomes(passed=1)


@pytest.mark.usefixtures("guest")
def test_the_message_has_the_ledger(pytester: pytest.Pytester) -> None:
    """A server that buffers fails the test; the message has verdict, ledger, frames, and the folder of all frames."""
    front = front_folder(pytester.path / "front", Fault.BUFFERS)
    pytester.makepyfile(_TESTS)
    result = _run(pytester, "--priolab", f"--priolab-server={front}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "the order was not kept",
            "inverted: *% of the image arrived before the script's first byte*",
            "ledger: the script waited *in the front's output queue*",
            "*HEADERS stream * script, priority: u=2",
            "*DATA of stream * image: *",
            "all frames: */client/events.jsonl",
        ]
    )
    (line,) = (line for line in result.outlines if line.startswith("all frames: "))
    assert Path(line.removeprefix("all frames: ")).stat().st_size > 0


@pytest.mark.usefixtures("guest")
def test_fixtures_can_be_replaced(pytester: pytest.Pytester) -> None:
    """A module's own link takes the place of the usual one, and an assertion on the load shows its ledger, too."""
    front = front_folder(pytester.path / "front", Fault.BUFFERS)
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def priolab_link():
            return {"RATE": "1mbit", "DELAY": "20ms"}

        def test_it(priolab_load):
            found = priolab_load(SIZE="200k")
            assert found.record.scenario.rate_bit_s == 10**6
            assert found.kept, str(found)
        """
    )
    result = _run(pytester, "--priolab", f"--priolab-server={front}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ledger: the script waited *"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--priolab-server=ngnix",), "priolab: SERVER=ngnix is not allowed; allowed: *"),
        (("--priolab-knob=LOWTA=1",), "priolab: LOWTA is not a knob; *"),
        (("--priolab-knob=x",), "*--priolab-knob=x is not allowed; allowed: NAME=VALUE*"),
    ],
)
def test_bad_options(pytester: pytest.Pytester, words: tuple[str, ...], said: str) -> None:
    """A wrong server or knob is one line."""
    pytester.makepyfile(_TESTS)
    result = _run(pytester, "--priolab", *words)
    assert result.ret != 0
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*")


def test_bad_arguments_of_load(pytester: pytest.Pytester) -> None:
    """A wrong argument of `priolab_load` is one line; a knob may be a number."""
    pytester.makepyfile("""
def test_dialect(priolab_load):
    priolab_load(dialect="headre")

def test_number(priolab_load):
    priolab_load(RELOADS=-1)
""")
    result = _run(pytester, "--priolab")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "priolab: dialect headre: a part is unknown or repeated; allowed: parts joined by +: *",
            "priolab: RELOADS=-1 is not allowed; allowed: *",
        ]
    )


def test_nothing_is_imported_before_use(pytester: pytest.Pytester) -> None:
    """Importing the plugin imports no other module of the lab, but for the one that makes its names lazy."""
    program = (
        "import sys; import priolab.extras.gate.pytest_plugin; lazy = {'priolab.common', 'priolab.common.lazy_names'};"
        " print(sorted({name.split('.')[1] for name in {*sys.modules} - lazy if name.startswith('priolab.')}))"
    )
    pytester.makeconftest("")
    done = pytester.run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(IMPORTED_FROM)!r}); {program}")
    assert done.outlines == ["['extras']"]
