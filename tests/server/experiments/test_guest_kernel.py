"""Tests of the guest's patched kernel (testbed/guest/kernel_patches): programs compute as with the original one."""

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
    """Programs keep vector registers and memory over every operation that the patches make lazy.
    slower: if true, programs enter the kernel by ptrace, as on machines that refuse seccomp(2).
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
    """The guest kernel has all patches that its version needs.
    A patch does not apply if a line of the kernel's source differs. run.json and `priolab doctor` then name the patch.
    """
    record = kernel.record()
    assert record is not None
    assert record.lacking == []
    version = tuple(map(int, record.version.split(".")[:2]))
    assert record.changes == [change.name for change in kernel.needed((version[0], version[1]))]
