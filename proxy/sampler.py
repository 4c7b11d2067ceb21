"""The instruments at the front, told when to look: its socket finely, its process at every tenth look or less often.

Rules:
1. The server is not touched: what can be seen from beside it is, and a descriptor is borrowed for an instant.
2. Each look is written at once, a line per look, into sockets.jsonl and process.jsonl.
3. Of several connections of the client's the one that has carried most is looked at: browsers make some to spare.
4. Without an interval the socket is looked at once and no more: enough to see that it is what was asked for.
"""

import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Self

from common.cost import Cost
from common.formats.samples import ProcessSample
from proxy.live_socket import LiveSocket
from proxy.socket_diag import SocketDiag
from proxy.usage import usage

_PROCESS_INTERVAL_NS = 10**8
_SELDOM_NS = 2 * 10**9
_SOCKET_LOOKS = 10  # per look at the process, which costs more


class FrontLost(Exception):
    """The process that served the client has ended."""


class Sampler:
    """Looks at the connection from `peer`, in the network namespace this is made in. A context."""

    def __init__(self, server_pid: int, peer: str, port: int, folder: Path, interval_ns: int | None) -> None:
        """server_pid: of the server's first process; folder: where the journals go. Raises OSError."""
        self._live = LiveSocket(server_pid, peer)
        self._interval_ns = interval_ns
        self._next_socket_ns = self._next_process_ns = 0
        self._seen = False
        self._cost = Cost()
        with ExitStack() as stack:
            self._diag = stack.enter_context(SocketDiag(peer, port))
            self._sockets = stack.enter_context((folder / "sockets.jsonl").open("w", buffering=1))
            self._processes = stack.enter_context((folder / "process.jsonl").open("w", buffering=1))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def peer_port(self) -> int | None:
        """The client's own port of the connection that is looked at, None while there is none."""
        return self._diag.peer_port

    def look(self, now_ns: int) -> int:
        """Do what is due; when the next look is. now_ns: CLOCK_MONOTONIC as it is.

        Raises FrontLost, and OSError if the kernel does not answer.
        """
        if now_ns >= self._next_socket_ns and not (self._interval_ns is None and self._seen):
            self._next_socket_ns = _later(self._next_socket_ns, now_ns, self._interval_ns or _PROCESS_INTERVAL_NS)
            if (sample := self._diag.sample()) is not None:
                self._sockets.write(sample.to_json() + "\n")
                self._seen = True
                self._cost.add(1, time.monotonic_ns() - now_ns)
        if now_ns >= self._next_process_ns:
            self._next_process_ns = _later(self._next_process_ns, now_ns, self._process_interval_ns())
            self._look_at_process(now_ns)
        if self._interval_ns is None and self._seen:
            return self._next_process_ns
        return min(self._next_socket_ns, self._next_process_ns)

    def _process_interval_ns(self) -> int:
        """Often until there is a connection; then as the socket's interval allows, and enough to miss a server soon."""
        if self._live.holder is None:
            return _PROCESS_INTERVAL_NS
        if self._interval_ns is None:
            return _SELDOM_NS
        return min(_SELDOM_NS, max(_PROCESS_INTERVAL_NS, _SOCKET_LOOKS * self._interval_ns))

    def _look_at_process(self, now_ns: int) -> None:
        self._diag.look_around()
        port = self._diag.peer_port
        lowat_bytes, pid = self._live.lowat_bytes(port), self._live.holder
        if lowat_bytes is not None and pid is not None:
            sample = ProcessSample(
                t_ns=now_ns, pid=pid, peer_port=port, lowat_bytes=lowat_bytes, **asdict(usage(pid)), sampler=self._cost
            )
            self._processes.write(sample.to_json() + "\n")
        elif self._live.holder_ended:
            raise FrontLost("the process of it that served the client has ended")


def _later(due_ns: int, now_ns: int, interval_ns: int) -> int:
    """The next moment of the grid that is not past."""
    return now_ns + interval_ns if not due_ns else due_ns + interval_ns * (1 + (now_ns - due_ns) // interval_ns)
