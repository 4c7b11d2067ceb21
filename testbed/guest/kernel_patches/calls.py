"""Adds to /proc/PID/io what a process and its threads have done so far: four counts that nothing else in /proc has.

`reads`, `writes`: system calls that read and write (common/calls.h); the kernel's own counts, syscr and syscw, leave
out recv(2), send(2) and their kin. `voluntary`, `involuntary`: context switches; /proc/PID/status has those of one
thread.

Rule: each count includes threads that have ended, and processes that have ended and for which the process has waited,
as the kernel itself includes them in syscr and in the context switches of getrusage(2).
"""

from pathlib import Path

from priolab import common
from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, linked

NAME = "calls that read and write are counted"
"""The change's name."""

_CALLS = (Path(common.__file__).parent / "calls.h").read_text()
ACCOUNT, ADDING = "include/linux/task_io_accounting.h", "include/linux/task_io_accounting_ops.h"
PROC = "fs/proc/base.c"
"""The files with the counts of a process: their record, their sum, and their text."""
_EACH_SYSCALL = "	if (syscall >= 0 && syscall < __NR_syscalls)"
_ADDED = "	dst->syscw += src->syscw;\n"
_FORMAT, _VALUE = '		   "syscw: %llu\\n"\n', "		   (unsigned long long)acct.syscw,\n"
_FORMATS = "".join(f'		   "{name}: %llu\\n"\n' for name in ("reads", "writes", "voluntary", "involuntary"))
_COUNTS = ("acct.priolab_reads", "acct.priolab_writes", "priolab_switches(task, 1)", "priolab_switches(task, 0)")
_VALUES = "".join(f"		   (unsigned long long){count},\n" for count in _COUNTS)

CHANGES = (
    Change(
        name=NAME,
        effect=Effect.RESULT,
        wordings=(
            (
                *linked("calls.c"),
                Edit("arch/um/kernel/priolab_calls.h", "", _CALLS),
                Edit(ACCOUNT, "	u64 syscw;\n", "	u64 syscw;\n	u64 priolab_reads, priolab_writes;\n"),
                Edit(
                    ADDING,
                    _ADDED,
                    f"{_ADDED}	dst->priolab_reads += src->priolab_reads;\n"
                    "	dst->priolab_writes += src->priolab_writes;\n",
                ),
                Edit(PROC, _FORMAT, _FORMAT + _FORMATS),
                Edit(PROC, _VALUE, _VALUE + _VALUES),
                Edit(
                    "arch/um/kernel/skas/syscall.c", _EACH_SYSCALL, f"	priolab_count_call(syscall);\n{_EACH_SYSCALL}"
                ),
            ),
        ),
    ),
)
