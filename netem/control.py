"""Control of a link process: signals that select(2) can wait for, and Unix sockets with a path.

The process receives a single message: when the measured load began, because rate steps count from then.
`python -m netem.control NANOSECONDS` sends it, in a place that `python -m netem` made into a link.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path("/run/link")
"""The folder of the sockets of a link started by `python -m netem`."""

BEGIN = HOME / "begin"
"""The socket at which such a link learns when the measured load began."""

_LONGEST_BYTES = 32


@contextmanager
def short(path: Path) -> Iterator[str]:
    """Yields a short path to the same file. An AF_UNIX address holds 107 bytes (unix(7)); a path may be longer."""
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
    """Yields a socket that receives each signal's number as a byte. By default for the signals that end a process."""
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
    """Tells the link listening at the path when the measured load began. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker, short(path) as name:
        speaker.sendto(str(began_ns).encode(), name)


def told_begin(listener: socket.socket) -> int:
    """Receives the time sent by `tell_begin`. Raises ValueError if it is no time."""
    return int(listener.recv(_LONGEST_BYTES))


def main() -> int:
    """Returns the exit code: 0, or 1 if no link listens."""
    try:
        tell_begin(BEGIN, int(sys.argv[1]))
    except OSError as error:
        print(f"link: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
