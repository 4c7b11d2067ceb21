"""Samples all connections of a front with one peer, through sock_diag(7). The sampler for the second front (VIA)."""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from priolab.common.socket_diag import SocketDiag


class ConnectionSampler:
    """A sampler of the connections from `peer`, in the network namespace of the thread that creates it. A context."""

    def __init__(self, peer: str, port: int, folder: Path, interval_ns: int | None) -> None:
        """Opens the journal connections.jsonl in the folder. Raises OSError.

        peer: the peer's address. port: the front's port. interval_ns: the time between two samples; None for none.
        """
        self._interval_ns = interval_ns
        with ExitStack() as stack:
            self._diag = stack.enter_context(SocketDiag(peer, port))
            self._journal = stack.enter_context((folder / "connections.jsonl").open("w"))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def look(self, now_ns: int) -> int | None:
        """Samples each connection. Returns the time at which `look` must be called next; None for never.

        now_ns: the present time, CLOCK_MONOTONIC. Raises OSError if the kernel does not answer.
        """
        if self._interval_ns is None:
            return None
        self._journal.writelines(f"{sample.to_json()}\n" for sample in self._diag.connections())
        return now_ns + self._interval_ns
