"""Counts what a front does from outside of its place, by this machine's kernel, in namespaces and in containers."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from priolab.common.socket_diag import SocketDiag
from priolab.proxy.counters import FrontCounters, kernel_counts

if TYPE_CHECKING:
    from priolab.proxy.calls import Calls

_EVERY_USER = ["0", "0", str(2**32 - 1)]


@contextmanager
def counting(pid: int, diag: SocketDiag | None = None) -> Iterator[FrontCounters]:
    """Yields the counters of a front. pid: its first process. diag: reads its connections; None for none.

    On a real clock, calls are counted if this user may load the BPF program; otherwise the readings have the reason.
    """
    with ExitStack() as stack:
        if diag is not None:
            stack.enter_context(diag)
        yield FrontCounters(pid, "" if kernel_counts() else _calls(pid, stack), diag)


def _calls(pid: int, stack: ExitStack) -> "Calls | str":
    """Returns the counts of the BPF program, which ends with the stack; or the reason why there are none."""
    if not _is_root():
        return "only root may load the BPF program that counts calls"
    from priolab.proxy.calls import Calls  # not for the guest
    from priolab.proxy.tuner.libbpf import CannotTune

    try:
        return stack.enter_context(Calls(pid))
    except CannotTune as error:
        return f"{error} ({error.remedy})" if error.remedy else str(error)
    except OSError as error:
        return f"the front's PID namespace cannot be read: {error.strerror}"


def _is_root() -> bool:
    """Returns True for root of the machine, not of a user namespace. Others need not compile the program in vain."""
    return os.geteuid() == 0 and Path("/proc/self/uid_map").read_text().split() == _EVERY_USER
