"""Odd surroundings in which people start the lab: each has a result, or an error of one line, and leaves nothing."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from priolab.common.home import ROOT
from tests.support.endings import nothing_is_left
from tests.support.lab import Lab, priolab_here

_TINY = ("FABRIC=virtual", "CONTROL=no", "SIZE=20480", "RELOADS=0", "RATE=1mbit", "DELAY=5ms", "SAMPLE=none")
_NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
_BYTES = "bad\udcff"


@dataclass(frozen=True, kw_only=True)
class Odd:
    """Surroundings of a run, and what comes of them.

    words: further words of the command. variables: of the environment; a value that begins with @ is a folder to make
    for the test. before: shell commands before it. after: redirections. results: the name of the results folder, or a
    path. code: the exit code. says: a part of the error's line; an empty text for no error.
    """

    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    after: str = ""
    results: str = "results"
    code: int = 0
    says: str = ""


def _refused(word: str, allowed: str) -> Odd:
    return Odd(words=(word,), code=2, says=allowed)


_SAYS_BYTES = r"""mkdir made
printf '#!/bin/sh\nprintf "\\377\\n" >&2\nexec nginx "$@"\n' >made/nginx
chmod +x made/nginx
"""
_LIMIT = "raise this limit of the shell"
_FOLDER = "allowed: a folder that can be written; each name in the path printable"
SURROUNDINGS = {
    # paths
    "a quote and a dollar sign": Odd(results="it's $HOME"),
    "double quotes and backquotes": Odd(results='a "b" `id`'),
    "braces, a backslash and a percent sign": Odd(results="{x} @{y} \\N %s"),
    "a number sign, a semicolon, a comma and an ampersand": Odd(results="#a;b,c&d"),
    "other letters than those of ASCII": Odd(results="ünï 例"),
    "a path like an option": Odd(results="-x"),
    "a tilde that no shell has expanded": Odd(results="~"),
    "a path of bytes": Odd(results=_BYTES, code=2, says=_FOLDER),
    "a path of two lines": Odd(results="new\nline", code=2, says=_FOLDER),
    "a path with a tab": Odd(results="tab\there", code=2, says=_FOLDER),
    "a path that colours a terminal": Odd(results="\x1b[31mred", code=2, says="\\x1b[31mred"),
    "a name of 255 letters": Odd(results="n" * 255, code=2, says=_FOLDER),
    "results below a file": Odd(results="/dev/null/x", code=1, says="/dev/null/x cannot be written"),
    "results in /proc": Odd(results="/proc/x", code=1, says="/proc/x cannot be written"),
    "no path": Odd(words=("RESULTS=",), code=2, says=_FOLDER),
    "a current folder of bytes": Odd(before=f"mkdir {_BYTES}; cd {_BYTES};"),
    "a current folder that is gone": Odd(before="mkdir gone; cd gone; rmdir ../gone;", code=1, says="current folder"),
    "temporary files in a folder with a space": Odd(variables={"TMPDIR": "@a b"}),
    "temporary files in a folder with a quote": Odd(variables={"TMPDIR": "@it's $x"}),
    "temporary files in a long path": Odd(variables={"TMPDIR": f"@{'n' * 120}"}),
    "no folder for temporary files": Odd(variables={"TMPDIR": "/nonexistent"}),
    # limits
    "ulimit -v for no guest": Odd(before="ulimit -v 400000;", code=1, says=f"584 MiB are needed; {_LIMIT}"),
    "ulimit -v for a guest, not for figures": Odd(before="ulimit -v 1000000;"),
    "ulimit -d for no figures": Odd(before="ulimit -d 50000;"),
    "ulimit -f for no guest": Odd(before="ulimit -f 100000;", code=1, says="`ulimit -f` allows 97 MiB"),
    "ulimit -n": Odd(before="ulimit -n 40;", code=1, says="`ulimit -n` allows 40, and 128 are needed"),
    "ulimit -s": Odd(before="ulimit -s 200;"),
    "ulimit -l": Odd(before="ulimit -l 0;"),
    "umask 777": Odd(before="umask 777;", code=0 if os.geteuid() == 0 else 1),
    "no standard input": Odd(after="<&-"),
    "no standard output": Odd(after=">&-"),
    "no standard error": Odd(after="2>&-"),
    "no stream at all": Odd(after="<&- >&- 2>&-"),
    "a full standard output": Odd(after=">/dev/full", code=1, says="writing: No space left on device"),
    "ignored signals": Odd(before="trap '' PIPE CHLD INT HUP;"),
    # locales and other variables
    "LC_ALL=C": Odd(variables={"LC_ALL": "C"}),
    "LC_ALL=C without UTF-8 mode": Odd(variables=_NO_UTF8),
    "LC_ALL=C without UTF-8 mode, and other letters": Odd(variables=_NO_UTF8, results="ünï"),
    "output in ASCII": Odd(variables={"PYTHONIOENCODING": "ascii"}),
    "a variable of bytes": Odd(variables={"FOO": "\udcff", "LANG": "\udcfe"}),
    "a relative HOME": Odd(variables={"HOME": "home", "XDG_CACHE_HOME": ""}),
    "a relative cache": Odd(variables={"XDG_CACHE_HOME": "cache"}),
    "an unknown terminal": Odd(variables={"TERM": "nonsense", "COLUMNS": "abc", "LINES": "0"}),
    "an unknown time zone": Odd(variables={"TZ": "Mars/Olympus"}),
    "options for Node": Odd(variables={"NODE_OPTIONS": "--nonsense"}),
    "options for Python": Odd(
        variables={"PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONPATH": "/nonexistent"}
    ),
    "a proxy and an engine that do not answer": Odd(
        variables={"http_proxy": "http://127.0.0.1:1", "DOCKER_HOST": "tcp://127.0.0.1:1"}
    ),
    "a program whose output is no text": Odd(words=("PROGRAM=made/nginx",), before=_SAYS_BYTES),
    "no PATH": Odd(variables={"PATH": ""}, code=1, says="is not installed; run `"),
    # values
    "blanks around a value": Odd(words=("LOWAT= 16384\n",)),
    "a blank in a value": _refused("RATE=1 mbit", "allowed: a tc rate"),
    "two words in a value": _refused("LOWAT=5 LOWAT=6", "allowed: 1 to 4294967295 bytes"),
    "two lines in a value": _refused("PAGE=x\ny.toml", "PAGE=x\\ny.toml is not allowed"),
    "no name": _refused("=5", "an empty name is not a knob"),
    "digits of another script": _refused("SEED=٣", "allowed: 0 to 4294967295"),
    "no number": _refused("LOSS=nan%", "allowed: 0% to 50%"),
    "a number without end": _refused(f"RATE={'9' * 5000}mbit", "(5004 characters) is not allowed"),
    "a value of bytes": _refused("LOWAT=\udcff", "allowed: 1 to 4294967295 bytes"),
    "a value that colours a terminal": _refused("RATE=\x1b[31m1mbit", "RATE=\\x1b[31m1mbit is not allowed"),
    "a file without end": _refused("TRACE=/dev/zero", "it has more than 67108864 bytes"),
    "a device as a configuration": _refused("CONFIG=/dev/zero", "it is not a regular file"),
    "a folder as a program": Odd(words=("PROGRAM=/",), code=1, says="it is a folder"),
    "a path out of the catalogue": _refused("SERVER=../nginx", "allowed: the path of a server's folder"),
}


_ALWAYS = {
    "a quote and a dollar sign",
    "other letters than those of ASCII",
    "temporary files in a folder with a quote",
    "ulimit -v for a guest, not for figures",
    "umask 777",
    "no stream at all",
    "LC_ALL=C without UTF-8 mode, and other letters",
    "options for Python",
}
"""Of the surroundings in which a run succeeds, those that are tried before each change; the others before a release."""


def _marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    return () if name in _ALWAYS or SURROUNDINGS[name].code else (pytest.mark.release,)


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in SURROUNDINGS])
def test_surroundings(lab: Lab, name: str) -> None:
    """A run in odd surroundings succeeds without an error, or says in one line what is wrong; nothing is left."""
    odd = SURROUNDINGS[name]
    before = {path.name for path in lab.root.iterdir()}
    done = _in(odd, lab)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == odd.code, done.stdout + done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("priolab: ")]  # other lines are progress
    assert len(told) == (1 if odd.says else 0), told
    assert odd.says in "".join(told)
    nothing_is_left(lab)
    shutil.rmtree(lab.root / "made", ignore_errors=True)
    mine = {odd.results.partition("/")[0], _BYTES}
    assert {path.name for path in lab.root.iterdir()} - before <= mine
    if odd.code == 2:
        assert not list((lab.root / odd.results).glob("*/*/run.json"))


def test_their_number() -> None:
    """The table has sixty lines or more."""
    assert len(SURROUNDINGS) >= 60
    assert {*SURROUNDINGS} > _ALWAYS


def _in(odd: Odd, lab: Lab) -> subprocess.CompletedProcess[str]:
    results = os.path.join(lab.root, odd.results)  # noqa: PTH118 - as written, with every byte
    words = ("run", f"RESULTS={results}", *_TINY, "LOWAT=16384", *odd.words, "--print-folder")
    if odd.code == 2 and not (odd.variables or odd.before or odd.after):
        return priolab_here(*words, temporary=lab.temporary)
    variables = {name: _made(lab, value) for name, value in odd.variables.items()}
    command = shlex.join([sys.executable, "-m", "priolab.experiments", *words])
    script = f"{odd.before} exec {command} {odd.after}".encode(errors="surrogateescape")
    return subprocess.run(
        [b"/bin/bash", b"-c", script],
        env=lab.environment | variables,
        cwd=lab.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )


def _made(lab: Lab, value: str) -> str:
    if not value.startswith("@"):
        return value
    folder = lab.root / "made" / value[1:]
    folder.mkdir(parents=True)
    return str(folder)


@pytest.mark.usefixtures("guest")
def test_a_checkout_with_a_quote_and_a_dollar_sign(lab: Lab) -> None:
    """The lab's files may be in such a folder, and the results in the folder `results` beside them."""
    checkout = lab.root / """it's $HOME "a" `id`"""
    for name in ("priolab", "analysis", "backend", "client", "common", "experiments", "netem", "proxy", "testbed"):
        shutil.copytree(ROOT / name, checkout / name, symlinks=True)
    done = subprocess.run(
        [sys.executable, "-m", "priolab.experiments", "run", *_TINY],
        env=lab.environment | {"PYTHONPATH": str(checkout)},
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((checkout / "results").glob("maps-*/timeline.png"))) == 1
    nothing_is_left(lab)
