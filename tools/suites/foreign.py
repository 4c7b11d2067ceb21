"""Runs a command with programs for arm64 carried out by qemu-user, whose package is qemu-user-static.

    python foreign.py COMMAND...

The command is in a user namespace, which has a binfmt_misc of its own since Linux 6.7. No other process of this machine
starts programs for arm64 thereby. The namespace has the ids of this machine, so it takes root to make it.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

_NEW = 0x1000_0000 | 0x0002_0000  # CLONE_NEWUSER, CLONE_NEWNS
_BINFMT = Path("/proc/sys/fs/binfmt_misc")
_MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
_MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
# F: the kernel opens the interpreter now, so that it need not be in the file system of the program.
_ARM64 = rf":arm64:M::{_MAGIC}:{_MASK}:/usr/bin/qemu-aarch64-static:FP"
_KEPT = 9


def main() -> NoReturn:
    """Replace this process by the command, in new user and mount namespaces. Raises OSError, CalledProcessError."""
    told, tell = os.pipe()
    me = os.getpid()
    if (helper := os.fork()) == 0:
        os.close(tell)
        os.read(told, 1)  # until the namespace exists, or this process has ended
        for ids in ("uid_map", "gid_map"):
            Path(f"/proc/{me}/{ids}").write_text("0 0 65536")
        os._exit(0)
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW) != 0:
        raise OSError(ctypes.get_errno(), "a user namespace cannot be made")
    os.close(tell)
    os.waitpid(helper, 0)
    subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", _BINFMT], check=True)
    (_BINFMT / "register").write_text(_ARM64)
    os.dup2(os.open(_BINFMT, os.O_PATH), _KEPT)  # the entry lasts as long as the mount is used
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
