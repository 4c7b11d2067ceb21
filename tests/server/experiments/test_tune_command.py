"""Tests of the process `priolab tune`: its signals, and output that cannot be written."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from priolab.common.formats.decisions import Decision
from priolab.common.formats.reading import read_journal
from tests.support.echo import lowat_of, serving
from tests.support.waiting import until

_Tuner = subprocess.Popen[str]


@contextmanager
def _tuning(pid: int, *words: str, by: Sequence[str] = (), out: Path | None = None) -> Iterator[_Tuner]:
    """Start the tuner, yield its process, and kill it at the end.
    out: a file for its standard output, instead of a pipe.
    """
    command = [*by, sys.executable, "-m", "priolab.experiments", "tune", "--pid", str(pid), *words]
    with (out or Path("/dev/null")).open("w") as file:
        stdout = subprocess.PIPE if out is None else file
        with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True) as process:
            try:
                if process.stdout is not None:
                    assert process.stdout.readline().startswith(f"tuning process {pid} (userland); target delay 50 ms;")
                yield process
            finally:
                process.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Start a server without code for tuners, and return its process id and port."""
    with serving(tmp_path) as there:
        yield there


def _tuned(port: int) -> None:
    """Wait until the tuner has set TCP_NOTSENT_LOWAT of a new connection."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        until(lambda: lowat_of(client) > 0)


def _ended(process: _Tuner, number: signal.Signals) -> tuple[int, str, str]:
    process.send_signal(number)
    out, said = process.communicate(timeout=10)
    return process.returncode, out, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_told(server: tuple[int, int], number: signal.Signals) -> None:
    """SIGINT, SIGTERM and SIGHUP each end the tuner with exit code 0. With `--quiet` it prints only its last line."""
    pid, port = server
    with _tuning(pid, "--quiet") as tuner:
        _tuned(port)
        assert _ended(tuner, number) == (0, "stopped; connections keep their LOWAT\n", "")


def test_a_log_that_is_rotated(server: tuple[int, int], tmp_path: Path) -> None:
    """SIGHUP opens the log again, and does not end the tuner, if there is a log."""
    pid, port = server
    log, old = tmp_path / "log", tmp_path / "log.1"
    with _tuning(pid, "--log", str(log)) as tuner:
        _tuned(port)
        until(log.read_text)
        log.rename(old)
        before = len(read_journal(old, Decision))
        tuner.send_signal(signal.SIGHUP)
        until(log.exists)
        _tuned(port)
        until(log.read_text)
        code, out, said = _ended(tuner, signal.SIGTERM)
        assert (code, said) == (0, "")
    assert len(read_journal(old, Decision)) == before
    assert len(out.splitlines()) == before + len(read_journal(log, Decision)) + 1


def test_without_a_terminal(server: tuple[int, int]) -> None:
    """Under nohup the tuner ignores SIGHUP."""
    pid, port = server
    with _tuning(pid, by=["nohup"]) as tuner:
        tuner.send_signal(signal.SIGHUP)
        _tuned(port)
        code, out, said = _ended(tuner, signal.SIGTERM)
        assert code == 0
        assert out.endswith("stopped; connections keep their LOWAT\n")
        assert "priolab" not in said


def test_a_full_log(server: tuple[int, int]) -> None:
    """A full disk is reported once for the log, and once more after the log was opened again. Tuning goes on."""
    pid, port = server
    line = "priolab: /dev/full cannot be written: No space left on device; tuning continues, SIGHUP reopens the file\n"
    with _tuning(pid, "--quiet", "--log", "/dev/full") as tuner:
        assert tuner.stderr is not None
        _tuned(port)
        _tuned(port)
        assert tuner.stderr.readline() == line
        tuner.send_signal(signal.SIGHUP)
        _tuned(port)
        assert _ended(tuner, signal.SIGTERM) == (0, "stopped; connections keep their LOWAT\n", line)


def test_a_full_standard_output(server: tuple[int, int], tmp_path: Path) -> None:
    """A full disk is reported once for standard output. Tuning goes on, and the log is complete."""
    pid, port = server
    log = tmp_path / "log"
    with _tuning(pid, "--log", str(log), out=Path("/dev/full")) as tuner:
        for _ in range(2):
            _tuned(port)
        until(lambda: len(read_journal(log, Decision)) >= 2)
        line = "priolab: standard output cannot be written: No space left on device; tuning continues\n"
        code, _, said = _ended(tuner, signal.SIGTERM)
        assert (code, said) == (0, line)


def test_a_reader_who_has_enough(server: tuple[int, int]) -> None:
    """The tuner ends with an error code if the reader of its output closes the pipe."""
    pid, port = server
    with _tuning(pid) as tuner:
        assert tuner.stdout is not None
        tuner.stdout.close()
        with socket.create_connection(("127.0.0.1", port)):
            assert tuner.wait(10) > 0
