"""Finds out whether a guest's kernel found a fault in itself."""

from pathlib import Path

from priolab.common.errors import InvalidRun


def check_kernel(tainted: Path = Path("/proc/sys/kernel/tainted")) -> None:
    """Checks that the guest's kernel found no fault in itself: it prints BUG or WARNING, marks itself, and goes on.

    tainted: the file of this mark (proc_sys_kernel(5)). Raises InvalidRun.
    """
    if (found := int(tainted.read_text())) != 0:
        raise InvalidRun("the guest kernel's mark of its own faults (kernel.tainted)", 0, found)
