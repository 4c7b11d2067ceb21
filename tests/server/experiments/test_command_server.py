"""Tests of the process that carries out commands in turn."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from priolab.common.command_server import PROCESS, Answer, answer_of, request
from priolab.common.running import finished

_END_S = 20.0
_CHANGED = """
import os
from priolab.experiments import command_server
from priolab.experiments.results import digest
digests = iter(["old", "new"])
digest.code = lambda: next(digests)
os.execv = lambda program, words: print(*words[1:])
command_server.guarded(command_server._carry_out)
"""


@contextmanager
def _asked(words: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", PROCESS, request(words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _answered(process: subprocess.Popen[str]) -> tuple[list[str], Answer]:
    """Return what the command has written, and the answer."""
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        if answer := answer_of(line):
            return said, answer
        said.append(line)
    raise AssertionError(said)


def _ask(process: subprocess.Popen[str], *words: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{request(words)}\n")
    process.stdin.flush()


def test_commands_in_turn(tmp_path: Path) -> None:
    """Each command has its own exit code and output, whatever the one before did; the process ends with its input."""
    with _asked(["list"]) as process:
        said, answer = _answered(process)
        assert (said, answer.code) == ([], 0)
        assert "maps" in answer.out
        _ask(process, "run", "LOWATT=1", f"RESULTS={tmp_path}")
        said, answer = _answered(process)
        assert (answer.code, answer.out) == (2, "")
        assert said[-1].startswith("priolab: LOWATT")
        _ask(process, "list", "maps")
        said, answer = _answered(process)
        assert (said, answer.code) == ([], 0)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(_END_S) == 0


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_waits(stop: signal.Signals) -> None:
    """A signal ends a process that waits, without a word."""
    with _asked(["list"]) as process:
        _answered(process)
        process.send_signal(stop)
        assert process.wait(_END_S) == 128 + stop
        assert process.stdout is not None
        assert process.stdout.read() == ""


def test_changed_code() -> None:
    """If code that decides results has changed, the process begins anew with the request."""
    wanted = request(["list", "maps"])
    done = finished([sys.executable, "-c", _CHANGED, request(["list"])], _END_S, text_in=f"{wanted}\n")
    first, anew = done.out.rstrip("\n").split("\n")  # RS would end a line for splitlines
    assert answer_of(first) is not None, done.errors
    assert anew == f"-P -m {PROCESS} {wanted}"
