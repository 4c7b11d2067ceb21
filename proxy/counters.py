"""Reads what a front has done so far: context switches, calls that read and write, processor time, TCP's counters.

Rules:
1. A front is its first process and all descendants. A process that was seen once belongs to the front until the end.
2. The guest's kernel counts what a process has done, with threads and children that have ended
   (testbed/guest/kernel_patches/calls.py). There work takes no time: processor time is unknown, not 0.
3. On other kernels a BPF program counts the same (calls.py), if this user may load it. Without it, the context switches
   are those of the threads in /proc, and calls are unknown: the counts in /proc/PID/io lack send(2) and recv(2).
4. A thread in /proc takes its context switches with it when it ends, and a process its processor time. Their sum is
   unknown from then on. On real clocks a process that begins and ends between two readings is not noticed; without the
   BPF program, such a thread is not either.
5. No reading reads CLOCK_MONOTONIC, which would move the guest's clock.
"""

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from priolab.common.descriptors import read_beginning, with_descendants
from priolab.common.formats.counters import Counts, FrontReading
from priolab.common.formats.samples import counts_of
from priolab.common.procfs import number_in, threads
from priolab.common.socket_diag import SocketDiag

if TYPE_CHECKING:  # the guest, which counts by itself, should not load the module
    from priolab.proxy.calls import Calls

_IN_GUEST = "in the guest work takes no time"
_ENDED = "a thread or process of the front ended, and took its counts with it"
_OF_CALLS, _OF_SWITCHES = ("read_calls", "write_calls"), ("wakeups", "involuntary_switches")
_GUESTS = {
    "wakeups": "voluntary",
    "involuntary_switches": "involuntary",
    "read_calls": "reads",
    "write_calls": "writes",
}
_OF_GUESTS = {**_GUESTS, "service_ns": "service"}
"""The counts by their names in /proc/PID/io of the guest."""


class FrontCounters:
    """The counters of a front."""

    def __init__(self, server_pid: int | None, calls: "Calls | str", diag: SocketDiag | None) -> None:
        """server_pid: the front's first process; None if it is not to be seen. calls: the BPF program, or why not.

        diag: reads the front's connections; None if the front does not speak TCP.
        """
        self._server_pid = server_pid
        self._calls = calls
        self._diag = diag
        self._family: dict[int, int] = {}
        """The processes of the front: their ids here, and in their own PID namespace."""
        self._threads: set[str] = set()
        self._ended: set[str] = set()

    def read(self, load: int) -> FrontReading:
        """Returns the counts so far. load: the number of the load that begins now.

        Raises OSError if the kernel does not answer, and CannotTune if the BPF program's counts cannot be read.
        """
        for pid in [] if self._server_pid is None else with_descendants(self._server_pid):
            if pid not in self._family:
                self._family[pid] = _id_inside(pid)
        counts, reasons = dict(self._guests()), {"cpu_ns": _IN_GUEST}
        if not counts:
            counts, reasons = self._others()
        connection, negotiated, memory_bytes = self._diag.state() if self._diag else (None, None, None)
        return FrontReading(
            load=load,
            counts=Counts(**counts, **(counts_of(connection) if connection else {})),
            memory_bytes=memory_bytes,
            negotiated=negotiated,
            reasons=reasons,
        )

    def _guests(self) -> Iterator[tuple[str, int]]:
        """Yields the counts of the guest's kernel; none on other kernels."""
        texts = [text for pid in self._family if "\nreads:" in (text := read_beginning(f"/proc/{pid}/io"))]
        for name, guests in _OF_GUESTS.items() if texts else ():
            yield name, sum(number_in(text, guests) or 0 for text in texts)

    def _others(self) -> tuple[dict[str, int], dict[str, str]]:
        """Returns the counts that are known on a real clock, and the reasons why the others are not."""
        if not self._family:
            return {}, dict.fromkeys((*_GUESTS, "cpu_ns"), str(self._calls))
        counts = dict(self._in_proc())
        reasons = dict.fromkeys(self._ended, _ENDED)
        if isinstance(self._calls, str):
            reasons |= dict.fromkeys(_OF_CALLS, self._calls)
        else:
            counts |= zip((*_OF_SWITCHES, *_OF_CALLS), self._calls.of(self._family.values()), strict=True)
        return counts, {name: reason for name, reason in reasons.items() if name not in counts}

    def _in_proc(self) -> Iterator[tuple[str, int]]:
        """Yields the counts of processes and threads, unless one of them has ended."""
        cpu_ns = [_cpu_ns(pid) for pid in self._family]
        states = {thread: read_beginning(f"{thread}/status") for pid in self._family for thread in threads(pid)}
        if None in cpu_ns:
            self._ended.add("cpu_ns")
        if not all(states.values()) or not self._threads <= states.keys():
            self._ended.update(_OF_SWITCHES)
        self._threads = set(states)
        if "cpu_ns" not in self._ended:
            yield "cpu_ns", _sum(cpu_ns)
        if not self._ended & {*_OF_SWITCHES}:
            for name, field in zip(
                _OF_SWITCHES, ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"), strict=True
            ):
                yield name, _sum(number_in(state, field) for state in states.values())


def kernel_counts() -> bool:
    """Returns True if the kernel counts all calls and switches of a process, as the guest's does (rule 2)."""
    return number_in(read_beginning("/proc/self/io"), _GUESTS["read_calls"]) is not None


def _id_inside(pid: int) -> int:
    """Returns the id that a process has in its own PID namespace; its id here if it has ended."""
    ids = read_beginning(f"/proc/{pid}/status").partition("\nNSpid:")[2].partition("\n")[0].split()
    return int(ids[-1]) if ids else pid


def _sum(numbers: Iterable[int | None]) -> int:
    return sum(number for number in numbers if number is not None)


def _cpu_ns(pid: int) -> int | None:
    """Returns the processor time of a process, all its threads together; None if it has ended."""
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)  # CPUCLOCK_SCHED, clock_getcpuclockid(3)
    except OSError:
        return None
