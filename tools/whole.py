"""Runs tests: `python -m tools.whole [core | rest [PASSED] | PART]`, for make test, test-all and test-PART.

    core    the core, with the servers and packages that the experiment needs and no others
    rest    all that `core` has not passed: other servers, browsers, containers, most whole experiments, the extras.
            PASSED: a folder with notes of what passed elsewhere, by commit (tools/suites)
    PART    the tests of an extra, or of the sandbox

The exit code is 0 if all have passed. Tests marked `release` are run with WHOLE=yes in the environment, or as tests of
a part. Rules:

1. Each process of pytest loads all tests, so they are compiled beforehand, also if the environment says that Python is
   to write no compiled files.
2. Tests that are not marked `punctual` are divided among processes, two for each processor, as tests often wait.
3. Then tests marked `punctual` run on real clocks, in two processes that take about the same time: in one those in
   containers and those with Firefox, in the other all others. The output of the first process is shown when it
   has ended, all other output as it comes.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from priolab.common.process.processes import die_with_parent
from tests.support.selection import CORE, LEFT_OUT, PASSED, REST, counted, forget, parts, take_over
from tools.reports import summary

_KEPT = Path(".pytest_cache")
_PER_PROCESSOR = 2
_FOLDERS = ("tests", "extras")
_NO_TESTS = 5
_ASIDE = "containers or (packet_browsers and firefox)"
"""The tests of one of the processes, as pytest's option -k takes them: by their marks and the names of their files."""


def _command(name: str, marked: str, *words: str) -> list[str]:
    whole = os.environ.get("WHOLE") == "yes" or not {*words} & {f"--{CORE}", f"--{REST}"}
    which = marked if whole else f"{marked} and not release"
    return [sys.executable, "-m", "pytest", f"--junitxml={_KEPT / name}.xml", "-m", which, *words]


def _parallel(words: Sequence[str]) -> int:
    """Runs the tests that need no real clock; returns the exit code."""
    workers = _PER_PROCESSOR * len(os.sched_getaffinity(0))
    divided = (f"--numprocesses={workers}", "--dist=loadfile", "--no-loadscope-reorder")
    command = _command("parallel", "not punctual", *divided, *words)
    return subprocess.run(command, preexec_fn=die_with_parent, check=False).returncode


def _on_real_clocks(words: Sequence[str]) -> list[int]:
    """Runs the tests on real clocks, in two processes; returns the exit codes."""
    print("the tests on real clocks", flush=True)
    log = _KEPT / "containers.log"
    with log.open("wb") as output:
        containers = subprocess.Popen(
            _command("containers", "punctual", "-k", _ASIDE, *words),
            stdout=output,
            stderr=output,
            preexec_fn=die_with_parent,
        )
    try:
        others = _command("punctual", "punctual", "-k", f"not ({_ASIDE})", *words)
        code = subprocess.run(others, preexec_fn=die_with_parent, check=False).returncode
        codes = [code, containers.wait()]
    finally:
        containers.kill()
    print(log.read_text(errors="replace"), end="", flush=True)
    return [0 if code == _NO_TESTS else code for code in codes]


def _compile() -> None:
    """Lets pytest compile the tests' modules if not all are compiled here: otherwise each of its processes would."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    patterns = ("test_*.py", "*-pytest-*.pyc")
    there, compiled = (sum(len(list(Path(folder).rglob(each))) for folder in _FOLDERS) for each in patterns)
    if compiled < there:
        print("compiling the tests", flush=True)
        command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *_FOLDERS]
        null = subprocess.DEVNULL  # the parts will say what is wrong
        subprocess.run(command, stdout=null, stderr=null, preexec_fn=die_with_parent, check=False)


def _take_over(passed: Path) -> None:
    """Replaces the notes of what passed by those made elsewhere, if the tests there were those of this checkout."""
    forget(_KEPT / PASSED.name)
    commit, changes = (
        subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()
        for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
    )
    if changes or not (passed / commit).is_dir():
        print(f"{passed} has no notes about this checkout, so all tests are run", flush=True)
        return
    take_over(passed / commit, _KEPT / PASSED.name)


def _main(what: str, passed: str | None = None) -> int:
    folders = parts()
    if what not in (CORE, REST, *folders):
        print(f"{what} has no tests; these have: {CORE}, {REST}, {', '.join(folders)}", file=sys.stderr)
        return 2
    words = folders.get(what) or (f"--{what}",)
    _compile()
    _KEPT.mkdir(exist_ok=True)
    for report in _KEPT.glob("*.xml"):
        report.unlink()
    if what == CORE:
        forget(_KEPT / PASSED.name)
    if passed:
        _take_over(Path(passed))
    forget(_KEPT / LEFT_OUT.name)
    codes = [_parallel(words), *_on_real_clocks(words)]
    print(summary(sorted(_KEPT.glob("*.xml")), counted(_KEPT / LEFT_OUT.name)))
    return int(any(codes))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the tests, too
    sys.exit(_main(*(sys.argv[1:] or [CORE])))
