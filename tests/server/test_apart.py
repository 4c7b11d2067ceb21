"""Tests of the control group in which tests that need no real clock run (apart.py)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import apart
from tests.apart import idle_group

_SHOWS = "import pathlib; print(pathlib.Path('/proc/self/cgroup').read_text())"


def _mounted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str) -> Path:
    """Makes a folder that stands for a hierarchy of control groups, and a list of mounts that names it."""
    folder = tmp_path / "groups"
    folder.mkdir()
    (tmp_path / "mounts").write_text(line.format(folder))
    monkeypatch.setattr(apart, "_MOUNTS", tmp_path / "mounts")
    return folder


def test_a_command_runs_in_a_group_of_its_own_or_as_usual() -> None:
    """The command gets its words, and its exit code is passed on. The group is removed."""
    command = [sys.executable, "-m", "tests.apart", sys.executable, "-c", f"{_SHOWS}; raise SystemExit(7)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    with idle_group() as move:
        assert ("priolab-tests-" in done.stdout) == (move is not None)
    for folder in apart._hierarchies():
        assert not list(folder.glob(f"priolab-tests-{os.getpid()}"))


@pytest.mark.parametrize(
    "line", ["cgroup {} cgroup rw,cpuset 0 0\n", "cgroup2 {} cgroup2 rw 0 0\n", "proc {} proc rw 0 0\n"]
)
def test_without_the_controller_of_processors_there_is_no_group(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    """No group is made in a hierarchy that does not divide processors."""
    folder = _mounted(monkeypatch, tmp_path, line)
    with idle_group() as move:
        assert move is None
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("version", [1, 2])
def test_the_group_is_idle_and_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: int) -> None:
    """The group has cpu.idle set while it exists. A group that a killed process left is removed."""
    line = "cgroup {} cgroup rw,cpu,cpuacct 0 0\n" if version == 1 else "cgroup2 {} cgroup2 rw 0 0\n"
    folder = _mounted(monkeypatch, tmp_path, line)
    if version == 2:
        (folder / "cgroup.subtree_control").write_text("memory cpu\n")
    left = folder / "priolab-tests-0"
    left.mkdir()
    group = folder / f"priolab-tests-{os.getpid()}"
    with idle_group() as move:
        assert move is not None
        assert (group / "cpu.idle").read_text() == "1"
        move()
        assert (group / "cgroup.procs").read_text() == "0"
        for file in group.iterdir():  # the kernel's own files do not keep a group from being removed
            file.unlink()
    assert not group.exists()
    assert not left.exists()
