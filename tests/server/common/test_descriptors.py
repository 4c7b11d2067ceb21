"""Tests of sockets borrowed by descriptor and inode, also after the descriptor was used again."""

import errno
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.common.descriptors import borrow, sockets_of

_OWN = os.getpid()


def _count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def constant() -> Iterator[None]:
    """Check that the test leaves no descriptor open."""
    before = _count()
    yield
    assert _count() == before


@pytest.mark.usefixtures("constant")
def test_a_socket_is_borrowed() -> None:
    """`borrow` returns a new descriptor of the same socket."""
    with socket.socket() as lent:
        lent.bind(("127.0.0.1", 0))
        inode = sockets_of(_OWN)[lent.fileno()]
        with borrow(_OWN, lent.fileno(), inode) or pytest.fail("it is there") as found:
            assert found.getsockname() == lent.getsockname()
            assert found.fileno() != lent.fileno()


@pytest.mark.usefixtures("constant")
def test_a_number_that_stands_for_something_else() -> None:
    """`borrow` returns None if the descriptor is now a file, another socket, or closed."""
    with socket.socket() as lent, Path("/dev/null").open() as file, socket.socket() as other:
        inode = sockets_of(_OWN)[lent.fileno()]
        number = lent.fileno()
        for instead in (file, other):
            os.dup2(instead.fileno(), number)
            assert borrow(_OWN, number, inode) is None
        assert borrow(_OWN, file.fileno(), os.fstat(file.fileno()).st_ino) is None
    assert borrow(_OWN, number, inode) is None


def test_a_process_that_has_ended() -> None:
    """The sockets of a process that has ended cannot be borrowed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        process.kill()
    assert borrow(process.pid, 0, 0) is None
    assert sockets_of(process.pid) == {}


def test_what_cannot_be_done_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few descriptors or a kernel that is too old raise OSError, and do not look like a closed socket."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as lent:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lent.fileno() + 1, hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                borrow(_OWN, lent.fileno(), 1)
            with pytest.raises(OSError, match="Too many open files"):
                sockets_of(_OWN)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def lacking(_: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", lacking)
    with pytest.raises(OSError, match="not implemented"):
        borrow(_OWN, 0, 0)
