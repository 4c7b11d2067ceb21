"""Finds the program of a guest that uses the processor all the time: the clock of the guest stands still meanwhile.

A process of a guest is a process of this machine, and has its stack in its memory at the same address as in the guest.
The end of a stack has the path of the program (execve(2) puts it there). Above the stack are only pages of the guest's
kernel.
"""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from priolab.proxy.descriptors import process_ids

_LOOKS, _PAUSE_S = 20, 0.01
_END_BYTES = 4096
_WRITABLE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")
_PATH = re.compile(rb"[\x21-\x7e]+")


def spinning(scratch: Path) -> str | None:
    """Returns the path of the program; None if it cannot be told. scratch: the folder of the guest's process."""
    looks: Counter[int] = Counter()
    for _ in range(_LOOKS):
        looks.update(_running(scratch))
        time.sleep(_PAUSE_S)
    for pid, times in looks.most_common(1):
        if times > _LOOKS // 2:
            with suppress(OSError):
                return _program(pid)
    return None


def interrupt(scratch: Path) -> None:
    """Interrupts the programs of a guest that use a processor now, so that its kernel may let others go on.

    The signal is that of the timers of a guest on a real clock.
    """
    for pid in _running(scratch):
        with suppress(OSError):
            os.kill(pid, signal.SIGALRM)


def _running(scratch: Path) -> Iterator[int]:
    """Yields the processes of the guest's programs that use a processor now."""
    kernels = set()
    states = {}
    for pid in process_ids():
        with suppress(OSError):
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:2]
            states[pid] = state, int(parent)
            if f"uml_dir={scratch}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                kernels.add(pid)
    yield from (pid for pid, (state, parent) in states.items() if state == "R" and parent in kernels)


def _program(pid: int) -> str | None:
    """Returns the path at the end of the stack of a guest's process. Raises OSError."""
    found = [match for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if (match := _WRITABLE.match(line))]
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for _, end in reversed([match.groups() for match in found]):
            memory.seek(int(end, 16) - _END_BYTES)
            last = memory.read(_END_BYTES).rstrip(b"\0").rpartition(b"\0")[2]
            if b"/" in last and _PATH.fullmatch(last):
                return last.decode()
    return None
