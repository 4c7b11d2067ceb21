"""Runs all tests: `python -m tests.whole`. The exit code is 0 if all have passed. Called by `make test`.

Rules:
1. Tests that are not marked `punctual` are divided among processes, three for each processor, as tests often wait.
2. Tests marked `punctual` run on real clocks: those in containers one after the other, beside them the others one after
   the other.
3. The first part runs before the other two. With PRIOLAB_TESTS=beside all three run at once, if the first part can be
   kept from taking a processor from the others (apart.py). On a busy machine the first part would hardly get one.
4. The output of the first part is shown as it comes, that of the others when they have ended.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from experiments.host.processes import die_with_parent
from tests.apart import idle_group
from tests.costliest import costliest, table

_KEPT = Path(".pytest_cache")
_PER_PROCESSOR = 3
_CLOCKS = ("tests/lab", "tests/link")


def _command(name: str, marked: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "pytest", f"--junitxml={_KEPT / name}.xml", "-m", marked, *words]


def _parallel() -> list[str]:
    workers = _PER_PROCESSOR * len(os.sched_getaffinity(0))
    words = (f"--numprocesses={workers}", "--dist=loadfile", "--no-loadscope-reorder")
    return _command("parallel", "not punctual", *words)


class _Clocks:
    """The tests on real clocks, in two processes. Their output goes to files."""

    def __init__(self) -> None:
        self._parts = [
            self._begun("containers", "punctual and containers"),
            self._begun("punctual", "punctual and not containers"),
        ]

    @staticmethod
    def _begun(name: str, marked: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = _KEPT / f"{name}.log"
        with log.open("wb") as output:
            return subprocess.Popen(
                _command(name, marked, *_CLOCKS), stdout=output, stderr=output, preexec_fn=die_with_parent
            ), log

    def stop(self) -> None:
        """Stops what still runs."""
        for process, _ in self._parts:
            process.terminate()
            process.wait()

    def ended(self) -> list[int]:
        """Waits for both, shows their output, and returns their exit codes."""
        if any(process.poll() is None for process, _ in self._parts):
            print("waiting for the tests on real clocks", flush=True)
        codes = []
        for process, log in self._parts:
            codes.append(process.wait())
            sys.stdout.write(log.read_text(errors="replace"))
            sys.stdout.flush()
        return codes


def _all() -> Sequence[int]:
    """Runs the three parts, and returns their exit codes."""
    with ExitStack() as stack:
        move = stack.enter_context(idle_group()) if os.environ.get("PRIOLAB_TESTS") == "beside" else None
        if move is None:
            first = subprocess.run(_parallel(), preexec_fn=die_with_parent, check=False).returncode
        clocks = _Clocks()
        stack.callback(clocks.stop)
        if move is not None:
            first = subprocess.run(_parallel(), preexec_fn=_apart(move), check=False).returncode
        return [first, *clocks.ended()]


def _apart(move: Callable[[], None]) -> Callable[[], None]:
    def begin() -> None:
        die_with_parent()
        move()

    return begin


def _main() -> int:
    _KEPT.mkdir(exist_ok=True)
    for report in _KEPT.glob("*.xml"):
        report.unlink()
    codes = _all()
    print(table(costliest(sorted(_KEPT.glob("*.xml")))))
    return int(any(codes))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the tests, too
    sys.exit(_main())
