"""A guest: a User-Mode Linux kernel on a virtual clock, which carries out tasks in folders, one after the other.

The tasks are those of one module (guest_task.py). Every guest is started here.
"""

import compileall
import os
import shlex
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.common.errors import Unavailable
from priolab.common.home import IMPORTED_FROM
from priolab.common.process.search_path import SYSTEM_FOLDERS
from priolab.testbed.guest import kernel
from priolab.testbed.guest.guest_task import MODULE

_PACKAGES = IMPORTED_FROM / "priolab"
_START = _PACKAGES / "testbed" / "guest" / "guest_start.py"
_OWN = ("common", "netem", "testbed")
"""The packages that every guest imports."""

_MIB = 2**20
_PAGE_BYTES = 4096
_TCP_PART = 17
"""The kernel gives TCP a sixteenth of the memory that is free at its start, which is more than this part of all."""

GUESTS_OWN = ("/mnt", "/proc", "/run", "/sys")
"""The folders on which a guest mounts file systems of its own. Elsewhere it sees this machine's files."""


@dataclass(frozen=True, kw_only=True)
class Guest:
    """The settings of a guest. Guests with equal settings can carry out each other's tasks.

    tasks: the name of the module with its tasks. memory_mib: its memory. environment: variables of its first process,
    beside those that every guest has. words: further words of its kernel's command line. own_clock: True if reads of
    the processor's clock give the guest's time, if the kernel can do that. ipv6: True if its places have IPv6.
    """

    tasks: str
    memory_mib: int
    environment: Mapping[str, str]
    words: Sequence[str] = ()
    own_clock: bool = False
    ipv6: bool = False

    def command(self, folders: Sequence[Path], scratch: Path) -> list[str]:
        """Returns the command that starts the guest. Raises Unavailable without room for its memory.

        The kernel splits its command line at blanks, so init is a script in the scratch folder. folders: of tasks.
        """
        init = scratch / "init"
        exports = [f"export {name}={shlex.quote(value)}" for name, value in self._variables().items()]
        listed = further(folders, scratch)
        run = f"{shlex.join([sys.executable, '-P', str(_START)])} 9<{shlex.quote(listed)}"  # in the root folder
        init.write_text("\n".join(["#!/bin/sh", *exports, f"exec {run}", ""]))
        init.chmod(0o755)
        return [
            "env",
            f"TMPDIR={memory_folder(self.memory_mib)}",
            str(kernel.path()),
            *self._kernel_words(),
            f"init={init}",
            f"uml_dir={scratch}",
        ]

    @property
    def kind(self) -> Hashable | None:
        """A value that is equal for equal settings; None if the kernel cannot wait for further tasks."""
        if not kernel.can_wait():
            return None
        return str(kernel.path()), *self._kernel_words(), *self._variables().items()

    def _variables(self) -> Mapping[str, str]:
        return {
            "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS]),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TMPDIR": "/run",
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(cache_folder().parent),
            "PYTHONPATH": str(IMPORTED_FROM),  # this checkout's code, also if another checkout is installed
            MODULE: self.tasks,
            **self.environment,
        }

    def _kernel_words(self) -> list[str]:
        return [
            f"mem={self.memory_mib}M",
            *self.words,
            "con=null",
            "con0=null,fd:1",
            "quiet",
            "time-travel=inf-cpu",
            *kernel.words(own_clock=self.own_clock),
            "root=none",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            *([] if self.ipv6 else ["ipv6.disable=1"]),
        ]


def more_tcp_mib(need_mib: int, memory_mib: int) -> int:
    """Returns the MiB that TCP's buffers need; 0 if a guest of this memory gives them as much anyway."""
    return need_mib if need_mib > memory_mib // _TCP_PART else 0


def tcp_words(mib: int) -> list[str]:
    """Returns the kernel's words that let TCP's buffers use so much memory; none for 0, its usual share."""
    pages = mib * _MIB // _PAGE_BYTES
    return [f'sysctl.net.ipv4.tcp_mem="{pages} {pages} {2 * pages}"'] if mib else []


def further(folders: Sequence[Path], scratch: Path) -> str:
    """Writes a list of tasks' folders into the scratch folder; returns the list's path, which a guest reads."""
    file = scratch / f"runs{len(list(scratch.glob('runs*'))) or ''}"
    file.write_text("".join(f"{folder.resolve()}\n" for folder in folders))  # hostfs follows no symlink of this machine
    return str(file)


@cache
def compile_modules(*packages: str) -> None:
    """Compiles the Python modules of a guest, which every guest would compile anew: it cannot write host files.

    packages: those that its tasks need beside the engine's, as paths below `priolab`.
    """
    for package in (*_OWN, *packages):
        compileall.compile_dir(_PACKAGES / package, quiet=2)


def check_visible(path: Path, what: str, remedy: str) -> None:
    """Checks that a guest sees a file or folder of this machine. Raises Unavailable, which begins with `what`."""
    for folder in GUESTS_OWN:
        if path.is_relative_to(folder) or path.resolve().is_relative_to(folder):
            raise Unavailable(what, f"the guest has a {folder} of its own", remedy)


def memory_folder(memory_mib: int) -> Path:
    """Returns a folder for the file of a guest's memory, which is mapped executable. Raises Unavailable."""
    for folder, room_mib in _memory_rooms_mib():
        if room_mib > memory_mib:
            return folder
    reason = f"no folder for {memory_mib} MiB of guest memory that allows execution"
    raise Unavailable("FABRIC=virtual", reason, "set TMPDIR to a folder that is not mounted noexec")


def memory_room_mib(memory_mib: int) -> int:
    """Returns the free MiB in the folder for a guest of so much memory; 0 if no folder has enough."""
    return next((room_mib for _, room_mib in _memory_rooms_mib() if room_mib > memory_mib), 0)


def _memory_rooms_mib() -> Iterator[tuple[Path, int]]:
    """Yields folders that can hold a guest's memory file, the preferred one first, with the free MiB of each."""
    for folder in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), cache_folder()):  # noqa: S108
        if folder.is_dir() and os.access(folder, os.W_OK):
            state = os.statvfs(folder)
            if not state.f_flag & os.ST_NOEXEC:
                yield folder, state.f_bavail * state.f_frsize // _MIB
