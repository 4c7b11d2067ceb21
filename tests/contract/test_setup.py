"""The Makefile and setup.sh: what each target needs of the machine, and the messages where something is missing."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from priolab.common.home import ROOT
from priolab.experiments.setup.python_environment import MADE_OF, PythonEnvironment
from tests.support.make_targets import SETUP, planned, set_up

# The programs of a machine without any package that the lab needs.
PLAIN = ("sh", "dirname", "unshare", "true")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["doctor"], "environment"),
        (["list"], "environment"),
        (["show"], "environment"),
        (["experiment", "LOWAT=16384", "FABRIC=compose"], "environment"),
        (["experiment", "FABRIC=compose", "CAPTURE=yes"], "environment"),
        (["experiment", "FABRIC=netns"], "experiment"),
        (["experiment"], "experiment"),
        (["experiment", "CAPTURE=yes"], "experiment"),
        (["lint"], "lint"),
        (["format"], "lint"),
        (["site"], "site"),
        (["kernel"], "kernel"),
        (["image"], "kernel"),
        (["sbom"], "lint"),
        (["kills"], "test TESTS=core"),
        (["ledgers"], "test TESTS=core SERVER=nginx,h2o,nghttpx CAPTURE=yes"),
    ],
)
def test_what_a_target_needs(words: Sequence[str], part: str) -> None:
    """`doctor`, `list`, `show` and FABRIC=compose need only the Python environment; other targets need more."""
    assert set_up(*words) == [part]


def test_what_tests_need() -> None:
    """Tests need what they say, and the packages of Python for tests. All tests need all."""
    assert set_up("test") == ["test TESTS=core"]
    assert set_up("test-all", "FABRIC=compose") == ["test TESTS=core", "test"]
    assert set_up("test-all", "PASSED=folder") == ["test"]
    assert set_up("test-demo") == ["test TESTS=demo"]


def test_who_needs_everything() -> None:
    """Only tests of everything, and campaigns that draw any server, install all servers and browsers."""
    makefiles = [ROOT / "Makefile", *ROOT.glob("extras/*/targets.mk")]
    rules = [line for file in makefiles for line in file.read_text().splitlines() if re.match(r"[a-z-]+: .*##", line)]
    everything = {line.partition(":")[0] for line in rules if "setup-test" in line.partition("##")[0]}
    assert everything == {"test-all", "test-fast", "honest", "lies", "bench"}
    assert set_up("bench") == ["SERVER=nginx,h2o"], "only a comparison with another checkout needs everything"


def test_what_is_no_knob() -> None:
    """Variables about Python and images are not passed to the lab as knobs; all other words are, even unknown ones."""
    made = planned(
        "experiment",
        "BASE=other:1",
        "SUITE=trixie",
        "MIRROR=http://m/",
        "PYTHON=python3",
        "UPGRADE=yes",
        "USER=lab",
        "NEW=yes",
        "LOWAT=1",
        "RTAE=2",
    )
    (knobs,) = re.findall(r"^PRIOLAB_KNOBS := (.*)$", made, re.MULTILINE)
    assert set(knobs.split()) == {"LOWAT=1", "RTAE=2"}


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Copy the files that setup.sh uses, with a finished Python environment, and a PATH with PLAIN alone."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PLAIN:
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)
    for folder in ("analysis", "common", "experiments", "netem", "proxy", "testbed"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "priolab", tmp_path / "priolab", symlinks=True)
    for file in MADE_OF:
        shutil.copy(ROOT / file, tmp_path / file)
    for entry in tmp_path.glob("proxy/servers/*/server.toml"):  # the set-up also searches /usr/sbin
        entry.write_text(re.sub("^program = .*$", 'program = "not-there"', entry.read_text(), flags=re.MULTILINE))
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / ".venv/bin/python").chmod(0o755)
    (tmp_path / ".venv/bin/priolab").touch()
    environment = PythonEnvironment(tmp_path)
    for extra in ("", "dev"):
        environment.note_as_installed(extra)
    return tmp_path


def _setup(root: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(root / "bin"), "XDG_CACHE_HOME": str(root / "cache"), "PYTHON": sys.executable}
    return subprocess.run(
        [root / SETUP, *words], env=environment | variables, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_bare_machine_gets_a_note(bare: Path) -> None:
    """For the Python environment alone, setup.sh succeeds, and its notes list the missing packages."""
    done = _setup(bare, "environment")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    told = "setup: note: not installed, and FABRIC=compose needs none of it; install what Debian calls "
    assert re.fullmatch(rf"{told}.*\bnodejs\b.*", lines[0])
    assert all(line.startswith("setup: note: ") for line in lines)


@pytest.mark.parametrize("knobs", ["", "FABRIC=netns", r"SERVER=haproxy RESULTS=my\ results"])
def test_a_bare_machine_cannot_have_everything(bare: Path, knobs: str) -> None:
    """If packages cannot be installed, setup.sh exits with 1 and names those that the knobs need."""
    done = _setup(bare, PRIOLAB_KNOBS=knobs)
    assert done.returncode == 1
    first, *others = done.stderr.splitlines()
    assert re.match(r"setup: these packages are missing; install what Debian calls .*\bnodejs\b", first)
    assert ("haproxy" in first) is ("haproxy" in knobs)
    assert ("gcc" in first) is ("netns" not in knobs)
    assert len(others) == ("gcc" in first)  # whether netns would do
    assert not list(bare.glob("cache/priolab/*"))


@pytest.mark.parametrize(
    ("words", "variables", "code", "line"),
    [
        (["tset"], {}, 2, "setup: PART=tset is not allowed; allowed: one of everything, experiment, environment, "),
        (["test", "lint"], {}, 2, "setup: PART=test lint is not allowed; allowed: one of "),
        ([], {"PRIOLAB_KNOBS": "RESULTS='a"}, 2, "setup: make: No closing quotation; knobs are given as NAME=VALUE"),
        ([], {"PYTHON": "no-such-python"}, 1, "setup: there is no no-such-python; install Python 3.11 or newer, or "),
        ([], {"PYTHON": "old"}, 1, "setup: Python 3.9.2 is too old; Python 3.11 or newer is needed: make PYTHON=..."),
        ([], {"XDG_CACHE_HOME": "/dev/null"}, 1, "setup: the cache folder /dev/null/priolab cannot be made: Not a dir"),
    ],
)
def test_one_clear_line(bare: Path, words: list[str], variables: dict[str, str], code: int, line: str) -> None:
    """A wrong part of the set-up, knob, Python or cache folder is refused with one line that says what to do."""
    old = "import sys; sys.version_info = (3, 9, 2); exec(sys.argv.pop(1))"
    (bare / "bin/old").write_text(f"#!/bin/sh\nshift\nexec {sys.executable} -c '{old}' \"$@\"\n")
    (bare / "bin/old").chmod(0o755)
    done = _setup(bare, *words, **variables)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(line)


def test_looking_around_asks_nobody(bare: Path) -> None:
    """`setup.sh environment` prints the apt-get command for missing packages, but runs no apt program."""
    for program in ("apt-get", "apt-cache", "sudo"):
        (bare / "bin" / program).write_text(f'#!/bin/sh\n[ "$1 $2" = "-n true" ] || echo "$0 $*" >>{bare}/asked\n')
        (bare / "bin" / program).chmod(0o755)
    done = _setup(bare, "environment", PRIOLAB_KNOBS="SERVER=h2o")
    assert done.returncode == 0, done.stderr
    assert "apt-get install --no-install-recommends h2o nginx" in done.stderr
    assert not (bare / "asked").exists()


def test_nothing_to_do_is_nothing_said(bare: Path) -> None:
    """If all programs are there, setup.sh prints nothing."""
    for program in ("node", "ip", "ethtool", "not-there"):
        (bare / "bin" / program).symlink_to(shutil.which("true") or "")
    done = _setup(bare, PRIOLAB_KNOBS="FABRIC=netns")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert [line for line in done.stderr.splitlines() if "Debian calls" not in line] == []


@pytest.mark.parametrize(("mode", "said"), [(0o755, "both in one process: environment -- list"), (0o644, "then: list")])
def test_a_command_after_the_set_up(bare: Path, mode: int, said: str) -> None:
    """The interpreter of .venv carries out set-up and command. Without it, .venv's program follows the set-up."""
    python, program = bare / ".venv/bin/python", bare / ".venv/bin/priolab"
    python.write_text('#!/bin/sh\nshift 2\necho "both in one process: $*"\n')
    python.chmod(mode)
    program.write_text('#!/bin/sh\necho "then: $*"\n')
    program.chmod(0o755)
    done = _setup(bare, "environment", "--", "list")
    assert (done.returncode, done.stdout) == (0, f"{said}\n"), done.stderr


