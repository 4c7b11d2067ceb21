"""Tests of the supervisor's work after a job's end."""

from pathlib import Path

import pytest

from priolab.common.process import supervisor
from priolab.experiments.hosts.containers import docker_engine


def leave(scratch: Path, script: str) -> None:
    scratch.mkdir()
    program = scratch / "afterwards"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_afterwards_is_run_once(tmp_path: Path) -> None:
    """`clean_up` runs the program `afterwards` once and removes its folder; a second call does nothing."""
    scratch = tmp_path / "scratch"
    leave(scratch, f"echo done >>'{tmp_path}/said'")
    for _ in range(2):
        supervisor.clean_up(str(scratch))
    assert (tmp_path / "said").read_text() == "done\n"
    assert not scratch.exists()


def test_a_folder_without_it_is_only_removed(tmp_path: Path) -> None:
    """A folder without the program `afterwards`, as most fabrics have, is only removed."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    supervisor.clean_up(str(scratch))
    assert not scratch.exists()


def test_one_that_does_not_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The supervisor kills an `afterwards` that exceeds its time, and prints a line of progress."""
    monkeypatch.setattr(supervisor, "_AFTERWARDS_S", 0.2)
    scratch = tmp_path / "scratch"
    leave(scratch, "exec sleep 30")
    supervisor.clean_up(str(scratch))
    assert capfd.readouterr().out == "@ cleaning up took longer than 0.2 s; containers may be left\n"
    assert not scratch.exists()


def test_an_engine_that_does_not_come_back_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """If Docker does not answer, a line says how to find leftovers. If it answers and has none, nothing is printed."""
    tools = tmp_path / "bin"
    tools.mkdir()
    scripts = {"docker": "exit 1", "sleep": "exit 0"}
    for name, script in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    leave(tmp_path / "gone", f"PATH='{tools}'\n" + docker_engine.removal("priolab-x"))
    supervisor.clean_up(str(tmp_path / "gone"))
    assert capfd.readouterr().out.startswith("@ containers and networks may be left; see docker ps --all")
    (tools / "docker").write_text("#!/bin/sh\nexit 0\n")
    leave(tmp_path / "there", f"PATH='{tools}'\n" + docker_engine.removal("priolab-x"))
    supervisor.clean_up(str(tmp_path / "there"))
    assert capfd.readouterr().out == ""
