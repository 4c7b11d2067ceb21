"""The sandbox as a context manager and as a fixture of pytest."""

import sys
import time
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.errors import LabError, ScenarioError
from priolab.common.home import ROOT
from priolab.testbed.process.command_process import CommandProcess
from priolab.testbed.sandbox.sandbox import ClientFailed, Result, Sandbox

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("guest")

_SERVE = f"{sys.executable} -m http.server 80"
_CACHES = cache_folder().parent
_GET = """
import urllib.request
print(len(urllib.request.urlopen("http://server/data").read()))
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Returns a folder with a file for the server."""
    (tmp_path / "data").write_bytes(bytes(200_000))
    return tmp_path


def _without_ports(result: Result) -> object:
    return result.frames, result.seconds, result.goodput_bit_s, result.retransmissions


def test_values(here: Path) -> None:
    """A result has what the client wrote and took, and what TCP did; knobs may differ from run to run."""
    with Sandbox(RATE="10mbit", DELAY="30ms", server=_SERVE, folder=here) as sandbox:
        get = [sys.executable, "-c", _GET]
        usual = sandbox.run(get).check()
        assert usual.out == "200000\n"
        assert usual.err == ""
        assert "GET /data" in usual.server
        assert 0.16 + 0.06 < usual.seconds < 0.5
        assert usual.retransmissions == 0
        assert sandbox.run(get, LOSS="10%").retransmissions > 0
        assert sandbox.run(get, DELAY="300ms").seconds > usual.seconds + 0.5
        assert _without_ports(sandbox.run(get)) == _without_ports(usual)
        assert sandbox.start(None).run("cat", stdin=b"given").out == "given"
        failed = sandbox.run(["sh", "-c", "echo no luck >&2; exit 3"])
        with pytest.raises(ClientFailed, match=r"^the client ended with exit code 3: no luck$"):
            failed.check()
        with pytest.raises(
            LabError, match=r"^sandbox: the client's program nothing is not found; install it, such as "
        ):
            sandbox.run("nothing")
        with pytest.raises(ScenarioError, match=r"^RATE=fast is not allowed"):
            sandbox.run("true", RATE="fast")


def test_ports_and_random_numbers_follow_from_the_seed_alone(here: Path) -> None:
    """They are the same in a new guest, in a kept one after other programs, with more hosts, and in another folder."""
    connect = "import os, socket; print(*(socket.create_connection(('server', 80)).getsockname()[1] for _ in range(3)))"
    draw = [sys.executable, "-c", f"{connect}; print(os.urandom(8).hex())"]
    (deeper := here / "a/b/c").mkdir(parents=True)
    with Sandbox(server=_SERVE, folder=here, fresh=True) as sandbox:
        new = sandbox.run(draw).check().out
    with Sandbox(server=_SERVE, folder=here) as sandbox:
        sandbox.run(["sleep", "25"])
        sandbox.run(draw, schedule=[("0s", "clock -3600s")])
        assert sandbox.run(draw).check().out == new
    with Sandbox(server=_SERVE, folder=deeper, hosts={f"host{number}": "" for number in range(14)}) as sandbox:
        for capture in (True, here / "all.pcapng"):
            assert sandbox.run(draw, capture=capture).check().out == new
    assert len({*new.split()}) == 4


def _took_s(sandbox: Sandbox) -> float:
    begun_s = time.monotonic()
    sandbox.run("true")
    return time.monotonic() - begun_s


def test_a_kept_guest_is_quick(here: Path, started: list[CommandProcess]) -> None:
    """The next run in a kept guest costs a fraction of a new guest: some 0.2 s on a machine that does nothing else."""
    with Sandbox(folder=here, fresh=True) as sandbox:
        new_s = min(_took_s(sandbox) for _ in range(3))
    assert len(started) == 3
    with Sandbox(folder=here) as sandbox:
        sandbox.run("true")
        kept_s = min(_took_s(sandbox) for _ in range(5))
    assert len(started) <= 4  # a test before this one may have left a guest
    assert kept_s < new_s / 2


