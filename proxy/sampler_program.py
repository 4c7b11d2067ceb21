"""Samples a front's sockets from inside the front's PID and network namespaces.

    python -m priolab.proxy.sampler_program COMMAND

    look PEER PORT FOLDER INTERVAL_NS    samples the connection from PEER to PORT
    namespace                            prints the cookie of the network namespace
    congestion NAME                      sets TCP_CONGESTION on the front's listening sockets

PEER: the client's address. PORT: the front's port. FOLDER: the folder for the recorded files.

`look` runs until a signal ends it. The front must be process 1 of the PID namespace, or a descendant of
process 1. With INTERVAL_NS 0 the socket is sampled only once (proxy/sampler.py, rule 4).
"""

import socket
import sys
import time
from pathlib import Path

from priolab.proxy.live_socket import choose_congestion_control
from priolab.proxy.sampler import FrontLost, Sampler

ENDED = "has lost the process that served the client"
"""The end of the error message when the process that served the client has ended."""

_FRONT_PID = 1
_SO_NETNS_COOKIE = 71  # <asm/socket.h>


def _look(peer: str, port: int, folder: Path, interval_ns: int) -> None:
    with Sampler(_FRONT_PID, peer, port, folder, interval_ns or None) as sampler:
        while True:
            next_ns = sampler.look(time.monotonic_ns())
            sampler.flush()  # a signal ends this process without an exit of the sampler
            time.sleep(max(0, next_ns - time.monotonic_ns()) / 10**9)


def main() -> int:
    """Carries out the command line; returns the exit code: 0, or 1 with an error message."""
    role, *words = sys.argv[1:]
    try:
        if role == "look":
            peer, port, folder, interval_ns = words
            _look(peer, int(port), Path(folder), int(interval_ns))
        elif role == "namespace":
            with socket.socket() as some:
                print(int.from_bytes(some.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), sys.byteorder))
        else:
            choose_congestion_control(_FRONT_PID, words[0])
    except FrontLost:
        print(f"the front {ENDED}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"gauge: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
