"""Tests of the guest's patched kernel (testbed/guest/kernel_patches): programs compute as with the original one."""

import os
import subprocess
from pathlib import Path

import pytest

from priolab.common.running import finished
from priolab.testbed.guest import kernel

_FOLDER = Path(__file__).parent
_COMPUTING = (
    *("system call", "page fault", "memory", "signal", "fault", "fork", "fork's memory", "threads"),
    *("processes", "exec", "copies", "large fork", "ring"),
)
_READING = ("steps", "time of day", "timers", "processes")
_BY_CHANGE = {
    "in place": "programs read the clock without a system call",
    "processor": "reads of the processor's clock give the guest's",
}
"""Properties of the clock that a guest has if its kernel has this change."""


def _said_in_a_guest(source: str, tmp_path: Path, *, slower: bool) -> list[str]:
    """Compiles a program, and runs it as the first process of a guest. Returns its lines that begin with kept or LOST.

    slower: if true, programs enter the kernel by ptrace(2), as on machines that refuse seccomp(2).
    """
    ways = kernel.words(own_clock=True)
    if slower:
        ways = ["seccomp=off", *ways[1:]] if ways else []
    program = tmp_path / "program"
    subprocess.run(["gcc", "-O1", "-mavx", "-o", program, _FOLDER / source, "-lpthread"], check=True)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else str(tmp_path)
    words = ["mem=128M", "con=null", "con0=null,fd:1", "quiet", "time-travel=inf-cpu", *ways]
    root = ["root=none", "rootfstype=hostfs", "rootflags=/", "ro", f"init={program}", f"uml_dir={tmp_path}"]
    done = finished(["env", f"TMPDIR={memory}", str(kernel.path()), *words, *root], 120)
    return [line for line in done.out.splitlines() if line.startswith(("kept", "LOST"))]


@pytest.mark.usefixtures("guest", "gcc")
@pytest.mark.parametrize("slower", [False, True])
def test_a_guest_keeps_what_programs_compute(tmp_path: Path, *, slower: bool) -> None:
    """Programs keep vector registers and memory over every operation that the patches make lazy or mend."""
    said = _said_in_a_guest("computing.c", tmp_path, slower=slower)
    assert said == [f"kept {case}" for case in _COMPUTING]


@pytest.mark.usefixtures("guest", "gcc")
@pytest.mark.parametrize("slower", [False, True])
def test_programs_see_one_clock_however_they_read_it(tmp_path: Path, *, slower: bool) -> None:
    """A read of the clock through the vDSO and one by a system call move the same clock by the same step.

    A timer is not late when a program only reads the clock. Reads through the vDSO need no system call, and the
    processor's clock gives the same time, if the kernel has the patches for it.
    """
    record = kernel.record()
    assert record is not None
    said = _said_in_a_guest("reading.c", tmp_path, slower=slower)
    by_change = [f"{'kept' if name in record.changes else 'LOST'} {case}" for case, name in _BY_CHANGE.items()]
    assert said == [*(f"kept {case}" for case in _READING), *by_change]


@pytest.mark.usefixtures("guest", "gcc")
def test_the_first_process_is_the_same_in_every_guest(tmp_path: Path) -> None:
    """The first random number and the place of the stack are the same, whatever the time and a folder's name."""
    folders = [tmp_path / name for name in ("one", "two", "six")]  # the kernel puts the paths above the stack
    for folder in folders:
        folder.mkdir()
    said = [_said_in_a_guest("drawing.c", folder, slower=False) for folder in folders]
    assert [len(lines) for lines in said] == [1, 1, 1]
    assert said[0] == said[1] == said[2]


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
