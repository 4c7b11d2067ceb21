"""Searches of seeds in guests: a planted bug is found, its faults become simple, and what is printed fails again."""

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.home import ROOT
from priolab.testbed.sandbox.sandbox import Result, Sandbox

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("guest")

_ELECTION = ROOT / "docs/examples/sandbox"
_PRIOLAB = (sys.executable, "-m", "priolab.experiments")
_PYTHON = f"{sys.executable} -I -S"
_CACHES = cache_folder().parent

# The client fails if three of its ten datagrams in a row do not come back, as a bug would have it.
_PATIENT = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    if sys.argv[1] == "serve":
        end.bind(("", 80))
        while True:
            end.sendto(b"", end.recvfrom(10)[1])
    end.settimeout(0.1)
    lacking = 0
    for _ in range(20):
        end.sendto(b"", ("server", 80))
        try:
            end.recv(10)
            lacking = 0
            time.sleep(0.1)
        except TimeoutError:
            lacking += 1
            if lacking == 3:
                sys.exit("nobody there")
    print("done")
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the program."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "patient.py").write_text(_PATIENT)
    return folder


def _command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_PRIOLAB, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_a_planted_bug_is_found() -> None:
    """A voter that forgets its vote makes two leaders: a few seeds find it, and one cut of one host is left."""
    found = _command(_ELECTION, "sandbox", "election.toml", "--seeds", "18..25", "--jobs", "2")
    assert found.returncode == 1, found.stderr
    assert re.match(r"(priolab: )?seed 18 fails: the client exits 1\n\d of 8 seeds tried in ", found.stderr)
    assert "faults: it draws 4, of which 1 is left after" in found.stderr
    assert "client| two leaders in term 1: c and b\nto repeat it:\n" in found.stderr
    command = found.stdout.removeprefix("priolab ").removesuffix(" </dev/null\n")
    words = shlex.split(command)
    assert words.count("--at") <= 3
    again = [_command(_ELECTION, *words) for _ in range(2)]
    assert {(each.returncode, each.stderr.count("two leaders in term 1: c and b")) for each in again} == {(1, 1)}
    sound = [word.removesuffix(" forget") for word in words]
    assert _command(_ELECTION, *sound).returncode == 0


def test_a_search_in_python(here: Path) -> None:
    """The first seed that fails does not depend on how many runs are side by side; an invariant may look at packets."""
    with Sandbox(server=f"{_PYTHON} patient.py serve", folder=here, DELAY="10ms") as sandbox:
        client = f"{_PYTHON} patient.py talk"
        faults = "hold, stop server, LOSS<=5%, faults<=2, length<=2s, within<=1s"
        one, two = (
            sandbox.search(
                client, seeds=range(3, 9), faults=faults, fails=lambda result: "nobody" in result.err, jobs=jobs
            )
            for jobs in (1, 2)
        )
        assert one is not None
        assert two is not None
        assert (one.seed, one.schedule, one.result) == (two.seed, two.schedule, two.result)
        assert one.result.err == "nobody there\n"
        assert len(one.schedule) <= 2
        assert {event.split()[0] for _, event in one.schedule} <= {"hold", "stop"}
        assert repr(one).startswith(f"FailingSeed: seed {one.seed} with ")
        assert sandbox.last == one.result
        repeated = sandbox.run(client, schedule=one.schedule, SEED=one.seed)
        assert (repeated.code, repeated.out, repeated.err) == (1, "", "nobody there\n")

        def lost(result: Result) -> None:
            assert not [packet for packet in result.packets("server") if packet.lost]

        assert sandbox.search(client, seeds=range(1, 3), fails=lost, capture=True) is None
        lossy = sandbox.search(client, seeds=range(1, 9), fails=lost, capture=True, LOSS="10%")
        assert lossy is not None
        assert lossy.schedule == ()
        assert lossy.result.losses


