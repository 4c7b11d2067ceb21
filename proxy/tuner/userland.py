"""The tuner as a process that polls: for kernels that accept no BPF program, and for connections that already exist.

Rules:
1. Every 100 ms the tuner scans for connections that the server has accepted: sockets with the local port of a listening
   socket. The more processes and descriptors the server has, the longer a scan takes. Scans take at most a twentieth of
   the time; if necessary they become less frequent.
2. The tuner samples each connection twice per round trip, but at intervals of 10 ms to 100 ms.
3. A descriptor is borrowed for the time of a sample (proxy/descriptors.py). This has a single effect: if the server
   closes the socket during a sample, the connection stays open until the sample is complete.
4. The server's first process must exist, and this user must be allowed to borrow its sockets. Descendants whose sockets
   this user may not borrow are ignored.
5. The tuner remembers the TCP_NOTSENT_LOWAT that the server set on a socket until the socket is closed, even if the
   socket's descriptor changes.
"""

import errno
import os
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from priolab.common.formats.decisions import DRY_RUN, SET, Decision, Trigger, refused
from priolab.common.tuning import TunerKind
from priolab.proxy.descriptors import borrow, check_borrowing, has_ended, sockets_of, with_descendants
from priolab.proxy.tuner import option
from priolab.proxy.tuner.caution import Caution, Held, bound
from priolab.proxy.tuner.law import Aim, Choice, Seen, decide, differs, rate_of
from priolab.proxy.tuner.tuner import CannotTune, Note

_SCAN_NS = 10**8
_SCAN_SHARE = 20
_MPTCP = 262  # <linux/in.h>
_LEAST_NS, _MOST_NS = 10**7, 10**8
# struct tcp_info: delivery_rate_app_limited, snd_mss, sacked, rtt (us), snd_cwnd, bytes_acked, delivery_rate.
_INFO = struct.Struct("=7xB8xI8xI36xI8xI36xQ32xQ")
_APP_LIMITED = 1 if sys.byteorder == "little" else 128  # a bit field; the other bits are about TCP Fast Open
_REMEDIES = {errno.ENOSYS: "use Linux 5.6 or newer", errno.EMFILE: "allow the tuner more descriptors (ulimit -n)"}
_T = TypeVar("_T")


