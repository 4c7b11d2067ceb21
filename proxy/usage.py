"""Reads processor time and system calls of a server process from proc(5).

A value is None if the kernel does not count the resource, or if the user may not read the value.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from proxy.descriptors import read_beginning


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
    folder = f"/proc/{pid}"
    threads = list(_threads(folder))
    states = [_fields(f"{thread}/status") for thread in threads]
    calls = _fields(f"{folder}/io")
    return Usage(
        cpu_ns=_sum(_cpu_ns(f"{thread}/schedstat") for thread in threads),
        voluntary_switches=_sum(state.get("voluntary_ctxt_switches") for state in states),
        involuntary_switches=_sum(state.get("nonvoluntary_ctxt_switches") for state in states),
        read_calls=calls.get("syscr"),
        write_calls=calls.get("syscw"),
    )


def _threads(process: str) -> Iterator[str]:
    with suppress(OSError):
        for name in os.listdir(f"{process}/task"):  # noqa: PTH208 - a Path costs more than the reading
            yield f"{process}/task/{name}"


def _sum(figures: Iterable[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def _fields(file: str) -> dict[str, int]:
    pairs = (line.split(":") for line in read_beginning(file).splitlines() if line.count(":") == 1)
    return {name: int(value) for name, value in pairs if value.strip().isdigit()}


def _cpu_ns(file: str) -> int | None:
    words = read_beginning(file).split()
    return int(words[0]) if words else None
