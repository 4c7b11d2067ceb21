"""Runs all tests: `python -m tests.whole`. The exit code is 0 if all have passed. Called by `make test`.

Rules:
1. Tests that are not marked `punctual` are divided among processes, three for each processor, as tests often wait.
2. Tests marked `punctual` run on real clocks: those in containers one after the other, beside them the others one after
   the other.
3. If the first ones can be kept from taking a processor from the others (apart.py), all three parts run at once, else
   the first part runs before the other two.
4. The output of the first part is shown as it comes, that of the others when they have ended.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

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
            return subprocess.Popen(_command(name, marked, *_CLOCKS), stdout=output, stderr=output), log

    def stop(self) -> None:
        """Stops what still runs."""
        for process, _ in self._parts:
            process.terminate()
            process.wait()

    def ended(self) -> list[int]:
        """Waits for both, shows their output, and returns their exit codes."""
        codes = []
        for process, log in self._parts:
            codes.append(process.wait())
            sys.stdout.write(log.read_text(errors="replace"))
            sys.stdout.flush()
        return codes


def _all() -> Sequence[int]:
    """Runs the three parts, and returns their exit codes."""
    with ExitStack() as stack:
        move: Callable[[], None] | None = stack.enter_context(idle_group())
        if move is None:
            first = subprocess.run(_parallel(), check=False).returncode
        clocks = _Clocks()
        stack.callback(clocks.stop)
        if move is not None:
            first = subprocess.run(_parallel(), preexec_fn=move, check=False).returncode
        return [first, *clocks.ended()]


def _main() -> int:
    _KEPT.mkdir(exist_ok=True)
    for report in _KEPT.glob("*.xml"):
        report.unlink()
    codes = _all()
    print(table(costliest(sorted(_KEPT.glob("*.xml")))))
    return max(codes)


if __name__ == "__main__":
    sys.exit(_main())
