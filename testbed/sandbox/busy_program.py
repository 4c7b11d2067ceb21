"""Finds the program of a guest that uses the processor all the time: the clock of the guest stands still meanwhile.

A process of a guest is a process of this machine, and has its stack in its memory at the same address as in the guest.
The end of a stack has the path of the program, and before it the environment (execve(2) puts them there). Above the
stack are only pages of the guest's kernel. The lab's own programs have a variable that the sandbox's have not.
"""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from priolab.common.descriptors import process_ids
from priolab.testbed.guest.guest_task import MODULE
from priolab.testbed.sandbox.spec import TASKS

_PAUSE_S = 0.2
_LEAST = 0.01
"""The least part of the guest's time that a program must have used to be named."""
_MOST_READ = 200
"""Processes whose programs are looked up. A program that starts itself without end has thousands."""
_END_BYTES = 2**15
_WRITABLE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")
_PATH = re.compile(rb"[\x21-\x7e]*/[\x21-\x7e]*")
_VARIABLE = re.compile(rb"\w+=.*", re.DOTALL)


_LABS_OWN = f"{MODULE}={TASKS}"
"""A variable of the lab's own programs in a guest."""


def busy_program(scratch: Path, started: Sequence[str]) -> str | None:
    """Returns in words the program that uses the processor all the time; None if it is the lab, or no program.

    scratch: the folder of the guest's process. started: the programs that the lab has started there. If the guest's
    kernel works for a program's system calls, this is the program that works most between them. The processes of a
    program count together. One that was forked need not have its own end of the stack.
    """
    before = _used_ns(scratch)
    time.sleep(_PAUSE_S)
    used_ns = {way: used_ns - before.get(way, 0) for way, used_ns in _used_ns(scratch).items()}
    whole_ns = sum(used_ns.values())
    if whole_ns < _PAUSE_S * 10**9 / 2:
        return None
    found: Counter[str] = Counter()
    for pid, is_program in sorted(used_ns, key=lambda way: -used_ns[way])[:_MOST_READ]:
        with suppress(OSError):
            if is_program:
                found[_program(pid) or f"a program that {' or '.join(started)} has started"] += used_ns[pid, is_program]
    program, most_ns = max(found.items(), key=itemgetter(1), default=(_LABS_OWN, 0))
    return program if program != _LABS_OWN and most_ns > _LEAST * whole_ns else None


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
    """Returns the time in which the guest's processes used a processor, or waited for one.

    Each has True for a program, False for the kernel.
    """
    found = {}
    for pid, (_, is_program) in _processes(scratch).items():
        with suppress(OSError):
            found[pid, is_program] = sum(map(int, Path(f"/proc/{pid}/schedstat").read_text().split()[:2]))
    return found


def _processes(scratch: Path) -> dict[int, tuple[str, bool]]:
    """Returns the states of the guest's processes; each with True for a program, False for the kernel.

    The kernel is the child of its supervisor, and has the programs as children.
    """
    own, known = {str(scratch).encode(), f"uml_dir={scratch}".encode()}, set()
    states = {}
    for pid in process_ids():
        with suppress(OSError):
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:2]
            states[pid] = state, int(parent)
            if own & set(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")):
                known.add(pid)
    return {
        pid: (state, parent in states and states[parent][1] in known)
        for pid, (state, parent) in states.items()
        if parent in known
    }


def _program(pid: int) -> str | None:
    """Returns the path at the end of the stack of a guest's process; _LABS_OWN for the lab's; None if it has none.

    Raises OSError.
    """
    found = [match for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if (match := _WRITABLE.match(line))]
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for begin, end in reversed([[int(each, 16) for each in match.groups()] for match in found]):
            start = max(begin, end - _END_BYTES)
            memory.seek(start)
            texts = memory.read(end - start).rstrip(b"\0").split(b"\0")
            if len(texts) > 1 and _VARIABLE.fullmatch(texts[-2]) and _PATH.fullmatch(texts[-1]):
                return _LABS_OWN if _LABS_OWN.encode() in texts else texts[-1].decode()
    return None
