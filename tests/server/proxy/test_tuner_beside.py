"""Tests of the user-space tuner with sockets of this process: connections that it finds, failures that it survives."""

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, pairwise
from pathlib import Path

import pytest

from priolab.common.formats.decisions import Decision, Trigger
from priolab.proxy import descriptors
from priolab.proxy.tuner import userland
from priolab.proxy.tuner.law import CEILING_BYTES, Aim
from priolab.proxy.tuner.tuner import CannotTune
from priolab.proxy.tuner.userland import Userland
from tests.support.mptcp import listening
from tests.support.waiting import until

_BETWEEN_SCANS_NS = 5 * 10**7
_SMALL = 4096
_LOOKS = 10
_SEGMENT = 1448


def _count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def _connection(listener: socket.socket, client: socket.socket | None = None) -> Iterator[tuple[socket.socket, ...]]:
    """Return the client's end and the server's end of a new connection."""
    host, port = listener.getsockname()[:2]
    with client or socket.socket(listener.family) as near:
        near.connect((host, port))
        with listener.accept()[0] as far:
            yield near, far


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a listening socket on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as there:
        yield there


@pytest.fixture
def told() -> list[Decision]:
    """Return the list of the tuner's decisions."""
    return []


@pytest.fixture
def tuner(told: list[Decision]) -> Iterator[Userland]:
    """Return a tuner of this process, and check at the end that it leaves no descriptor open."""
    before = _count()
    with Userland(os.getpid(), Aim(), told.append) as made:
        yield made
    assert _count() == before


_Scan = Callable[[], object]


@pytest.fixture
def scan(tuner: Userland) -> _Scan:
    """Return a function that has the tuner search for new connections. Each call is a second after the one before."""
    seconds = count(1)
    return lambda: tuner.look(time.monotonic_ns() + next(seconds) * 10**9)


def _peers(told: list[Decision]) -> list[int]:
    return [decision.peer_port for decision in told if decision.event is Trigger.ESTABLISHED]


def test_each_connection_once(scan: _Scan, told: list[Decision], listener: socket.socket) -> None:
    """Each accepted connection is tuned once, also if it was accepted after the first scan.
    Clients' ends and sockets of other kinds are not changed.
    """
    left, right = socket.socketpair()
    with left, right, socket.socket(type=socket.SOCK_DGRAM) as datagrams, ExitStack() as stack:
        datagrams.bind(("127.0.0.1", listener.getsockname()[1]))
        ends = [stack.enter_context(_connection(listener)) for _ in range(3)]
        scan()
        ends.append(stack.enter_context(_connection(listener)))
        for _ in range(3):
            scan()
        assert _peers(told) == [near.getsockname()[1] for near, _ in ends]
        for near, far in ends:
            assert near.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 0
            assert far.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) > 0


def test_of_ipv6(scan: _Scan, told: list[Decision]) -> None:
    """The peer is an IPv6 address, or an IPv4-mapped one if the server listens for both."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as there, _connection(there):
        scan()
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as there,
        socket.create_connection(("127.0.0.1", there.getsockname()[1])),
        there.accept()[0],
    ):
        scan()
    assert [decision.peer for decision in told] == ["::1", "::ffff:127.0.0.1"]


def test_of_a_listening_socket_of_mptcp(scan: _Scan, told: list[Decision]) -> None:
    """Connections with plain TCP are tuned if the server's listening socket is one of MPTCP, as Go's are by default."""
    with listening() as there, _connection(there, socket.socket()) as (near, _):
        scan()
        assert _peers(told) == [near.getsockname()[1]]


def test_a_socket_that_listens_later(scan: _Scan, told: list[Decision]) -> None:
    """A socket found between bind and listen is examined again, and its connections are tuned."""
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        scan()
        there.listen()
        with _connection(there) as (near, _):
            scan()
            assert _peers(told) == [near.getsockname()[1]]


def test_a_connection_seen_before_its_listening_socket(
    scan: _Scan, told: list[Decision], listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection found before its listening socket is tuned in a later scan.
    Descriptors are read one after the other while the server goes on.
    """
    honest = descriptors.sockets_of
    with _connection(listener) as (near, _):
        late = listener.fileno()
        monkeypatch.setattr(
            userland, "sockets_of", lambda pid: {n: inode for n, inode in honest(pid).items() if n != late}
        )
        scan()
        assert told == []
        monkeypatch.undo()
        scan()
        scan()
        assert _peers(told) == [near.getsockname()[1]]


