"""Tests of the scripts with which shells complete the lab's command line."""

import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from priolab.experiments.cli import main, whole_command_line
from priolab.experiments.commands.options import all_knobs
from priolab.experiments.completion_command import SHELLS, script, values
from priolab.experiments.scenario.named import catalogue

_REPLIES = """
compopt() { echo "$*" >&2; }
COMP_LINE=$1 COMP_POINT=${#1}
_priolab
printf '%s\\n' "${COMPREPLY[@]}"
"""
_PATIENCE_S = 20


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the script for bash."""
    file = tmp_path_factory.mktemp("completion") / "priolab"
    file.write_text(script("bash"))
    return file


def _replies(bash: Path, line: str, before: str = "") -> tuple[list[str], str]:
    """Return what bash offers at the end of a line, and the options that the script sets for it."""
    program = f"{before}\nset -u\n. {shlex.quote(str(bash))}\n{_REPLIES}"
    done = subprocess.run(["bash", "-c", program, "-", line], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.split(), done.stderr.strip()


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("priolab ru", ["run"]),
        ("priolab sho", ["show"]),
        ("priolab run LOW", ["LOWAT="]),
        ("priolab run LOWAT=", ["none", "auto"]),
        ("priolab run SERVER=h", ["h2o", "haproxy", "haproxy-h3"]),
        ("priolab run SERVER=nginx,h", ["nginx,h2o", "nginx,haproxy", "nginx,haproxy-h3"]),
        ("priolab run LOWAT=16384 modem FABRIC=v", ["virtual"]),
        ("priolab run --server nginx CC=", ["cubic", "bbr", "reno"]),
        ("priolab run --server h", ["h2o", "haproxy", "haproxy-h3"]),
        ("priolab run --print", ["--print-folder"]),
        ("priolab run SCENARIO=mod", ["modem"]),
        ("priolab run mod", ["modem"]),
        ("priolab sweep CC=bbr,r", ["bbr,reno"]),
        ("priolab export --to p", ["perfetto", "parquet"]),
        ("priolab setup note", ["notebook"]),
        ("priolab trace ", ["make", "convert"]),
        ("priolab completion ", list(SHELLS)),
    ],
)
def test_bash(bash: Path, line: str, replies: list[str]) -> None:
    """Bash replaces what follows the last `=`, so the replies have only that. A name of a knob gets no space."""
    offered, options = _replies(bash, line)
    assert offered == replies
    assert ("-o nospace" in options) == (replies == ["LOWAT="])


def test_a_command_offers_only_its_knobs(bash: Path) -> None:
    """A knob that a command refuses is not offered."""
    assert _replies(bash, "priolab run QDI")[0] == ["QDISC="]
    assert _replies(bash, "priolab roots QDI")[0] == []


def test_bash_without_the_equals_sign_among_its_breaks(bash: Path) -> None:
    """Where the user's bash does not break words at `=`, the reply is the whole word."""
    assert _replies(bash, "priolab run CC=r", before="COMP_WORDBREAKS=' '")[0] == ["CC=reno"]


def test_a_terminal(bash: Path, tmp_path: Path) -> None:
    """In a real bash, the tabulator completes a command, a knob and a value."""
    given, start = tmp_path / "given", tmp_path / "start"
    start.write_text(f'. {shlex.quote(str(bash))}\npriolab() {{ echo "$@" >{shlex.quote(str(given))}; exit; }}\n')
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"priolab ru\tSERVE\tlig\tFABR\tvirt\t--capt\ty\t\n")
        shell = ["bash", "--noprofile", "--rcfile", str(start), "-i"]
        subprocess.run(shell, stdin=theirs, stdout=theirs, stderr=theirs, timeout=_PATIENCE_S, check=True)
    finally:
        os.close(ours)
        os.close(theirs)
    assert given.read_text().split() == ["run", "SERVER=lighttpd", "FABRIC=virtual", "--capture", "yes"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_all(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`priolab completion` prints a script with every command, and every option and value of a knob."""
    assert main(["completion", shell]) == 0
    made = capsys.readouterr().out
    for name in whole_command_line()[1]:
        assert re.search(rf"\b{re.escape(name)}\b", made), name
    for knob in all_knobs():
        option = knob.name.lower().replace("_", "-")
        assert f"--{option}" in made or f"-l {option} " in made
        for value in ("", *values(knob)):
            assert f"{knob.name}={value}" in made


def test_the_values_of_knobs() -> None:
    """The values are the words among the allowed ones; a knob takes each."""
    of = {knob.name: values(knob) for knob in all_knobs()}
    assert of["LOWAT"] == ["none", "auto"]
    assert of["FABRIC"] == ["auto", "virtual", "compose", "netns"]
    assert of["PROGRAM"] == ["stock"]
    assert of["SCENARIO"] == list(catalogue())
    assert {"maps", "news"} <= {*of["PAGE"]}
    assert {"nginx", "h2o", "go"} <= {*of["SERVER"]}
    assert of["RESULTS"] == of["DELAY"] == []
    for knob in all_knobs():
        for value in of[knob.name]:
            knob.parse(value)
