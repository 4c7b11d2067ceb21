"""Tests of programs as context managers: how their ends are reported."""

import os
import signal
from pathlib import Path

import pytest

from priolab.common.errors import StepFailed
from priolab.common.process.processes import Process, ProcessSettings, run, wait_until
from priolab.common.process.search_path import search_path

_SOON_S = 5.0


def start(tmp_path: Path, *command: str) -> Process:
    return Process("the program", command, tmp_path / "log")


def end(process: Process, number: signal.Signals) -> None:
    os.kill(process.pid, number)
    assert process.wait(_SOON_S)


def test_a_program_is_stopped_at_the_end(tmp_path: Path) -> None:
    """At the end of the context, the program gets SIGTERM, and an end by SIGTERM is no error."""
    with start(tmp_path, "sleep", "60") as process:
        assert process.running
    assert not process.running


def test_a_program_that_was_killed_is_reported_at_the_end(tmp_path: Path) -> None:
    """A program that was killed is reported at the end, even without a check in between."""
    with (
        pytest.raises(StepFailed, match=r"the program: it was ended by SIGKILL \(log: "),
        start(tmp_path, "sleep", "60") as process,
    ):
        end(process, signal.SIGKILL)


def test_a_program_that_crashes_when_told_to_stop_is_reported(tmp_path: Path) -> None:
    """A program that ends by another signal than the lab's SIGTERM is reported."""
    script = "trap 'kill -SEGV $$' TERM; echo ready; while :; do sleep 0.01; done"
    with (
        pytest.raises(StepFailed, match="SIGSEGV"),
        start(tmp_path, "sh", "-c", script) as process,
    ):
        wait_until(lambda: "ready" in process.log.read_text(), _SOON_S, process.check_alive, "readiness")


def test_a_program_is_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run in UTC whatever the user's time zone is, also with an environment of their own."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    assert run(["sh", "-c", "echo $TZ"], step="looking") == "UTC\n"
    for environment in (None, {"PATH": os.environ["PATH"]}):
        with Process(
            "the program", ("sleep", "60"), tmp_path / "log", ProcessSettings(environment=environment)
        ) as process:
            assert b"TZ=UTC" in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")


def test_the_systems_own_programs_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs in sbin are found although a user's PATH on Debian lacks sbin, also by programs that the lab starts."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert run(["tc", "-V"], step="looking") == run(["sh", "-c", "tc -V"], step="looking")
    with Process("the program", ("tc", "-V"), tmp_path / "log") as process:
        assert process.wait(_SOON_S)
        assert process.succeeded


def test_the_search_path_names_a_folder_once() -> None:
    """`search_path` adds each missing folder once, and keeps the order of the user's PATH."""
    assert search_path({"PATH": "/sbin:/opt/bin"}) == "/sbin:/opt/bin:/usr/sbin"
    assert search_path({"PATH": search_path({"PATH": "/bin"})}) == "/bin:/usr/sbin:/sbin"


def test_an_error_within_is_not_covered_up(tmp_path: Path) -> None:
    """An exception inside the context is not replaced by the program's failure."""
    process = start(tmp_path, "sleep", "60")
    end(process, signal.SIGKILL)
    error = ZeroDivisionError()
    process.__exit__(type(error), error, None)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo one; echo two; exit 3", "two"),
        ("exit 3", "it ended with exit code 3"),
        ("echo one; kill -KILL $$", "SIGKILL"),
    ],
)
def test_what_a_failed_program_said_is_the_reason(tmp_path: Path, script: str, reason: str) -> None:
    """The reason is the program's last line, else its exit code; after a signal it is the signal."""
    process = start(tmp_path, "sh", "-c", script)
    assert process.wait(_SOON_S)
    with pytest.raises(StepFailed, match=f"the program: .*{reason}"):
        process.check_success()
