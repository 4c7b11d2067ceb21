"""Programs as contexts: how their ends are told."""

import os
import signal
from pathlib import Path

import pytest

from experiments.errors import StepFailed
from experiments.host.processes import Process, run, search_path, wait_until

_SOON_S = 5.0


def start(tmp_path: Path, *command: str) -> Process:
    return Process("the program", command, tmp_path / "log")


def end(process: Process, number: signal.Signals) -> None:
    os.kill(process.pid, number)
    assert process.wait(_SOON_S)


def test_a_program_is_stopped_at_the_end(tmp_path: Path) -> None:
    """By SIGTERM, which is no reason to complain."""
    with start(tmp_path, "sleep", "60") as process:
        assert process.running
    assert not process.running


def test_a_program_that_was_killed_is_reported_at_the_end(tmp_path: Path) -> None:
    """Even if nobody asked in between whether it is alive."""
    with (
        pytest.raises(StepFailed, match=r"the program: it was ended by SIGKILL \(log: "),
        start(tmp_path, "sleep", "60") as process,
    ):
        end(process, signal.SIGKILL)


def test_a_program_that_crashes_when_told_to_stop_is_reported(tmp_path: Path) -> None:
    """A signal that the lab did not send."""
    script = "trap 'kill -SEGV $$' TERM; echo ready; while :; do sleep 0.01; done"
    with (
        pytest.raises(StepFailed, match="SIGSEGV"),
        start(tmp_path, "sh", "-c", script) as process,
    ):
        wait_until(lambda: "ready" in process.log.read_text(), _SOON_S, process.check_alive, "readiness")


def test_a_program_is_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the user is, and with an environment of its own as well."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    assert run(["sh", "-c", "echo $TZ"], step="looking") == "UTC\n"
    for environment in (None, {"PATH": os.environ["PATH"]}):
        with Process("the program", ("sleep", "60"), tmp_path / "log", environment=environment) as process:
            assert b"TZ=UTC" in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")


def test_the_systems_own_programs_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user's PATH lacks their folders on Debian; also programs that a program starts are found."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert run(["tc", "-V"], step="looking") == run(["sh", "-c", "tc -V"], step="looking")
    with Process("the program", ("tc", "-V"), tmp_path / "log") as process:
        assert process.wait(_SOON_S)
        assert process.succeeded


def test_the_search_path_names_a_folder_once() -> None:
    """What a user's PATH has keeps its place."""
    assert search_path({"PATH": "/sbin:/opt/bin"}) == "/sbin:/opt/bin:/usr/sbin"
    assert search_path({"PATH": search_path({"PATH": "/bin"})}) == "/bin:/usr/sbin:/sbin"


def test_an_error_within_is_not_covered_up(tmp_path: Path) -> None:
    """The first error is the one that is told."""
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
    """Its last line; the exit code if it said nothing, and after a signal the signal."""
    process = start(tmp_path, "sh", "-c", script)
    assert process.wait(_SOON_S)
    with pytest.raises(StepFailed, match=f"the program: .*{reason}"):
        process.check_success()
