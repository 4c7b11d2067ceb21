"""The guest's kernel, whose way to its programs is changed (testbed/guest/kernel_patches): they compute as ever."""

import os
import subprocess
from pathlib import Path

import pytest

from experiments.testbed.guest import kernel

_COMPUTING = Path(__file__).with_name("computing.c")
_CASES = ("system call", "page fault", "memory", "signal", "fault", "fork", "threads", "processes", "exec")


@pytest.mark.usefixtures("guest", "gcc")
@pytest.mark.parametrize("slower", [False, True])
def test_a_guest_keeps_what_programs_compute(tmp_path: Path, *, slower: bool) -> None:
    """Vector registers and memory are what they were after everything the kernel is told to be lazy about.

    By the usual way into the kernel, and by the slower one for machines that refuse seccomp(2).
    """
    ways = kernel.words()
    if slower:
        ways = ["seccomp=off" for _ in ways]
    program = tmp_path / "computing"
    subprocess.run(["gcc", "-O1", "-mavx", "-static", "-o", program, _COMPUTING, "-lpthread"], check=True)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else str(tmp_path)
    words = ["mem=128M", "con=null", "con0=null,fd:1", "quiet", "time-travel=inf-cpu", *ways]
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
def test_every_change_that_is_needed_is_in_force() -> None:
    """None of them is left out because a line has another wording; run.json and the doctor would name it."""
    record = kernel.record()
    assert record is not None
    assert record.lacking == []
    version = tuple(map(int, record.version.split(".")[:2]))
    assert record.changes == [change.name for change in kernel.needed((version[0], version[1]))]
