"""Counts a front's calls and context switches by calls.c, a BPF program in the kernel, for kernels on real clocks."""

import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from priolab.proxy.tuner.libbpf import Loaded

PROGRAMS = {kind: Path(__file__).with_name(f"calls.{kind}.bpf.o") for kind in ("x86_64", "generic")}
"""The files that `make bpf` compiles calls.c into: for x86-64, and for machines with other numbers of calls."""
_PLACE, _PROCESS, _FIRST = struct.Struct("=2Q"), struct.Struct("=I"), bytes(4)
_MINOR_BITS = 20  # of a device's number in the kernel
_NUMBERS = 4


class Calls:
    """The counts of the processes of a PID namespace, since this object was made. A context."""

    def __init__(self, pid: int) -> None:
        """Counts from now on. pid: a process of the PID namespace.

        Raises CannotTune, with the reason; and OSError if there is no such process.
        """
        namespace = os.stat(f"/proc/{pid}/ns/pid")  # noqa: PTH116 - a Path would not follow this link of proc(5)
        device = (os.major(namespace.st_dev) << _MINOR_BITS) | os.minor(namespace.st_dev)
        self._loaded = Loaded(PROGRAMS.get(platform.machine(), PROGRAMS["generic"]))
        try:
            self._loaded.put("place", _FIRST, _PLACE.pack(device, namespace.st_ino))
            for function in ("count_switch", "count_call"):
                self._loaded.attach(function)
        except BaseException:
            self._loaded.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._loaded.close()

    def of(self, pids: Iterable[int]) -> tuple[int, int, int, int]:
        """Returns the counts of these processes together: wake-ups, other context switches, reads, writes.

        pids: the processes' ids in the PID namespace.
        """
        each = [self._loaded.numbers("processes", _PROCESS.pack(pid), _NUMBERS) for pid in pids]
        wakeups, others, reads, writes = (sum(numbers) for numbers in zip([0] * _NUMBERS, *each, strict=True))
        return wakeups, others, reads, writes
