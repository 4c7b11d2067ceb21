"""Reads processor time and system calls of a server process from proc(5).

A value is None if the kernel does not count the resource, or if the user may not read the value.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from priolab.proxy.descriptors import read_beginning


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The resources that a process has used so far. cpu_ns: processor time.

    voluntary_switches, involuntary_switches: context switches. read_calls, write_calls: system calls like read(2) and
    write(2). Other calls on sockets, such as HAProxy's send(2), do not count; most servers pass TLS records to the
    kernel with write(2).
    """

    cpu_ns: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    read_calls: int | None
    write_calls: int | None


def usage(pid: int) -> Usage:
    """Returns the usage of a process, all its threads together. All values are None if the process has ended.

    Threads that have ended are included in the system calls, but not in the other values.
    """
    folders = list(threads(pid))
    states = [read_beginning(f"{thread}/status") for thread in folders]
    calls = read_beginning(f"/proc/{pid}/io")
    return Usage(
        cpu_ns=_sum(_cpu_ns(f"{thread}/schedstat") for thread in folders),
        voluntary_switches=_sum(number_in(state, "voluntary_ctxt_switches") for state in states),
        involuntary_switches=_sum(number_in(state, "nonvoluntary_ctxt_switches") for state in states),
        read_calls=number_in(calls, "syscr"),
        write_calls=number_in(calls, "syscw"),
    )


def threads(pid: int) -> Iterator[str]:
    """Yields the folder of each thread of a process in proc(5); none if the process has ended."""
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a Path costs more than the reading
            yield f"/proc/{pid}/task/{name}"


def _sum(figures: Iterable[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def number_in(text: str, name: str) -> int | None:
    """Returns the number in the line `name: number` of a file of proc(5); None without such a line."""
    value = f"\n{text}".partition(f"\n{name}:")[2].partition("\n")[0].strip()
    return int(value) if value.isdigit() else None


def _cpu_ns(file: str) -> int | None:
    words = read_beginning(file).split()
    return int(words[0]) if words else None
