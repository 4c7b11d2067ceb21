"""Runs all tests: `python -m tests.whole`. The exit code is 0 if all have passed. Called by `make test`.

Rules:
1. Each process of pytest loads all tests, so they are compiled beforehand, also if the environment says that Python is
   to write no compiled files.
2. Tests that are not marked `punctual` are divided among processes, two for each processor, as tests often wait.
3. Then tests marked `punctual` run on real clocks, in two processes that take about the same time: in one those in
   containers and some of those with browsers, in the other all others. The output of the first process is shown when it
   has ended, all other output as it comes.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from priolab.experiments.host.processes import die_with_parent
from tests.reports import summary

_KEPT = Path(".pytest_cache")
_PER_PROCESSOR = 2
_FOLDERS = ("tests", "extras")
_CLOCKS = ("tests/lab", "tests/link", *map(str, Path("extras").glob("*/tests/lab")))
_ASIDE = "containers or packet_browsers"
"""The tests of one of the processes, as pytest's option -k takes them: by their marks and the names of their files."""


def _command(name: str, marked: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "pytest", f"--junitxml={_KEPT / name}.xml", "-m", marked, *words]


def _parallel() -> int:
    """Runs the tests that need no real clock; returns the exit code."""
    workers = _PER_PROCESSOR * len(os.sched_getaffinity(0))
    words = (f"--numprocesses={workers}", "--dist=loadfile", "--no-loadscope-reorder")
    return subprocess.run(
        _command("parallel", "not punctual", *words), preexec_fn=die_with_parent, check=False
    ).returncode


def _on_real_clocks() -> list[int]:
    """Runs the tests on real clocks, in two processes; returns the exit codes."""
    log = _KEPT / "containers.log"
    with log.open("wb") as output:
        containers = subprocess.Popen(
            _command("containers", "punctual", "-k", _ASIDE, *_CLOCKS),
            stdout=output,
            stderr=output,
            preexec_fn=die_with_parent,
        )
    try:
        others = _command("punctual", "punctual", "-k", f"not ({_ASIDE})", *_CLOCKS)
        code = subprocess.run(others, preexec_fn=die_with_parent, check=False).returncode
        codes = [code, containers.wait()]
    finally:
        containers.kill()
    print(log.read_text(errors="replace"), end="", flush=True)
    return codes


def _compile() -> None:
    """Lets pytest compile the tests' modules if not all are compiled here: otherwise each of its processes would."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    there, compiled = (
        sum(len(list(Path(folder).rglob(pattern))) for folder in _FOLDERS)
        for pattern in ("test_*.py", "*-pytest-*.pyc")
    )
    if compiled < there:
        print("compiling the tests", flush=True)
        command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet"]
        null = subprocess.DEVNULL  # the parts will say what is wrong
        subprocess.run(command, stdout=null, stderr=null, preexec_fn=die_with_parent, check=False)


def _main() -> int:
    _compile()
    _KEPT.mkdir(exist_ok=True)
    for report in _KEPT.glob("*.xml"):
        report.unlink()
    codes = [_parallel(), *_on_real_clocks()]
    print(summary(sorted(_KEPT.glob("*.xml"))))
    return int(any(codes))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the tests, too
    sys.exit(_main())
