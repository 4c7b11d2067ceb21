"""The sysctls of a namespace below net.ipv4 and net.core, read with three system calls each.

The functions use no Python file objects: open() asks whether the file is a terminal, and there are many files to read.
"""

import os
from collections.abc import Iterator
from functools import cache

_ROOT = "/proc/sys/"
_FOLDERS = ("net/ipv4", "net/ipv4/route", "net/core")
_LEFT_OUT = {
    "net.ipv4.tcp_fastopen_key",  # a secret
    "net.ipv4.fib_multipath_hash_seed",
    "net.ipv4.tcp_available_congestion_control",  # grows when a module is loaded
    "net.core.flow_limit_cpu_bitmap",
    "net.core.rps_default_mask",
    "net.core.netdev_rss_key",  # a secret, too
    "net.ipv4.route.flush",  # cannot be read
}
_TCP = "net.ipv4.tcp_"
_MOST_BYTES = 1024


def sysctls(*, of_tcp: bool) -> dict[str, str]:
    """Returns the sysctls of this thread's network namespace, by name. Raises OSError.

    of_tcp: False to leave out those of TCP, for a place that has no sockets and only forwards packets.
    """
    found = {}
    for name, path in _paths():
        if of_tcp or not name.startswith(_TCP):
            seen = _read(path)
            if seen is not None:
                found[name] = seen
    return found


@cache
def _paths() -> list[tuple[str, str]]:
    """Returns the name and the path of each sysctl: the same in all namespaces of a kernel but the first."""
    return list(_listed())


def _listed() -> Iterator[tuple[str, str]]:
    for folder in _FOLDERS:
        with os.scandir(_ROOT + folder) as found:
            for entry in sorted(found, key=lambda each: each.name):
                path = f"{folder}/{entry.name}"
                name = path.replace("/", ".")
                if name not in _LEFT_OUT and entry.is_file():
                    yield name, _ROOT + path


def _read(path: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):  # only the first namespace has it; written, but never read
        return None
    try:
        return b" ".join(os.read(descriptor, _MOST_BYTES).split()).decode()
    finally:
        os.close(descriptor)
