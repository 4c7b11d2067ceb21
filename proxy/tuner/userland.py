"""The tuner as a process that looks: where the kernel takes no program, and for connections that are there already.

Rules:
1. Every 100 ms it looks for connections that the server has accepted: sockets whose port one of its sockets listens on.
2. It looks at each twice per round trip, at least every 100 ms and at most every 10 ms.
3. A descriptor is borrowed for the length of one look (descriptors.py), and the server does not notice.
"""

import os
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from proxy.descriptors import borrow, sockets_of, stat, with_descendants
from proxy.tuner.journal import DRY_RUN, SET, Decision, Event, refused
from proxy.tuner.law import Aim, Seen, decide, differs, rate_of
from proxy.tuner.tuner import CannotTune, Kind, Note

_SCAN_NS = 10**8
_LEAST_NS, _MOST_NS = 10**7, 10**8
_TCP_NOTSENT_LOWAT = 25  # <linux/tcp.h>
# struct tcp_info: snd_mss, sacked, rtt (us), snd_cwnd, bytes_acked, delivery_rate.
_INFO = struct.Struct("=16xI8xI36xI8xI36xQ32xQ")


@dataclass(kw_only=True)
class _Connection:
    """Where it is, whose it is, what it was given, and when it is looked at next.

    acked: looks, each with what had been acknowledged by then; the first is one round trip old, if any is.
    acked_rate_bytes_s: in the last round trip.
    """

    pid: int
    descriptor: int
    peer: tuple[str, int]
    port: int
    lowat_bytes: int = 0
    refused: bool = False
    next_ns: int = 0
    acked: deque[tuple[int, int]] = field(default_factory=deque)
    acked_rate_bytes_s: int = 0

    def acknowledged(self, acked_bytes: int, rtt_us: int, now_ns: int) -> int:
        """So much has been by now; the rate in the last time that was no shorter than a round trip, 0 before."""
        began_ns = now_ns - 1000 * max(1, rtt_us)
        while len(self.acked) > 1 and self.acked[1][0] <= began_ns:
            self.acked.popleft()
        if self.acked and self.acked[0][0] <= began_ns:
            then_ns, then_bytes = self.acked[0]
            self.acked_rate_bytes_s = rate_of(max(0, acked_bytes - then_bytes), (now_ns - then_ns) // 1000)
        self.acked.append((now_ns, acked_bytes))
        return self.acked_rate_bytes_s


class Userland:
    """See Tuner. Works on what a process and its descendants have accepted."""

    kind = Kind.USERLAND

    def __init__(
        self, server_pid: int, aim: Aim, note: Note, *, port: int | None = None, dry_run: bool = False
    ) -> None:
        """port: only connections to it. Raises CannotTune."""
        self._pid, self._aim, self._note, self._port, self._dry_run = server_pid, aim, note, port, dry_run
        self._next_scan_ns = 0
        self._listening: dict[int, int] = {}
        self._connections: dict[int, _Connection] = {}
        self._others: set[int] = set()
        self._scan()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held."""

    def look(self, now_ns: int) -> int:
        """See Tuner."""
        if now_ns >= self._next_scan_ns:
            self._next_scan_ns = now_ns + _SCAN_NS
            self._scan()
        for inode, connection in list(self._connections.items()):
            if now_ns >= connection.next_ns and not self._tend(connection, now_ns):
                del self._connections[inode]
        return min([self._next_scan_ns, *(connection.next_ns for connection in self._connections.values())])

    def _scan(self) -> None:
        """Whatever is new is a listening socket, a connection that one of those accepted, or something else."""
        found: dict[int, tuple[int, int]] = {}
        fields = stat(self._pid)
        if fields is None or fields[0] in "ZX":
            raise CannotTune(f"there is no process {self._pid}")
        try:
            for pid in with_descendants(self._pid):
                found |= {inode: (pid, descriptor) for descriptor, inode in sockets_of(pid).items()}
            self._forget(set(found))
            new = found.keys() - self._listening.keys() - self._connections.keys() - self._others
            accepted = {inode: at for inode, at in found.items() if inode in new and not self._listens(inode, *at)}
            for inode, (pid, descriptor) in accepted.items():
                self._meet(inode, pid, descriptor)
        except PermissionError as error:
            reason = "its sockets may not be borrowed by this user (ptrace(2) says who may)"
            raise CannotTune(f"process {self._pid}: {reason}") from error

    def _forget(self, there: set[int]) -> None:
        self._others &= there
        for inode in self._listening.keys() - there:
            del self._listening[inode]
        for inode in self._connections.keys() - there:
            del self._connections[inode]

    def _listens(self, inode: int, pid: int, descriptor: int) -> bool:
        with borrow(pid, descriptor) or socket.socket() as found:
            try:
                if not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) or not _is_tcp(found):
                    return False
                self._listening[inode] = found.getsockname()[1]
            except OSError:
                return False
        return True

    def _meet(self, inode: int, pid: int, descriptor: int) -> None:
        with borrow(pid, descriptor) or socket.socket() as found:
            try:
                port, peer = found.getsockname()[1], found.getpeername()[:2]
            except (OSError, IndexError, TypeError):
                port, peer = None, ("", 0)
            wanted = port in self._listening.values() and port == (self._port or port) and _is_tcp(found)
        if wanted and port is not None:
            self._connections[inode] = _Connection(pid=pid, descriptor=descriptor, peer=peer, port=port)
        else:
            self._others.add(inode)

    def _tend(self, connection: _Connection, now_ns: int) -> bool:
        """Look, and set if it is time; whether the connection is still there."""
        try:
            borrowed = borrow(connection.pid, connection.descriptor)
            if borrowed is None:
                return False
            with borrowed:
                if borrowed.getpeername()[:2] != connection.peer:
                    return False
                seen = _seen(borrowed, connection, now_ns)
                self._apply(connection, borrowed, seen, Event.LOOK if connection.next_ns else Event.ESTABLISHED)
        except OSError:
            return False
        connection.next_ns = now_ns + min(max(_LEAST_NS, seen.rtt_us * 500), _MOST_NS)
        return True

    def _apply(self, connection: _Connection, borrowed: socket.socket, seen: Seen, event: Event) -> None:
        choice, old_bytes = decide(seen, self._aim), connection.lowat_bytes
        if old_bytes and not differs(old_bytes, choice.lowat_bytes):
            return
        outcome = DRY_RUN
        if not self._dry_run:
            try:
                borrowed.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, choice.lowat_bytes)
                outcome = SET
            except OSError as error:
                outcome = refused(os.strerror(error.errno or 0))
        if outcome in (SET, DRY_RUN):
            connection.lowat_bytes = choice.lowat_bytes
        elif connection.refused:
            return  # it was said once
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


def _is_tcp(found: socket.socket) -> bool:
    internet = found.family in (socket.AF_INET, socket.AF_INET6)
    return internet and found.type == socket.SOCK_STREAM and found.proto == socket.IPPROTO_TCP


def _seen(borrowed: socket.socket, connection: _Connection, now_ns: int) -> Seen:
    info = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    mss_bytes, sacked_segments, rtt_us, cwnd_segments, acked_bytes, delivery_rate_bytes_s = _INFO.unpack(info)
    return Seen(
        delivery_rate_bytes_s=delivery_rate_bytes_s,
        acked_rate_bytes_s=connection.acknowledged(acked_bytes + sacked_segments * mss_bytes, rtt_us, now_ns),
        cwnd_segments=cwnd_segments,
        mss_bytes=mss_bytes,
        rtt_us=rtt_us,
    )
