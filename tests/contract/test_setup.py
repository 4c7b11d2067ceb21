"""The Makefile and setup.sh: which targets need what of the machine, and what is said where it is missing."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from proxy.server import catalogue

ROOT = Path(__file__).resolve().parents[2]
SETUP = "experiments/setup.sh"
# What a machine has without any package of the lab's.
PLAIN = ("sh", "cat", "cksum", "dirname", "grep", "head", "id", "ls", "mktemp", "rm", "sed", "tail", "uname")


def _make(*words: str) -> str:
    """What make would do, and its variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--print-data-base", "--dry-run", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["doctor"], " environment"),
        (["list"], " environment"),
        (["show"], " environment"),
        (["experiment", "LOWAT=16384", "FABRIC=compose"], " environment"),
        (["experiment", "FABRIC=compose", "CAPTURE=yes"], " environment"),
        (["experiment", "FABRIC=netns"], ""),
        (["experiment"], ""),
        (["experiment", "CAPTURE=no"], ""),
        (["experiment", "CAPTURE=yes"], " capture"),
        (["reproduce"], ""),
        (["reproduce", "FABRIC=compose"], " environment"),
        (["notebook"], " notebook"),
        (["test"], " test"),
        (["test", "FABRIC=compose"], " test"),
        (["lint"], " lint"),
        (["format"], " lint"),
    ],
)
def test_what_a_target_needs(words: Sequence[str], part: str) -> None:
    """Looking around, and experiments in containers, need the Python environment only; captures and tests need more."""
    assert re.findall(rf"^{SETUP}(.*)$", _make(*words), re.MULTILINE) == [part]


def test_what_is_no_knob() -> None:
    """Words about Python and images are not handed to the lab as knobs; anything else is, known or not."""
    made = _make(
        "experiment", "BASE=other:1", "SUITE=trixie", "MIRROR=http://m/", "PYTHON=python3", "LOWAT=1", "RTAE=2"
    )
    (knobs,) = re.findall(r"^PRIOLAB_KNOBS := (.*)$", made, re.MULTILINE)
    assert set(knobs.split()) == {"LOWAT=1", "RTAE=2"}


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ([], "docs/matrix.md"),
        (["REUSE=no"], "docs/matrix.md"),
        (["SERVER=h2o"], "results/matrix.md"),
        (["DIALECT=plain", "RESULTS=elsewhere"], "elsewhere/matrix.md"),
    ],
)
def test_a_part_is_not_the_document(words: Sequence[str], file: str) -> None:
    """docs/matrix.md is all of the matrix or is left alone."""
    assert re.findall(r"^\.venv/bin/priolab matrix --from-make (.*)$", _make("matrix", *words), re.MULTILINE) == [file]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A copy of what setup.sh looks at, its environment made already, and a bin with next to nothing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PLAIN:
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)
    entries = [str(server.template.with_name("server.toml").relative_to(ROOT)) for server in catalogue().values()]
    for file in ("pyproject.toml", "constraints.txt", SETUP, "proxy/entry.sh", *entries):
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / file, tmp_path / file)
    together = b"".join((tmp_path / file).read_bytes() for file in ("pyproject.toml", "constraints.txt", SETUP))
    checksum = subprocess.run([programs / "cksum"], input=together, capture_output=True, check=True).stdout.decode()
    (tmp_path / ".venv").mkdir()
    for mark in (".installed", ".installed-dev"):
        (tmp_path / ".venv" / mark).write_text(f"{checksum.strip()} {tmp_path}")
    return tmp_path


def test_all_packages_and_their_files_are_named() -> None:
    """What pyproject.toml would install has every package of the tree, and every file of the demo's page."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    roots = {name.partition(".")[0] for name in tools["packages"]}
    there = {
        ".".join(file.parent.relative_to(ROOT).parts) for name in roots for file in (ROOT / name).rglob("__init__.py")
    }
    assert set(tools["packages"]) == there
    named = {file for pattern in tools["package-data"]["experiments"] for file in (ROOT / "experiments").glob(pattern)}
    others = {file for file in (ROOT / "experiments/demo").rglob("*.*") if file.suffix not in (".py", ".pyc")}
    assert named >= others


def _setup(root: Path, *words: str, knobs: str = "") -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": str(root / "bin"),
        "XDG_CACHE_HOME": str(root / "cache"),
        "PYTHON": sys.executable,
        "PRIOLAB_KNOBS": knobs,
    }
    return subprocess.run(
        [root / SETUP, *words], env=environment, capture_output=True, text=True, timeout=20, check=False
    )


def test_a_bare_machine_gets_a_note(bare: Path) -> None:
    """The environment is enough; what else is missing, what does without, and how it is installed, in a few lines."""
    done = _setup(bare, "environment")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert re.fullmatch(r"setup: note: not installed:.* nodejs .*; FABRIC=compose needs none of them", lines[0])
    assert "install them with" in lines[1]
    assert all(line.startswith("setup: note: ") for line in lines)


def test_a_bare_machine_cannot_have_everything(bare: Path) -> None:
    """Where nothing can be installed, the rest ends here."""
    done = _setup(bare)
    assert done.returncode == 1
    assert re.match(r"setup: these packages are missing:.* nodejs ", done.stderr)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], set()),
        (["environment"], set()),
        (["capture"], {"tcpdump", "wireshark-common"}),
        (["test"], {"tcpdump", "wireshark-common", "tshark"}),
    ],
)
def test_wireshark_is_for_those_who_want_it(bare: Path, words: Sequence[str], wanted: set[str]) -> None:
    """An ordinary set-up neither installs nor misses it; for a capture all that is missing stands in one line."""
    line = _setup(bare, *words).stderr.splitlines()[0]
    assert {"tcpdump", "wireshark-common", "tshark"} & set(re.split("[ ;]", line)) == wanted


@pytest.mark.parametrize(
    ("words", "knobs", "wanted"),
    [
        ([], "", False),
        (["environment"], "LOWAT=1", False),
        (["capture"], "CLIENT=h2", False),
        ([], "CLIENT=chromium LOWAT=1", True),
        ([], "CLIENT=h2,chromium", True),
        (["chromium"], "", True),
        (["test"], "", True),
    ],
)
def test_a_browser_is_for_those_who_want_it(bare: Path, words: Sequence[str], knobs: str, *, wanted: bool) -> None:
    """An ordinary set-up neither installs nor misses it."""
    line = _setup(bare, *words, knobs=knobs).stderr.splitlines()[0]
    assert ("chromium" in re.split("[ ;]", line)) is wanted


_BASE = {name for name, server in catalogue().items() if server.base}
_PACKAGED = {name for name, server in catalogue().items() if not server.npm}
"""Those with packages of their own; Node is everybody's."""


