"""`priolab` with folders of its own, and what a command of it did."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.common.descriptors import process_ids
from priolab.common.process.interruption import STOPS
from priolab.experiments import cli
from tests.support.punctuality import any_late, must_be_punctual


@dataclass(frozen=True, kw_only=True)
class Done:
    """A finished command: its exit code, its output, and the newest results' folder and summary if there are any."""

    code: int
    out: str
    err: str
    folder: Path | None
    summary: Mapping[str, Any] | None

    def arm(self, name: str) -> Mapping[str, Any]:
        """The arm of that name in the summary."""
        assert self.summary is not None, self.err
        arms: dict[str, Mapping[str, Any]] = {arm["name"]: arm for arm in self.summary["arms"]}
        return arms[name]

    def ok_arm(self, name: str) -> Mapping[str, Any]:
        """The arm of that name in the summary, whose runs are all ok."""
        arm = self.arm(name)
        assert arm["status"] == "ok", arm["reason"]
        return arm

    @property
    def trouble(self) -> str:
        """The command's error output, and the reason of every arm that has one."""
        arms = self.summary["arms"] if self.summary else []
        return "\n".join([self.err, *(f"{arm['name']}: {arm['reason']}" for arm in arms if arm["reason"])])


@dataclass(frozen=True, kw_only=True)
class Lab:
    """`priolab` with its own folders for results and temporary files."""

    root: Path

    @property
    def results(self) -> Path:
        """The lab's results folder."""
        return self.root / "results"

    @property
    def temporary(self) -> Path:
        """The lab's TMPDIR, which is empty unless a command left files behind."""
        return self.root / "tmp"

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment, with the lab's TMPDIR."""
        return os.environ | {"TMPDIR": str(self.temporary)}

    def command(self, *words: str) -> list[str]:
        """The argument list of a run."""
        return [sys.executable, "-m", "priolab.experiments", "run", f"RESULTS={self.results}", *words]

    def sweep_command(self, *words: str) -> list[str]:
        """The argument list of a sweep."""
        return [sys.executable, "-m", "priolab.experiments", "sweep", f"RESULTS={self.results}", *words]

    def run(self, *words: str, timeout_s: float = 240) -> Done:
        """Runs `priolab run` to its end."""
        return self.latest(self._ended(self.command(*words), timeout_s))

    def run_unseen(self, *words: str, timeout_s: float = 600) -> Done:
        """Runs `priolab run` without printing a table or drawing figures; other runs may use the same folder."""
        return _unseen(self._ended(self.command(*words, "--print-folder"), timeout_s))

    def _ended(self, command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def run_here(self, *words: str) -> Done:
        """Does the same as `run_unseen` in this process, which saves the start of Python; must be the main thread."""
        return _unseen(self.command_here("run", *words, "--print-folder"))

    def command_here(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command that takes RESULTS, such as `priolab run`, in this process."""
        return priolab_here(command, f"RESULTS={self.results}", *words, temporary=self.temporary)

    def run_on_time(self, *words: str, or_if: Callable[[Done], bool] = lambda _: False) -> Done:
        """Runs `priolab run` on a real clock, without figures; if the machine was late, see punctuality.py.

        or_if: another reason to repeat it, which is seen in the results.
        """
        return must_be_punctual(lambda: self.run_unseen(*words), lambda done: any_late(done.summary), or_if)

    def latest(self, done: subprocess.CompletedProcess[str] | None = None) -> Done:
        """Returns the newest results. done: the command that made them, if known."""
        latest = self.results / "latest"
        folder = latest.resolve() if latest.exists() else None
        return done_in(folder, done)

    def processes(self) -> list[str]:
        """Returns the command lines of running processes that contain this lab's folder."""
        found = []
        for pid in process_ids():
            if pid != os.getpid():
                try:
                    line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if str(self.root) in line:
                    found.append(line)
        return found


def priolab_here(*words: str, temporary: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `priolab` in this process, which saves the start of Python; must be called in the main thread.

    temporary: its TMPDIR; None for this process's.
    """
    out, err = io.StringIO(), io.StringIO()
    with _restored(), pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        if temporary is not None:
            patch.setenv("TMPDIR", str(temporary))
            patch.setattr(tempfile, "tempdir", None)
        code = cli.main(words)
    if code == 128 + signal.SIGINT:  # the command has taken a signal that was meant for the tests
        raise KeyboardInterrupt
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@contextmanager
def _restored() -> Iterator[None]:
    """Restores the signal handlers of this process, which a command changes."""
    handlers = {stop: signal.getsignal(stop) for stop in STOPS}
    try:
        yield
    finally:
        for stop, handler in handlers.items():
            signal.signal(stop, handler)


def _unseen(done: subprocess.CompletedProcess[str]) -> Done:
    """Returns the results in the folder that the command has printed."""
    return done_in(Path(done.stdout.strip()) if done.stdout else None, done)


def done_in(folder: Path | None, done: subprocess.CompletedProcess[str] | None = None) -> Done:
    """Returns the results in a folder, with the summary of `priolab show --json`.

    done: the command that made them; without it the exit code is the one that `priolab run` has for such a summary.
    """
    summary = json.loads(json.dumps(summarize(load_experiment(folder)))) if folder else None
    is_ok = summary is not None and summary["status"] == "ok"
    code, out, err = (done.returncode, done.stdout, done.stderr) if done else (0 if is_ok else 1, "", "")
    return Done(code=code, out=out, err=err, folder=folder, summary=summary)


def make_lab(root: Path) -> Lab:
    """Makes a lab in a folder."""
    lab = Lab(root=root)
    lab.temporary.mkdir()
    return lab


def complete_ms(arm: Mapping[str, Any]) -> float:
    """Returns the time at which script and image of an arm were complete, in ms."""
    return float(max(arm["script"]["last_byte_ms"], arm["image"]["last_byte_ms"]))