def test_a_chosen_interpreter_gets_its_environment(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of another interpreter is to be made anew if the user has chosen one, and stays if not."""
    environment = PythonEnvironment(bare)
    monkeypatch.delenv("PRIOLAB_PYTHON_IS_CHOSEN", raising=False)
    assert not environment.is_to_be_made
    monkeypatch.setenv("PRIOLAB_PYTHON_IS_CHOSEN", "yes")
    assert environment.is_to_be_made
    monkeypatch.setattr("sys.executable", str(environment.python))
    assert not environment.is_to_be_made


def test_make_says_whether_an_interpreter_was_chosen() -> None:
    """PYTHON on make's command line is a choice. In the environment it is not: make itself puts it there for a make
    that it starts, also if nobody has chosen.
    """
    command = ("make", "--no-print-directory", "--eval", "asked: ; @echo $$PRIOLAB_PYTHON_IS_CHOSEN", "asked")
    told = ("PYTHON", "MAKEFLAGS", "PRIOLAB_PYTHON_IS_CHOSEN")
    plain = {name: value for name, value in os.environ.items() if name not in told}
    for words, variables, said in (((), {}, ""), (("PYTHON=a",), {}, "yes"), ((), {"PYTHON": "a"}, "")):
        asked = (*command, *words)
        done = subprocess.run(asked, cwd=ROOT, env=plain | variables, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == said


def test_the_standard_library_is_enough(bare: Path) -> None:
    """The set-up's module imports with the standard library alone, and from another folder."""
    made = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); import priolab.experiments.commands.setup",
    ]
    done = subprocess.run([*made, str(bare)], cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["setup"], []),
        (["sweep"], ["sweep"]),
        (["sweep", "FABRIC=compose"], ["environment"]),
    ],
)
def test_what_compares_servers_needs_them(words: Sequence[str], needed: list[str]) -> None:
    """make calls setup.sh with the servers that a target compares, or else with the part of the set-up needed."""
    (line,) = set_up(*words)
    assert line.split() == needed
