"""Samples the front: its socket every interval, its process with every twentieth sample of the socket or less often.

Rules:
1. The server is not changed. It is observed from another process, which borrows a descriptor for a short time. With
   each sample of the process, net.ipv4.tcp_notsent_lowat is read again.
2. Each sample is a line of sockets.jsonl or process.jsonl; options.jsonl has the socket's options whenever they have
   changed at a sample of the process. Lines may wait in memory until the sampler's exit or a call
   of `flush` writes them.
3. If the client has several connections, the sampler takes the connection that has carried most bytes, because browsers
   open spare connections.
4. Without an interval the socket is sampled only once, which is enough to check the settings of the socket.
5. Until a process has the connection, the sampler searches for it every 0.1 s, and after ten seconds more and more
   seldom, but at least every two seconds: on a slow link a handshake takes minutes. At the first sample of the socket,
   the search begins anew soon.
6. While the kernel takes the samples of the socket in batches (common/kernel_sampling.py), the sampler takes none
itself.
"""

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from priolab.common.cost import Cost
from priolab.common.formats.samples import ProcessSample, SocketSample
from priolab.common.netlink import Inquiry
from priolab.common.socket_diag import SocketDiag
from priolab.proxy.live_socket import LiveSocket
from priolab.proxy.socket_options import OptionsJournal, options_of

_SOON_NS = 10**8
"""The shortest time between samples of the process."""

_LATE_NS = 2 * 10**9
"""The longest time between samples of the process, so that the end of the server's process is noticed soon."""

_PATIENT_NS = 10**10
"""The time for which a connection is searched for as often as possible; a browser may take some seconds to start."""

_PART_WAITED = 10
"""After that, the time between two searches is this part of the further time waited: a tenth."""

_SOCKET_LOOKS = 20
"""The samples of the socket for each sample of the process, which costs several times as much."""


_LOWAT = "/proc/sys/net/ipv4/tcp_notsent_lowat"
_NUMBER_BYTES = 16


class FrontLost(Exception):
    """The process that served the client has ended."""


