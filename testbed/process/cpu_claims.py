"""Chooses the processor for a job: the processor with the fewest jobs of all labs and workers on this machine.

A job claims its processor: it binds a Unix socket to an abstract name (unix(7)) that contains the processor's number.
The kernel removes the name when the process that owns the socket ends.
"""

import os
import random
import socket
from types import TracebackType
from typing import Self

_MOST = 64
"""The most claims on one processor; further jobs get any processor."""


class CpuClaim:
    """A job's claim to a processor. A context manager that gives up the claim at its end.

    cpu: the number of the processor. name: the socket whose name is the claim; None if no name was free.
    """

    def __init__(self, cpu: int, name: socket.socket | None) -> None:
        self.cpu = cpu
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.give_up()

    def give_up(self) -> None:
        """Gives up the claim. Further calls do nothing."""
        if self._name is not None:
            self._name.close()


def claim() -> CpuClaim:
    """Claims the processor with the fewest claims of all that this process may use; breaks ties at random."""
    allowed = list(os.sched_getaffinity(0))
    candidates = random.sample(allowed, len(allowed))
    for number in range(_MOST):
        for cpu in candidates:
            if name := _take(f"\0priolab-processor-{cpu}-{number}"):
                return CpuClaim(cpu, name)
    return CpuClaim(candidates[0], None)


def _take(address: str) -> socket.socket | None:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(address)
    except OSError:
        name.close()
        return None
    return name
