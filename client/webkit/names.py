"""Decides which names this process and its children can resolve. WebKitGTK has no option for this.

Rules:
1. Only the server's name resolves, to the plan's address. No name server is asked.
2. This thread gets a mount namespace of its own, which the processes that it starts inherit. In it, the lab's files
   are mounted over the machine's. When these processes have ended, nothing is left.
3. A small system may lack one of these files. Then an empty one is shown in a layer over the folder, which stays as it
   is.
4. This needs CAP_SYS_ADMIN, which root has, and an ordinary user in the lab's places.
"""

import ctypes
import os
from pathlib import Path

from priolab.client.load_scheduler import LoadFailed
from priolab.common.layer import show_empty_files

_CLONE_NEWNS = 0x0002_0000  # <linux/sched.h>
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x4_0000  # <linux/mount.h>
_HOSTS, _SOURCES = Path("/etc/hosts"), Path("/etc/nsswitch.conf")
_libc = ctypes.CDLL(None, use_errno=True)


def resolve_only(name: str, address: str, scratch: Path) -> None:
    """Lets only this name resolve, to this address, in this thread and the processes that it starts from now on.

    scratch: a folder for the two files. Raises LoadFailed if this is not allowed, and OSError.
    """
    wanted = {_HOSTS: f"127.0.0.1 localhost\n{address} {name}\n", _SOURCES: "hosts: files\n"}
    try:
        _check(_libc.unshare(_CLONE_NEWNS), "a new mount namespace")
        _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "/")
        show_empty_files([place for place in wanted if not place.exists()], scratch / "layer")
        for place, content in wanted.items():
            own = scratch / place.name
            own.write_text(content)
            _check(_libc.mount(os.fsencode(own), os.fsencode(place), None, _MS_BIND, None), str(place))
    except PermissionError:
        raise LoadFailed("the browser's names can only be decided by root, or in the lab's places") from None


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