class Sampler:
    """A sampler of the connection from `peer`, in the network namespace of the thread that creates it. A context."""

    def __init__(self, server_pid: int, peer: str, port: int, folder: Path, interval_ns: int | None) -> None:
        """Opens the journals. server_pid: the server's first process. peer: the client's address.

        port: the server's port. folder: the folder for the journals. interval_ns: the sampling interval of the socket;
        None for a single sample (rule 4). Raises OSError.
        """
        self._live = LiveSocket(server_pid, peer, self._note_options)
        self._now_ns = 0
        self._options = OptionsJournal()
        self._options_file, self._options_written = folder / "options.jsonl", 0
        self._interval_ns = interval_ns
        self._next_socket_ns = self._next_process_ns = 0
        self._last_socket_ns = self._last_process_ns = 0
        self._began_ns = self._awaited = 0
        self._gap_ns = _LATE_NS
        self._seen = False
        self._cost = Cost()
        # What an open file of a sysctl tells stays that of this namespace.
        self._lowat = os.open(_LOWAT, os.O_RDONLY | os.O_CLOEXEC)
        with ExitStack() as stack:
            stack.callback(os.close, self._lowat)
            self._diag = stack.enter_context(SocketDiag(peer, port))
            self._sockets = stack.enter_context((folder / "sockets.jsonl").open("w"))
            self._processes = stack.enter_context((folder / "process.jsonl").open("w"))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._write_options()

    def flush(self) -> None:
        """Writes the samples so far to the journals."""
        self._sockets.flush()
        self._processes.flush()
        self._write_options()

    @property
    def peer_port(self) -> int | None:
        """The client's port of the sampled connection; None without a connection."""
        return self._diag.peer_port

    def inquiries(self) -> Sequence[Inquiry]:
        """Returns the request for a sample of the socket; none as long as no connection is known."""
        inquiry = self._diag.inquiry() if self._seen else None
        return () if inquiry is None else (inquiry,)

    def leave_out(self, until_ns: int, samples: int) -> None:
        """Takes no samples of the socket before until_ns, nor before a batch has recorded so many.

        At until_ns at the latest, the process is sampled.
        """
        self._next_socket_ns, self._awaited = until_ns, samples
        self._next_process_ns = min(self._next_process_ns, until_ns)

    def record(self, t_ns: int, answers: Sequence[Sequence[bytes] | None]) -> None:
        """Records a sample that a batch took at t_ns. answers: those to `inquiries`."""
        self._awaited -= 1
        self._record(self._diag.sample_in(answers[0], t_ns), t_ns)

    def give_up(self) -> None:
        """Waits for no further samples of a batch."""
        self._awaited = 0

    def look(self, now_ns: int) -> int:
        """Takes the samples that are due. Returns the time at which `look` must be called next.

        now_ns: the present time, CLOCK_MONOTONIC. Raises FrontLost, and OSError if the kernel does not answer.
        """
        self._began_ns = self._began_ns or now_ns
        if now_ns >= self._next_socket_ns and not (self._interval_ns is None and self._seen):
            interval_ns = self._interval_ns or self._search_interval_ns(now_ns)
            self._next_socket_ns = _later(self._next_socket_ns, now_ns, interval_ns)
            if not self._awaited:
                self._look_at_socket(now_ns)
        if now_ns >= self._next_process_ns:
            self._last_process_ns = now_ns
            self._next_process_ns = now_ns + self._process_interval_ns(now_ns)
            self._look_at_process(now_ns)
        if self._interval_ns is None and self._seen:
            return self._next_process_ns
        return min(self._next_socket_ns, self._next_process_ns)

    def _search_interval_ns(self, now_ns: int) -> int:
        """Returns the time between two searches for a connection (rule 5)."""
        return _within_bounds((now_ns - self._began_ns - _PATIENT_NS) // _PART_WAITED)

    def _process_interval_ns(self, now_ns: int) -> int:
        """Returns the interval of process samples: that of the search, then twenty intervals of the socket.

        Whoever calls `look` may call it less often than the socket's interval asks for, so the real interval counts.
        """
        if self._live.holder is None:
            return self._search_interval_ns(now_ns)
        return _within_bounds(_SOCKET_LOOKS * self._gap_ns)

    def _look_at_socket(self, now_ns: int) -> None:
        self._record(self._diag.sample(now_ns), now_ns)

    def _record(self, sample: SocketSample | None, now_ns: int) -> None:
        if self._seen != (sample is not None):  # the connection is there, or perhaps the server's process has ended
            self._next_process_ns = min(self._next_process_ns, self._last_process_ns + _SOON_NS)
        if sample is not None:
            self._sockets.write(sample.to_json() + "\n")
            self._cost.add(1, sample.t_ns - now_ns)
            if self._seen:
                self._gap_ns = now_ns - self._last_socket_ns
            self._seen, self._last_socket_ns = True, now_ns

    def _look_at_process(self, now_ns: int) -> None:
        self._now_ns = now_ns
        self._diag.look_around()
        port = self._diag.peer_port
        if port is None and self._live.holder is None:
            return  # the client has not connected, so no process has its connection
        lowat_bytes, pid = self._live.lowat_bytes(port), self._live.holder
        if lowat_bytes is not None and pid is not None:
            sample = ProcessSample(
                t_ns=now_ns,
                pid=pid,
                peer_port=port,
                lowat_bytes=lowat_bytes,
                sampler=self._cost,
                sysctl_bytes=int(os.pread(self._lowat, _NUMBER_BYTES, 0)),
            )
            self._processes.write(sample.to_json() + "\n")
        elif self._live.holder_ended:
            raise FrontLost("the process that served the client has ended")

    def _write_options(self) -> None:
        """Appends the options of the socket that are not in their file yet.

        The file is not kept open: to open it before the client starts would move the guest's clock.
        """
        further = self._options.samples[self._options_written :]
        self._options_written += len(further)
        if further or not self._options_file.exists():
            with self._options_file.open("a") as lines:
                lines.writelines(f"{sample.to_json()}\n" for sample in further)

    def _note_options(self, connection: socket.socket) -> None:
        self._options.note(self._now_ns, f"port {self._diag.peer_port}", options_of(connection))


def _within_bounds(interval_ns: int) -> int:
    """Returns an interval of process samples that is neither too short nor too long."""
    return min(_LATE_NS, max(_SOON_NS, interval_ns))


def _later(due_ns: int, now_ns: int, interval_ns: int) -> int:
    """Returns the time of the next sample after now_ns. Sample times are whole intervals after the first sample."""
    return now_ns + interval_ns if not due_ns else due_ns + interval_ns * (1 + (now_ns - due_ns) // interval_ns)
