"""Control of a link process: signals that select(2) can wait for, and Unix sockets with a path.

The process receives the time at which the measured load began, from which the times of rate steps count; a ferry also
receives each later link, as JSON. `python -m priolab.netem.control NANOSECONDS` sends the time in a place where
`python -m priolab.netem` runs.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path("/run/link")
"""The folder for the sockets of a link that `python -m priolab.netem` runs."""

BEGIN = HOME / "begin"
"""The socket at which `python -m priolab.netem` receives the time at which the measured load began."""

_LONGEST_BYTES = 4096


@contextmanager
def short(path: Path) -> Iterator[str]:
    """Yields a short path to the same file, because an AF_UNIX address has 107 bytes at most (unix(7))."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def bound(kind: socket.SocketKind, path: Path) -> Iterator[socket.socket]:
    """Yields a non-blocking socket bound to the path. The path appears once the socket accepts messages."""
    with socket.socket(socket.AF_UNIX, kind) as listener:
        unready = path.with_name(f"{path.name}.unready")
        try:
            with short(unready) as name:
                listener.bind(name)
            if kind is socket.SOCK_STREAM:
                listener.listen()
            listener.settimeout(0)
            unready.rename(path)
            yield listener
        finally:
            unready.unlink(missing_ok=True)
            path.unlink(missing_ok=True)


@contextmanager
def signals(numbers: Iterable[int] = (signal.SIGTERM, signal.SIGINT)) -> Iterator[socket.socket]:
    """Yields a socket that receives the number of each signal as a byte. numbers: the signals to receive."""
    reading, writing = socket.socketpair()
    with reading, writing:
        writing.settimeout(0)
        before = signal.set_wakeup_fd(writing.fileno())
        handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
        try:
            yield reading
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)


def tell_begin(path: Path, began_ns: int) -> None:
    """Sends the time at which the measured load began to the link that listens at the path. Raises OSError."""
    tell(path, str(began_ns))


def tell(path: Path, message: str) -> None:
    """Sends a message to the link that listens at the path. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker, short(path) as name:
        speaker.sendto(message.encode(), name)


def told(listener: socket.socket) -> str:
    """Receives a message."""
    return listener.recv(_LONGEST_BYTES).decode()


def main() -> int:
    """Sends the time in the command line to the link; returns the exit code: 0, or 1 if no link listens."""
    try:
        tell_begin(BEGIN, int(sys.argv[1]))
    except OSError as error:
        print(f"link: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
