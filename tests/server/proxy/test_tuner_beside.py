"""The tuner that looks, at sockets of this very process: what it takes for a connection, and what it survives."""

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

from common.formats.decisions import Decision, Trigger
from proxy import descriptors
from proxy.tuner import userland
from proxy.tuner.law import CEILING_BYTES, Aim
from proxy.tuner.tuner import CannotTune
from proxy.tuner.userland import Userland
from tests.server.echo import until

_MPTCP = 262
_BETWEEN_SCANS_NS = 5 * 10**7
_SMALL = 4096
_SEGMENT = 1448


def _count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def _connection(listener: socket.socket, client: socket.socket | None = None) -> Iterator[tuple[socket.socket, ...]]:
    """The client's end and the server's."""
    host, port = listener.getsockname()[:2]
    with client or socket.socket(listener.family) as near:
        near.connect((host, port))
        with listener.accept()[0] as far:
            yield near, far


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """On loopback."""
    with socket.create_server(("127.0.0.1", 0)) as there:
        yield there


@pytest.fixture
def told() -> list[Decision]:
    """What the tuner has said."""
    return []


@pytest.fixture
def tuner(told: list[Decision]) -> Iterator[Userland]:
    """At this process; it leaves no descriptor behind."""
    before = _count()
    with Userland(os.getpid(), Aim(), told.append) as made:
        yield made
    assert _count() == before


_Scan = Callable[[], object]


@pytest.fixture
def scan(tuner: Userland) -> _Scan:
    """Has the tuner look for what is new: each time it is a second later."""
    seconds = count(1)
    return lambda: tuner.look(time.monotonic_ns() + next(seconds) * 10**9)


def _peers(told: list[Decision]) -> list[int]:
    return [decision.peer_port for decision in told if decision.event is Trigger.ESTABLISHED]


def test_each_connection_once(scan: _Scan, told: list[Decision], listener: socket.socket) -> None:
    """All that there are, and new ones; ends that are nobody's server's, and sockets of other kinds, are left alone."""
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
    """By its own address, or, where the socket listens to both, as IPv6 writes IPv4's."""
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
    """Go's are by default; whoever comes with plain TCP is tuned."""
    try:
        there = socket.socket(socket.AF_INET, socket.SOCK_STREAM, _MPTCP)
    except OSError:
        pytest.skip("this kernel has no MPTCP")
    with there:
        there.bind(("127.0.0.1", 0))
        there.listen()
        with _connection(there, socket.socket()) as (near, _):
            scan()
            assert _peers(told) == [near.getsockname()[1]]


def test_a_socket_that_listens_later(scan: _Scan, told: list[Decision]) -> None:
    """Seen between bind and listen, it is looked at again, and so are the connections that it has by then."""
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
    """Descriptors are read one after the other, while the server goes on; the next time around it is found."""
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
    """Closed beneath the tuner, its number a file's or another connection's: no harm, and no value for the other."""
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
    """Between being listed and being borrowed, sockets become files, again and again."""
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
    """A zombie's descriptors are root's, a setuid child's, too: it is left out, and the others are tuned."""
    honest = descriptors.sockets_of
    monkeypatch.setattr(userland, "with_descendants", lambda pid: [pid, 1])
    monkeypatch.setattr(userland, "sockets_of", lambda pid: _refused() if pid == 1 else honest(pid))
    with _connection(listener) as (near, _):
        scan()
        assert _peers(told) == [near.getsockname()[1]]


def test_a_connection_of_somebody_elses(
    scan: _Scan, told: list[Decision], listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listed, but not lent: left out if a descendant has it, and the end if it is the server's first process."""
    honest = descriptors.sockets_of
    with _connection(listener):
        monkeypatch.setattr(userland, "borrow", _refused)
        monkeypatch.setattr(userland, "with_descendants", lambda pid: [pid, 1])
        monkeypatch.setattr(userland, "sockets_of", lambda pid: honest(os.getpid()) if pid == 1 else {})
        scan()
        assert told == []
        monkeypatch.setattr(userland, "with_descendants", lambda pid: [pid])
        monkeypatch.setattr(userland, "sockets_of", honest)
        with pytest.raises(CannotTune, match="may not be borrowed by this user"):
            scan()


@pytest.mark.parametrize(
    ("error", "remedy"), [(errno.ENOSYS, "it needs Linux 5.6"), (errno.EMFILE, "allow it more descriptors")]
)
def test_what_cannot_be_done(error: int, remedy: str, scan: _Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, with what may help."""

    def failing(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(userland, "borrow", failing)
    with socket.create_server(("127.0.0.1", 0)), pytest.raises(CannotTune, match=os.strerror(error)) as raised:
        scan()
    assert raised.value.remedy.startswith(remedy)


def test_a_scan_that_takes_long(tuner: Userland, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one waits twenty times as long."""
    took_ns = iter([0, 10**8])
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(took_ns))
    assert listener.getsockname()
    assert tuner.look(10**18) == 10**18 + 20 * 10**8


@contextmanager
def _pouring(far: socket.socket) -> Iterator[None]:
    """The server sends for as long as the connection is there."""

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
    """What it is given is far below the ceiling, changes again and again, and goes up when it hurries."""
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
        until(lambda: slowly() or (len(told) > 1 and told[-1].new_bytes < 100_000))
        slow_bytes = told[-1].new_bytes
        until(lambda: fast() or told[-1].new_bytes > 4 * slow_bytes)
        assert far.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == told[-1].new_bytes
    assert slow_bytes < CEILING_BYTES
    for before, after in pairwise(told):
        assert after.old_bytes == before.new_bytes != after.new_bytes