@dataclass(kw_only=True)
class _Connection:
    """A connection that the server has accepted. held: the LOWAT of the server and of the tuner.

    next_ns: the time of the next sample. refused: True if the kernel has refused a value, which is reported only once.
    acked: (time, bytes acknowledged by that time) of recent samples. The first of them is at least a round trip old if
    there is a sample of that age. acked_rate_bytes_s: the rate of bytes acknowledged in the last round trip.
    highest_rate_bytes_s: the highest rate of bytes that was measured; 0 if none was measured.
    """

    pid: int
    descriptor: int
    peer: tuple[str, int]
    port: int
    held: Held = field(default_factory=Held)
    refused: bool = False
    next_ns: int = 0
    acked: deque[tuple[int, int]] = field(default_factory=deque)
    acked_rate_bytes_s: int = 0
    highest_rate_bytes_s: int = 0

    def acknowledged(self, acked_bytes: int, rtt_us: int, now_ns: int) -> int:
        """Records the bytes acknowledged by now_ns. Returns their rate over the last round trip or a longer time.

        The rate is 0 as long as the samples cover less than a round trip.
        """
        began_ns = now_ns - 1000 * max(1, rtt_us)
        while len(self.acked) > 1 and self.acked[1][0] <= began_ns:
            self.acked.popleft()
        if self.acked and self.acked[0][0] <= began_ns:
            then_ns, then_bytes = self.acked[0]
            self.acked_rate_bytes_s = rate_of(max(0, acked_bytes - then_bytes), (now_ns - then_ns) // 1000)
        self.acked.append((now_ns, acked_bytes))
        self.has_had(self.acked_rate_bytes_s)
        return self.acked_rate_bytes_s

    def has_had(self, rate_bytes_s: int) -> None:
        """Records a rate of bytes that was measured."""
        self.highest_rate_bytes_s = max(self.highest_rate_bytes_s, rate_bytes_s)


class Userland:
    """A Tuner for the connections that a process and its descendants have accepted."""

    kind = TunerKind.USERLAND
    readable: int | None = None

    def __init__(
        self,
        server_pid: int,
        aim: Aim,
        note: Note,
        *,
        port: int | None = None,
        dry_run: bool = False,
        caution: Caution | None = None,
    ) -> None:
        """Finds the server's connections. Raises CannotTune.

        note: receives each decision. port: tunes only connections to this port; None for any port. dry_run: True to
        decide without setting values. caution: the settings of a cautious tuner; None for a tuner that is not cautious.
        """
        self._pid, self._aim, self._note, self._port, self._dry_run = server_pid, aim, note, port, dry_run
        self._caution = caution
        self._next_scan_ns = 0
        self._listening: dict[int, int] = {}
        self._connections: dict[int, _Connection] = {}
        self._others: set[int] = set()
        self._held: dict[tuple[int, tuple[str, int]], Held] = {}
        with ExitStack() as stack:
            self._pidfd = self._open()
            stack.callback(os.close, self._pidfd)
            self._ask(self._pid, partial(check_borrowing, self._pid))
            if caution:
                self._ask(self._pid, lambda: stack.enter_context(caution.claim(Path(f"/proc/{self._pid}"))))
            self._scan()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def look(self, now_ns: int) -> int:
        """Scans for connections and samples the due ones; returns the time at which to call this method again."""
        if now_ns >= self._next_scan_ns:
            began_ns = time.thread_time_ns()
            self._scan()
            took_ns = time.thread_time_ns() - began_ns
            self._next_scan_ns = now_ns + max(_SCAN_NS, _SCAN_SHARE * took_ns)
        for inode, connection in list(self._connections.items()):
            if now_ns >= connection.next_ns and not self._tend(inode, connection):
                del self._connections[inode]
        return min([self._next_scan_ns, *(connection.next_ns for connection in self._connections.values())])

    def restore(self) -> int:
        """Ends tuning; open connections get back the LOWAT that the server set.

        Returns the number of these connections.
        """
        connections, self._connections = self._connections, {}
        return 0 if self._dry_run else sum(self._put_back(inode, there) for inode, there in connections.items())

    def _put_back(self, inode: int, connection: _Connection) -> bool:
        with suppress(CannotTune, OSError):  # the server or the connection has ended
            borrowed = self._ask(connection.pid, partial(borrow, connection.pid, connection.descriptor, inode))
            if borrowed is not None:
                with borrowed:
                    held = connection.held
                    same = borrowed.getpeername()[:2] == connection.peer
                    return same and option.put_back(borrowed, held.lowat_bytes, held.own_bytes)
        return False

    def _open(self) -> int:
        try:
            return os.pidfd_open(self._pid)
        except OSError as error:
            # EINVAL means that the id is a thread's, or that no process can have it.
            gone = error.errno in (errno.ESRCH, errno.EINVAL)
            raise self._gone() if gone else _impossible(self._pid, error) from error

    def _gone(self) -> CannotTune:
        return CannotTune(f"there is no process {self._pid}", "name the server's first process")

    def _ask(self, pid: int, question: Callable[[], _T]) -> _T | None:
        """Returns question(), the result of a system call on the process `pid`; None if this user lacks the permission.

        Raises CannotTune if the permission is missing for the server's first process, for all other errors, and if the
        server has ended.
        """
        try:
            return question()
        except OSError as error:
            if has_ended(self._pidfd):
                raise self._gone() from error
            if not isinstance(error, PermissionError):
                raise _impossible(pid, error) from error
            if pid == self._pid:
                reason = f"process {pid}: this user may not borrow its sockets (see ptrace(2))"
                raise CannotTune(reason, "run as the process's user, or as root with CAP_SYS_PTRACE") from error
            return None

    def _scan(self) -> None:
        """Sorts new sockets into listening sockets, the connections that they accepted, and other sockets."""
        if has_ended(self._pidfd):
            raise self._gone()
        found: dict[int, tuple[int, int]] = {}
        for pid in with_descendants(self._pid):
            sockets = self._ask(pid, partial(sockets_of, pid)) or {}
            found |= {inode: (pid, descriptor) for descriptor, inode in sockets.items()}
        self._forget(set(found))
        known = self._listening.keys() | self._connections.keys() | self._others
        connected: dict[int, _Connection] = {}
        for inode, place in found.items():
            if inode not in known and (connection := self._meet(inode, *place)) is not None:
                connected[inode] = connection
        for inode, connection in connected.items():
            if connection.port in self._listening.values() and connection.port == (self._port or connection.port):
                self._connections[inode] = connection
            else:
                self._others.add(inode)

    def _forget(self, there: set[int]) -> None:
        self._others &= there
        for inode in self._listening.keys() - there:
            del self._listening[inode]
        for inode in self._connections.keys() - there:
            del self._connections[inode]
        self._held = {key: held for key, held in self._held.items() if key[0] in there}

    def _meet(self, inode: int, pid: int, descriptor: int) -> _Connection | None:
        """Returns the connection of a new socket, accepted or opened by the server; None without a connection.

        Remembers listening sockets, and other sockets that need not be examined again. A socket that may still be
        connected is examined again by the next scan. A new listening socket may have accepted connections before this
        scan, so all other sockets are examined again, too.
        """
        borrowed = self._ask(pid, partial(borrow, pid, descriptor, inode))
        if borrowed is None:
            return None
        with borrowed:
            try:
                if not _is_tcp(borrowed):
                    self._others.add(inode)
                    return None
                port = borrowed.getsockname()[1]
                if borrowed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    self._sysctl_of(borrowed, pid)
                    self._listening[inode] = port
                    self._others.clear()
                    return None
                peer = borrowed.getpeername()[:2]
            except OSError:
                return None  # the socket is not connected, or not yet
            if borrowed.proto != socket.IPPROTO_TCP:
                self._others.add(inode)
                return None
        held = self._held.setdefault((inode, peer), Held())
        return _Connection(pid=pid, descriptor=descriptor, peer=peer, port=port, held=held)

    def _tend(self, inode: int, connection: _Connection) -> bool:
        """Samples the connection and sets its LOWAT if necessary. Returns False if the connection is closed."""
        borrowed = self._ask(connection.pid, partial(borrow, connection.pid, connection.descriptor, inode))
        if borrowed is None:
            return False
        with borrowed:
            try:
                if borrowed.getpeername()[:2] != connection.peer:
                    return False
                now_ns = time.monotonic_ns()
                seen = _seen(borrowed, connection, now_ns)
            except OSError:
                return False
            self._apply(connection, borrowed, seen, Trigger.LOOK if connection.next_ns else Trigger.ESTABLISHED)
        connection.next_ns = now_ns + min(max(_LEAST_NS, seen.rtt_us * 500), _MOST_NS)
        return True

    def _sysctl_of(self, borrowed: socket.socket, pid: int) -> int:
        """Returns tcp_notsent_lowat of the socket's namespace; 0 if the sysctl is no limit. Raises CannotTune."""
        sysctls = self._caution.sysctls if self._caution else None
        return sysctls.of_socket(borrowed, pid, time.monotonic_ns()) if sysctls else 0

    def _due(self, connection: _Connection, borrowed: socket.socket, choice: Choice) -> Choice | None:
        """Returns the LOWAT to set now; None if the socket's value is to stay. Raises CannotTune.

        choice: the LOWAT that the law computed.
        """
        held = connection.held
        if self._caution is None:
            old_bytes = held.lowat_bytes
            return choice if not old_bytes or differs(old_bytes, choice.lowat_bytes) else None
        sysctl_bytes = self._sysctl_of(borrowed, connection.pid)
        held.notice(option.read(borrowed), dry_run=self._dry_run)
        choice = bound(choice, held.own_bytes, sysctl_bytes)
        due_bytes = held.due(choice.lowat_bytes, sysctl_bytes, time.monotonic_ns(), self._caution.hold_ns)
        return replace(choice, lowat_bytes=due_bytes) if due_bytes else None

    def _apply(self, connection: _Connection, borrowed: socket.socket, seen: Seen, event: Trigger) -> None:
        choice = self._due(connection, borrowed, decide(seen, self._aim))
        if choice is None:
            return
        old_bytes, outcome = connection.held.has_bytes, DRY_RUN
        if not self._dry_run:
            try:
                option.write(borrowed, choice.lowat_bytes)
                outcome = SET
            except OSError as error:
                outcome = refused(os.strerror(error.errno or 0))
        if outcome in (SET, DRY_RUN):
            connection.held.was_set(choice.lowat_bytes)
        elif connection.refused:
            return  # a refusal is reported only once
        else:
            connection.refused = True
        self._note(
            Decision(
                t_ns=time.monotonic_ns(),
                peer=connection.peer[0],
                peer_port=connection.peer[1],
                port=connection.port,
                event=event,
                delivery_rate_bytes_s=seen.delivery_rate_bytes_s,
                acked_rate_bytes_s=seen.acked_rate_bytes_s,
                highest_rate_bytes_s=seen.highest_rate_bytes_s,
                rate_bytes_s=choice.rate_bytes_s,
                rtt_ns=seen.rtt_us * 1000,
                cwnd_segments=seen.cwnd_segments,
                mss_bytes=seen.mss_bytes,
                old_bytes=old_bytes,
                new_bytes=choice.lowat_bytes,
                why=choice.why,
                outcome=outcome,
            )
        )


def _impossible(pid: int, error: OSError) -> CannotTune:
    return CannotTune(f"process {pid}: {error.strerror}", _REMEDIES.get(error.errno or 0, ""))


def _is_tcp(found: socket.socket) -> bool:
    """Returns True for TCP and MPTCP sockets; a listening MPTCP socket also accepts plain TCP connections."""
    internet = found.family in (socket.AF_INET, socket.AF_INET6)
    return internet and found.type == socket.SOCK_STREAM and found.proto in (socket.IPPROTO_TCP, _MPTCP)


def _seen(borrowed: socket.socket, connection: _Connection, now_ns: int) -> Seen:
    info = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    flags, mss_bytes, sacked_segments, rtt_us, cwnd_segments, acked_bytes, delivery_rate_bytes_s = _INFO.unpack(info)
    acked_rate_bytes_s = connection.acknowledged(acked_bytes + sacked_segments * mss_bytes, rtt_us, now_ns)
    if not flags & _APP_LIMITED:  # packets were full, so this is a rate of bytes, too; known at the first sample
        connection.has_had(delivery_rate_bytes_s)
    return Seen(
        delivery_rate_bytes_s=delivery_rate_bytes_s,
        acked_rate_bytes_s=acked_rate_bytes_s,
        highest_rate_bytes_s=connection.highest_rate_bytes_s,
        cwnd_segments=cwnd_segments,
        mss_bytes=mss_bytes,
        rtt_us=rtt_us,
    )