def test_a_new_guest_repeats(here: Path) -> None:
    """With fresh=True every run has a guest of its own, and the same random numbers."""
    with Sandbox(folder=here, fresh=True) as sandbox:
        draw = [
            sys.executable,
            "-c",
            "import os, time; print(os.urandom(4).hex(), time.monotonic_ns(), time.time_ns())",
        ]
        assert sandbox.run(draw) == sandbox.run(draw)


def test_the_fixture(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's conftest.py and tests pass, in the folder of the test; a project without the line has no fixture."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(_CACHES))
    guide = (ROOT / "docs/guide/sandbox.md").read_text()
    _, conftest, test, _, steering = (block.partition("\n```")[0] for block in guide.split("```python\n")[1:])
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_it=f"{test}\n\n{steering}")
    options = ("-p", "no:cacheprovider", "-p", "no:xdist")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=2)
    pytester.makeconftest("")
    pytester.runpytest_subprocess(*options).assert_outcomes(errors=2)


_FAILURES = """
SERVE = "{python} -m http.server 80"

def test_code(sandbox):
    sandbox(server=SERVE, DELAY="20ms", seed=5).run(["sh", "-c", "echo first; echo no luck >&2; exit 3"]).check()

def test_server(sandbox):
    sandbox(server="sh -c 'echo broken; exit 7'").run("true")

def test_session(sandbox):
    with sandbox(DELAY="20ms").session() as net:
        net.until(net.host("client").start("echo steered").ends)
        assert net.now < 0

def test_fine(sandbox):
    sandbox().run("echo never shown").check()
"""


def test_a_failure_in_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that fails shows the command that repeats its run, with the seed, and the last lines of each host."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(_CACHES))
    pytester.makeconftest('pytest_plugins = ["priolab.testbed.sandbox.pytest_plugin"]')
    pytester.makepyfile(test_it=_FAILURES.format(python=sys.executable))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(
        [
            "*ClientFailed: the client ended with exit code 3: no luck",
            "* sandbox *",
            "to repeat it: priolab sandbox DELAY=20ms SEED=5 --server '* -m http.server 80' -- sh -c 'echo first; *",
            "Result: exit code 3 after *",
            "client| first",
            "client| no luck",
            "* sandbox *",
            "to repeat it: priolab sandbox SEED=1 --server *",
            "Result: not ended (server) after *",
            "server| broken",
            "* sandbox *",
            "to repeat it: the test's session; the same calls give the same",
            "Result: ended after *",
            "client| steered",
        ]
    )
    assert "never shown" not in done.stdout.str()


def test_what_limited_a_connection(here: Path) -> None:
    """A server with bytes is limited by the link, or by a small window of the client; a client that asks, hardly."""
    with Sandbox(RATE="1mbit", DELAY="20ms", server=_SERVE, folder=here) as sandbox:
        get = [sys.executable, "-c", _GET]
        (usual,) = sandbox.run(get).check().connections
        assert usual.down_limits.most == "network"
        assert usual.down_limits.busy_us == pytest.approx(1_600_000, abs=200_000)
        assert (usual.up_limits.most, usual.up_limits.window_us) in (("network", 0), ("application", 0))
    small = ("client", "net.ipv4.tcp_rmem", "4096 4096 4096")
    with Sandbox(DELAY="200ms", server=_SERVE, folder=here, sysctls=[small]) as sandbox:
        (narrow,) = sandbox.run(get).check().connections
        assert narrow.down_limits.most == "window"


def test_the_guides_example(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's program in Python runs as it is."""
    guide = (ROOT / "docs/guide/sandbox.md").read_text()
    monkeypatch.chdir(here)
    example, _, _, packets, _ = (block.partition("\n```")[0] for block in guide.split("```python\n")[1:])
    exec(example, {})
    exec(packets, {"Sandbox": Sandbox})
    assert (here / "page.svg").read_text().startswith("<svg ")
