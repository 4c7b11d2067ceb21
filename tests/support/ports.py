"""Free ports of loopback."""

import secrets
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000


def free_port() -> int:
    """Return a TCP port of loopback that is free, and that the kernel gives to nobody who asks for any port.

    Such a port, as given by bind() to port 0, may be another test's before it is used.
    """
    below = max(int(_RANGE.read_text().split()[0]), 2 * _LOWEST)
    while True:
        port = _LOWEST + secrets.randbelow(below - _LOWEST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
