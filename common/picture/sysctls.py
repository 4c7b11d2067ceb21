"""The sysctls of a namespace below net.ipv4 and net.core, read with three system calls each.

The functions use no Python file objects: open() asks whether the file is a terminal, and there are many files to read.
"""

import os
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
_TCP = "tcp_"
_MOST_BYTES = 1024


def sysctls(*, of_tcp: bool) -> dict[str, str]:
    """Returns the sysctls of this thread's network namespace, by name. Raises OSError.

    of_tcp: False to leave out those of TCP, for a place that has no sockets and only forwards packets.
    """
    found = {}
    for folder, files in _files().items():
        at = os.open(_ROOT + folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name, file in files:
                if (of_tcp or not file.startswith(_TCP)) and (seen := _read(file, at)) is not None:
                    found[name] = seen
        finally:
            os.close(at)
    return found


@cache
def _files() -> dict[str, list[tuple[str, str]]]:
    """Returns the name and the file of each sysctl by folder: the same in all namespaces of a kernel but the first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for folder in _FOLDERS:
        with os.scandir(_ROOT + folder) as entries:
            files = sorted(entry.name for entry in entries if entry.is_file())
        names = [(f"{folder}/{file}".replace("/", "."), file) for file in files]
        found[folder] = [(name, file) for name, file in names if name not in _LEFT_OUT]
    return found


def _read(file: str, folder: int) -> str | None:
    """Returns a file's words; None if it cannot be read. folder: its folder's descriptor, for a short look-up."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    except (FileNotFoundError, PermissionError):  # only the first namespace has it; written, but never read
        return None
    try:
        return b" ".join(os.read(descriptor, _MOST_BYTES).split()).decode()
    finally:
        os.close(descriptor)