@pytest.mark.parametrize(
    ("words", "knobs", "wanted"),
    [
        ([], "", _BASE),
        (["environment"], "LOWAT=1", _BASE),
        (["lint"], "", _BASE),
        (["servers"], "", _BASE),
        (["test"], "", _BASE),
        *(([], f"LOWAT=16384 SERVER={name}", _BASE | {name}) for name in sorted(_PACKAGED)),
        (["environment"], "SERVER=" + ",".join(sorted(_PACKAGED)), _PACKAGED),
        (["capture"], "SERVER=no-such-server", _BASE),
    ],
)
def test_a_server_is_for_those_who_want_it(bare: Path, words: Sequence[str], knobs: str, wanted: set[str]) -> None:
    """The base set always, another when it is asked for; unknown ones are left to the lab."""
    for entry in bare.glob("proxy/servers/*/server.toml"):  # setup.sh looks into this machine's /usr/sbin, too
        entry.write_text(re.sub("^program = .*$", 'program = "not-there"', entry.read_text(), flags=re.MULTILINE))
    missing = set(re.split("[ ;]", _setup(bare, *words, knobs=knobs).stderr.splitlines()[0]))
    packages = {name: set(server.packages) for name, server in catalogue().items() if name in _PACKAGED}
    assert missing & set().union(*packages.values()) == set().union(*(packages[name] for name in wanted))


@pytest.fixture
def furnished(bare: Path) -> Path:
    """With what the base set needs; there are no other servers, no npm, and nothing can be installed."""
    for entry in bare.glob("proxy/servers/*/server.toml"):
        if entry.parent.name not in _BASE:
            entry.write_text(re.sub("^program = .*$", 'program = "not-there"', entry.read_text(), flags=re.MULTILINE))
    (bare / ".venv/bin").mkdir()
    for file, content in (
        ("bin/priolab", ""),
        (".venv/bin/priolab", ""),
        (".venv/bin/python", "echo npm: it cannot be had >&2; exit 1"),
    ):
        (bare / file).write_text(f"#!/bin/sh\n{content}\n")
        (bare / file).chmod(0o755)
    tools = ("node", "ip", "ethtool", "tcpdump", "editcap", "tshark", "chromium")
    for program in (*(catalogue()[name].program for name in _BASE), *tools):
        (bare / "bin" / program).symlink_to("priolab")
    (bare / "cache/priolab").mkdir(parents=True)
    (bare / "cache/priolab/linux-6.1-0").touch()
    return bare


def _notes(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What is missing, of a set-up that went on all the same; how that is installed left out."""
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert all(re.match("setup: (note|npm): ", line) for line in lines), lines
    return [line for line in lines if "install them with" not in line and "Debian's names" not in line]


def test_what_can_be_done_without_is_no_reason_to_stop(furnished: Path) -> None:
    """Where the compiler of the kernel's tuner cannot be installed, that is a note, and the set-up goes on."""
    (note,) = _notes(_setup(furnished))
    assert re.match(r"setup: note: not installed: gcc-bpf.*; without, LOWAT=auto works from beside the front", note)


@pytest.mark.parametrize("words", [["servers"], ["test"]])
def test_a_server_that_cannot_be_had_is_no_reason_to_stop(furnished: Path, words: Sequence[str]) -> None:
    """Nor are those that nobody has asked for by name; the tests have use for packages of npm, the matrix has none."""
    notes = _notes(_setup(furnished, *words))
    absent = sorted(name for name in _PACKAGED - _BASE)
    assert f"without, there is no SERVER={','.join(absent)}" in notes[0]
    assert ["setup: note: without, there is no SERVER=spdy" in notes] == [words == ["test"]]


@pytest.mark.parametrize("words", [["lint"], ["test"]])
def test_packages_that_check_the_page_cannot_be_had(furnished: Path, words: Sequence[str]) -> None:
    """That is told, and what it means."""
    notes = _notes(_setup(furnished, *words))
    assert notes[-2:] == ["setup: npm: it cannot be had", "setup: note: without, the demo's page is not checked"]


def test_of_the_matrix_a_part_needs_a_part(furnished: Path) -> None:
    """What it is not about is not installed for it."""
    assert not any("SERVER=" in note for note in _notes(_setup(furnished, "servers", knobs="SERVER=h2o")))


@pytest.mark.parametrize(("server", "package"), [("spdy", "npm"), ("haproxy", "haproxy")])
def test_what_is_asked_for_is_needed(furnished: Path, server: str, package: str) -> None:
    """There the set-up ends."""
    done = _setup(furnished, "test", knobs=f"SERVER={server}")
    assert done.returncode == 1
    assert re.match(rf"setup: these packages are missing:.* {package}\n", done.stderr)
