"""Finds the program of a guest that uses the processor all the time: the clock of the guest stands still meanwhile.

A process of a guest is a process of this machine, and has its stack in its memory at the same address as in the guest.
The end of a stack has the path of the program (execve(2) puts it there). Above the stack are only pages of the guest's
kernel.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from priolab.proxy.descriptors import process_ids

_PAUSE_S = 0.2
_END_BYTES = 4096
_WRITABLE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")
_PATH = re.compile(rb"[\x21-\x7e]+")


def spinning(scratch: Path) -> str | None:
    """Returns the path of the program; None if it cannot be told. scratch: the folder of the guest's process.

    If the guest's kernel works for a program's system calls, this is the program that works most between them.
    """
    before = _used_ns(scratch)
    time.sleep(_PAUSE_S)
    used_ns = {way: used_ns - before.get(way, 0) for way, used_ns in _used_ns(scratch).items()}
    if sum(used_ns.values()) > _PAUSE_S * 10**9 / 2:
        for pid, is_program in sorted(used_ns, key=lambda way: -used_ns[way]):
            with suppress(OSError):
                if is_program and (path := _program(pid)):
                    return path
    return None


def interrupt(scratch: Path) -> None:
    """Interrupts the programs of a guest that use a processor now, so that its kernel may let others go on.

    The signal is that of the timers of a guest on a real clock.
    """
    for pid in _running(scratch):
        with suppress(OSError):
            os.kill(pid, signal.SIGALRM)


def _running(scratch: Path) -> Iterator[int]:
    """Yields the processes of the guest that use a processor now."""
    yield from (pid for pid, (state, _) in _processes(scratch).items() if state == "R")


def _used_ns(scratch: Path) -> dict[tuple[int, bool], int]:
    """Returns the processor time of the guest's processes; each with True for a program, False for the kernel."""
    found = {}
    for pid, (_, is_program) in _processes(scratch).items():
        with suppress(OSError):
            found[pid, is_program] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    return found


def _processes(scratch: Path) -> dict[int, tuple[str, bool]]:
    """Returns the states of the guest's processes; each with True for a program, False for the kernel.

    The kernel is the child of a process of the lab, and has the programs as children.
    """
    known = set()
    states = {}
    for pid in process_ids():
        with suppress(OSError):
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:2]
            states[pid] = state, int(parent)
            if f"uml_dir={scratch}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                known.add(pid)
    return {
        pid: (state, parent in states and states[parent][1] in known)
        for pid, (state, parent) in states.items()
        if parent in known
    }


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