def test_no_seed_fails(here: Path) -> None:
    """The search says how many it has tried, and how many a minute; hosts' words are expected as in one run."""
    words = ("--server", f"{_PYTHON} patient.py serve", "--", *_PYTHON.split(), "patient.py", "talk")
    fine = _command(here, "sandbox", "--seeds", "1..4", "--expect", "client prints done", *words)
    assert fine.returncode == 0, fine.stderr
    assert re.search(r"no seed of 1\.\.4 fails: 4 of 4 seeds tried in [\d.]+ s, \d+ a minute\n$", fine.stderr)
    never = _command(here, "sandbox", "--seeds", "5..8", "--never", "client prints done", *words)
    assert never.returncode == 1
    assert "seed 5 fails: expected: client never prints 'done', but it did in its line 1" in never.stderr
    assert "--never 'client prints done'" in never.stdout
    lack = _command(here, "sandbox", "--seeds", "5..8", "--jobs", "1", "--", "nothing-of-this-name")
    assert lack.returncode == 1
    assert "seed 5: the client's program nothing-of-this-name is not found" in lack.stderr


def test_ctrl_c_ends_at_once(here: Path) -> None:
    """An interrupted search says how far it came and how to go on, and leaves nothing."""
    words = ("--server", f"{_PYTHON} patient.py serve", "--", *_PYTHON.split(), "patient.py", "talk")
    search = subprocess.Popen(
        [*_PRIOLAB, "sandbox", "--seeds", "1..1000", "--jobs", "1", *words],
        cwd=here,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    begun_s = time.monotonic()
    search.send_signal(signal.SIGINT)
    _, said = search.communicate(timeout=30)
    assert time.monotonic() - begun_s < 5
    assert search.returncode == 130
    assert re.search(r"\d+ of 1000 seeds tried in .* none of them has failed.*; --seeds \d+\.\.1000 goes on\n", said)


_TESTS = """
import sys
import pytest

SERVE = f"{sys.executable} -I -S patient.py serve"
TALK = f"{sys.executable} -I -S patient.py talk"

@pytest.mark.seeds(range(SEEDS), faults="hold, faults<=1, length<=1s, within<=0s")
def test_it(sandbox):
    sandbox(server=SERVE, DELAY="10ms").run(TALK).check()

@pytest.mark.seeds(2)
def test_fine(sandbox, tmp_path):
    sandbox(server=SERVE).run(TALK).check()

@pytest.mark.seeds("many")
def test_bad(sandbox):
    pass
"""


def test_seeds_in_pytest(pytester: pytest.Pytester, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test with seeds is one test, whose failure has the seed, the command to repeat it, and what the hosts wrote."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(_CACHES))
    pytester.makeconftest('pytest_plugins = ["priolab.testbed.sandbox.pytest_plugin"]')
    pytester.makepyfile(test_it=_TESTS.replace("SEEDS", "7, 12"))
    (pytester.path / "patient.py").write_text(_PATIENT)
    options = ("-p", "no:cacheprovider", "-p", "no:xdist", "--strict-markers")
    done = pytester.runpytest_subprocess(*options)
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(
        [
            "*ClientFailed: the client ended with exit code 1: nobody there",
            "*seed *; only this seed: pytest test_it.py::test_it --sandbox-seed *",
            "*to repeat it: priolab sandbox DELAY=10ms SEED=* --at * 'hold client server' *",
            "client| nobody there",
            "the mark seeds of test_it.py::test_bad is not seeds(COUNT) or seeds(range(FIRST, END)), and faults=*",
        ]
    )
    (seed,) = {*re.findall(r"--sandbox-seed (\d+)", done.stdout.str())}
    (command,) = re.findall(r"to repeat it: (.*) </dev/null", done.stdout.str())
    only = pytester.runpytest_subprocess(*options, "--sandbox-seed", seed, "-k", "test_it")
    assert command in only.stdout.str()
    repeated = _command(here, *shlex.split(command)[1:])
    assert (repeated.returncode, repeated.stderr.strip()) == (1, "nobody there")
