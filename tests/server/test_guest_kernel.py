"""The guest's kernel, whose way to its programs is changed (experiments/guest/edits): they compute in it as ever."""

import os
import subprocess
from pathlib import Path

import pytest

from experiments.guest import kernel
from experiments.guest.edits import CHANGES

_COMPUTING = Path(__file__).with_name("computing.c")
_CASES = ("system call", "page fault", "memory", "signal", "fault", "fork", "threads", "processes", "exec")


@pytest.mark.usefixtures("guest", "gcc")
def test_a_guest_keeps_what_programs_compute(tmp_path: Path) -> None:
    """Vector registers and memory are what they were after everything the kernel is told to be lazy about."""
    program = tmp_path / "computing"
    subprocess.run(["gcc", "-O1", "-mavx", "-static", "-o", program, _COMPUTING, "-lpthread"], check=True)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else str(tmp_path)
    words = ["mem=128M", "con=null", "con0=null,fd:1", "quiet", "time-travel=inf-cpu"]
    root = ["root=none", "rootfstype=hostfs", "rootflags=/", "ro", f"init={program}", f"uml_dir={tmp_path}"]
    done = subprocess.run(
        ["env", f"TMPDIR={memory}", str(kernel.path()), *words, *root],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(("kept", "LOST"))]
    assert said == [f"kept {case}" for case in _CASES], done.stdout + done.stderr


@pytest.mark.usefixtures("guest")
def test_the_source_here_takes_every_change(tmp_path: Path) -> None:
    """None of them is left out because a line has another wording."""
    files = {edit.file for change in CHANGES for edit in change.edits}
    folder = kernel.source().name.removesuffix(".tar.xz")
    names = [f"{folder}/{file}" for file in sorted(files)]
    subprocess.run(["tar", "-xf", kernel.source(), "-C", tmp_path, *names], check=True)
    assert [change.apply(tmp_path / folder) for change in CHANGES] == [True] * len(CHANGES)
