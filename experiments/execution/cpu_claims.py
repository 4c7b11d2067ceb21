"""Which processor a job keeps to: one that the fewest other jobs have, those of other labs and workers included.

A claim is the name of an abstract Unix socket. It is given up however its owner ends, and leaves nothing behind.
"""

import os
import random
import socket
from types import TracebackType
from typing import Self

_MOST = 64
"""Claims on one processor; who asks beyond that gets any."""


class Claim:
    """One job's claim to a processor. A context: given up at its end."""

    def __init__(self, cpu: int, name: socket.socket | None) -> None:
        self.cpu = cpu
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.give_up()

    def give_up(self) -> None:
        """More than once does no harm."""
        if self._name is not None:
            self._name.close()


def claim() -> Claim:
    """The processor with the fewest claims among those this process may use; any of several."""
    allowed = list(os.sched_getaffinity(0))
    candidates = random.sample(allowed, len(allowed))
    for number in range(_MOST):
        for cpu in candidates:
            if name := _take(f"\0priolab-processor-{cpu}-{number}"):
                return Claim(cpu, name)
    return Claim(candidates[0], None)


def _take(address: str) -> socket.socket | None:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(address)
    except OSError:
        name.close()
        return None
    return name