@pytest.mark.parametrize("instead", ["file", "connection", "nothing"])
def test_a_number_that_is_used_again(
    tuner: Userland, scan: _Scan, told: list[Decision], listener: socket.socket, instead: str
) -> None:
    """A descriptor that was closed and used again causes no decision for the old connection, and no error."""
    with _connection(listener) as (near, far), _connection(listener) as (_, other), Path("/dev/null").open() as file:
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 1)
        scan()
        other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 1)
        before, number = len(told), far.fileno()
        if instead == "nothing":
            far.close()
        else:
            os.dup2(file.fileno() if instead == "file" else other.fileno(), number)
        tuner.look(time.monotonic_ns() + _BETWEEN_SCANS_NS)
        assert [decision for decision in told[before:] if decision.peer_port == near.getsockname()[1]] == []
        scan()
        assert near.recv(1) == b"", "it is closed"


def test_files_and_sockets_in_turn(scan: _Scan, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuner survives descriptors that become files between the listing and the borrowing of sockets."""
    honest = descriptors.sockets_of

    def listed(pid: int) -> dict[int, int]:
        found = honest(pid)
        with Path("/dev/null").open() as file:
            return found | {file.fileno(): 12345, 0: 12346}

    monkeypatch.setattr(userland, "sockets_of", listed)
    for _ in range(50):
        with _connection(listener):
            scan()


def _refused(*_: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_a_descendant_of_somebody_elses(
    scan: _Scan, told: list[Decision], listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A descendant with unreadable descriptors, such as a zombie or a setuid child, is skipped; others are tuned."""
    honest = descriptors.sockets_of
    monkeypatch.setattr(userland, "with_descendants", lambda pid: [pid, 1])
    monkeypatch.setattr(userland, "sockets_of", lambda pid: _refused() if pid == 1 else honest(pid))
    with _connection(listener) as (near, _):
        scan()
        assert _peers(told) == [near.getsockname()[1]]


def test_a_connection_of_somebody_elses(
    scan: _Scan, told: list[Decision], listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket that cannot be borrowed is skipped if it is a descendant's.
    If it is that of the server's first process, the tuner raises CannotTune.
    """
    honest = descriptors.sockets_of
    with _connection(listener):
        monkeypatch.setattr(userland, "borrow", _refused)
        monkeypatch.setattr(userland, "with_descendants", lambda pid: [pid, 1])
        monkeypatch.setattr(userland, "sockets_of", lambda pid: honest(os.getpid()) if pid == 1 else {})
        scan()
        assert told == []
        monkeypatch.setattr(userland, "with_descendants", lambda pid: [pid])
        monkeypatch.setattr(userland, "sockets_of", honest)
        with pytest.raises(CannotTune, match="this user may not borrow its sockets"):
            scan()


@pytest.mark.parametrize(
    ("error", "remedy"), [(errno.ENOSYS, "use Linux 5.6 or newer"), (errno.EMFILE, "allow the tuner more descriptors")]
)
def test_what_cannot_be_done(error: int, remedy: str, scan: _Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    """CannotTune gives the reason and a remedy."""

    def failing(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(userland, "borrow", failing)
    with socket.create_server(("127.0.0.1", 0)), pytest.raises(CannotTune, match=os.strerror(error)) as raised:
        scan()
    assert raised.value.remedy.startswith(remedy)


def test_a_scan_that_takes_long(tuner: Userland, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next scan waits twenty times as long as the last scan took."""
    took_ns = iter([0, 10**8])
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(took_ns))
    assert listener.getsockname()
    assert tuner.look(10**18) == 10**18 + 20 * 10**8


@contextmanager
def _pouring(far: socket.socket) -> Iterator[None]:
    """Have the server send until the context ends."""

    def pour() -> None:
        try:
            while True:
                far.sendall(bytes(65536))
        except OSError:
            return

    thread = threading.Thread(target=pour)
    thread.start()
    try:
        yield
    finally:
        far.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_client_that_reads_slowly_and_then_fast(
    tuner: Userland, told: list[Decision], listener: socket.socket
) -> None:
    """LOWAT is far below the ceiling for a client that reads slowly, and rises when the client reads faster."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)

    def reading(pause_s: float) -> Callable[[], None]:
        def read() -> None:
            end = tuner.look(time.monotonic_ns())
            while time.monotonic_ns() < end:
                near.recv(_SMALL)
                time.sleep(pause_s)

        return read

    with _connection(listener, client) as (near, far), _pouring(far):
        slowly, fast = reading(0.002), reading(0)
        looks = count(1)  # a value that fits needs no second decision
        until(lambda: slowly() or (next(looks) > _LOOKS and told[-1].new_bytes < 100_000))
        slow_bytes = told[-1].new_bytes
        until(lambda: fast() or told[-1].new_bytes > 4 * slow_bytes)
        assert far.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == told[-1].new_bytes
    assert slow_bytes < CEILING_BYTES
    for before, after in pairwise(told):
        assert after.old_bytes == before.new_bytes != after.new_bytes
