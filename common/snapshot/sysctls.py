"""The sysctls of a namespace below net.ipv4 and net.core, and the parameters of congestion controls.

Each is read with three system calls. The parameters are those of the kernel, in all namespaces alike (sysfs(5)).
The functions use no Python file objects: open() asks whether the file is a terminal, and there are many files to read.
"""

import os
from functools import cache

_ROOT, _MODULES = "/proc/sys/", "/sys/module/"
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
    for folder, files in (_files() | (_parameters() if of_tcp else {})).items():
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
        found[_ROOT + folder] = [(name, file) for name, file in names if name not in _LEFT_OUT]
    return found


@cache
def _parameters() -> dict[str, list[tuple[str, str]]]:
    """Returns the same of the parameters of congestion controls, such as tcp_cubic's."""
    modules = [module for module in sorted(_listed(_MODULES)) if module.startswith(_TCP)]
    folders = {module: f"{_MODULES}{module}/parameters" for module in modules}
    return {
        folder: [(f"module {module}, {file}", file) for file in sorted(_listed(folder))]
        for module, folder in folders.items()
        if os.path.isdir(folder)  # noqa: PTH112 - as the other paths here
    }


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - as the other paths here
    except FileNotFoundError:  # no modules, or sysfs is not mounted
        return []


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
