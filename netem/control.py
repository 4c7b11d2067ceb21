"""How a process that is a link is spoken to: signals as something to wait for, and sockets that are files.

Only one thing is ever told to it: when the measured load began, from which its rate steps count.
`python -m netem.control NANOSECONDS` tells it in a place that `python -m netem` made into a link.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path("/run/link")
"""Where a link that has to help itself keeps its sockets."""

BEGIN = HOME / "begin"
"""Where such a link is told."""

_LONGEST_BYTES = 32


@contextmanager
def short(path: Path) -> Iterator[str]:
    """A name of the same place: an address of AF_UNIX holds 107 bytes (unix(7)), a temporary folder's path may not."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def bound(kind: socket.SocketKind, path: Path) -> Iterator[socket.socket]:
    """A socket of that name that never blocks; the name appears when it can be spoken to."""
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
    """A socket that becomes readable when there is a signal, with its number as a byte; by default those that end."""
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
    """Tell the link that listens there when the measured load began. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker, short(path) as name:
        speaker.sendto(str(began_ns).encode(), name)


def told_begin(listener: socket.socket) -> int:
    """What was told. Raises ValueError if it is no time."""
    return int(listener.recv(_LONGEST_BYTES))


def main() -> int:
    """Exit code 0, or 1 if there is no link that listens."""
    try:
        tell_begin(BEGIN, int(sys.argv[1]))
    except OSError as error:
        print(f"link: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
