"""The measured connection as the front's kernel sees it, read from the live socket of an unmodified server.

The server's descriptor is borrowed with pidfd_getfd(2) for the length of one sample and given back at once: a
descriptor kept open would keep the connection open after the server has closed it.
"""

import ctypes
import json
import os
import socket
import struct
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_SYS_PIDFD_GETFD = 438  # the same on every architecture
_TCP_NOTSENT_LOWAT = 25  # <linux/tcp.h>
_TCP_INFO_BYTES = 256
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class SocketSample:
    """One look. Bytes unless the name says otherwise.

    lowat_bytes: the socket's own TCP_NOTSENT_LOWAT, 0 where the namespace's sysctl rules (tcp(7)).
    notsent_bytes: handed to the kernel, not yet sent. unacked_segments: sent, not yet acknowledged.
    """

    t_ns: int
    lowat_bytes: int
    congestion_control: str
    sndbuf_bytes: int
    notsent_bytes: int
    unacked_segments: int
    cwnd_segments: int
    mss_bytes: int
    rtt_us: int

    def to_json(self) -> str:
        """One line of sockets.jsonl."""
        return json.dumps(asdict(self))


def read_samples(journal: Path) -> list[SocketSample]:
    """The samples in a sockets.jsonl."""
    return [SocketSample(**json.loads(line)) for line in journal.read_text().splitlines()]


class LiveSocket:
    """Finds and samples the connection from `peer` (an address) to a server process or its descendants."""

    def __init__(self, server_pid: int, peer: str) -> None:
        self._server_pid = server_pid
        self._peer = peer
        self._place: tuple[int, int] | None = None
        self._holder: int | None = None

    @property
    def holder_ended(self) -> bool:
        """Whether the process that was last seen to have the connection has ended."""
        return self._holder is not None and not _runs(self._holder)

    def sample(self) -> SocketSample | None:
        """A look at the connection, None while it does not exist."""
        if self._place is None:
            self._place = self._find()
        if self._place is None:
            return None
        self._holder = self._place[0]
        sample = _look(*self._place, self._peer)
        if sample is None:
            self._place = None
        return sample

    def _find(self) -> tuple[int, int] | None:
        for pid in _with_descendants(self._server_pid):
            for descriptor in _sockets_of(pid):
                if _look(pid, descriptor, self._peer) is not None:
                    return pid, descriptor
        return None


def choose_congestion_control(server_pid: int, name: str) -> None:
    """Set TCP_CONGESTION on a server's listening sockets; connections accepted from then on inherit it.

    For hosts whose net.ipv4.tcp_allowed_congestion_control keeps a new namespace from choosing by sysctl.
    Raises OSError.
    """
    for pid in _with_descendants(server_pid):
        for descriptor in _sockets_of(pid):
            listener = _borrow(pid, descriptor)
            if listener is None:
                continue
            with listener:
                if listener.type == socket.SOCK_STREAM and listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def _runs(pid: int) -> bool:
    fields = _stat(pid)
    return fields is not None and fields[0] not in "ZX"


def _stat(pid: int) -> list[str] | None:
    """State, parent and so on (proc(5)); None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()


def _with_descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))) is not None:
            parents[int(entry.name)] = int(fields[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def _sockets_of(pid: int) -> list[int]:
    folder = Path(f"/proc/{pid}/fd")
    try:
        return [int(entry.name) for entry in folder.iterdir() if os.readlink(entry).startswith("socket:")]
    except OSError:
        return []  # the process, or one of its descriptors, has gone


def _borrow(pid: int, descriptor: int) -> socket.socket | None:
    """Copy a socket of another process; None if it, or the process, has gone."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return None
    try:
        borrowed = _libc.syscall(_SYS_PIDFD_GETFD, pidfd, descriptor, 0)
    finally:
        os.close(pidfd)
    return socket.socket(fileno=borrowed) if borrowed >= 0 else None


def _look(pid: int, descriptor: int, peer: str) -> SocketSample | None:
    connection = _borrow(pid, descriptor)
    if connection is None:
        return None
    with connection:
        try:
            if connection.getpeername()[0] != peer:
                return None
            return _read(connection)
        except (OSError, IndexError):
            return None  # a listening socket, or one that closed just now


def _read(connection: socket.socket) -> SocketSample:
    tcp = socket.IPPROTO_TCP
    info = connection.getsockopt(tcp, socket.TCP_INFO, _TCP_INFO_BYTES).ljust(_TCP_INFO_BYTES, b"\0")
    # struct tcp_info, <linux/tcp.h>: eight bytes of flags, then 32-bit fields; tcpi_notsent_bytes comes after four
    # 64-bit and two 32-bit counters.
    words = struct.unpack_from("=24I", info, 8)
    (notsent_bytes,) = struct.unpack_from("=I", info, 8 + 24 * 4 + 4 * 8 + 2 * 4)
    return SocketSample(
        t_ns=time.monotonic_ns(),
        lowat_bytes=connection.getsockopt(tcp, _TCP_NOTSENT_LOWAT),
        congestion_control=connection.getsockopt(tcp, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode(),
        sndbuf_bytes=connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        notsent_bytes=notsent_bytes,
        mss_bytes=words[2],
        unacked_segments=words[4],
        rtt_us=words[15],
        cwnd_segments=words[18],
    )
