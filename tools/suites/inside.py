"""Enters a tree and runs a command in it, as the first process of a PID namespace, in a mount namespace of its own.

    python inside.py TREE USER FOLDER COMMAND...

No other process sees the mounts made here, and they end with the last process of the namespace. The root is changed
with pivot_root(2) because in a chroot(2) the kernel refuses user namespaces, which FABRIC=netns needs.
"""

import ctypes
import os
import pwd
import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn

_MNT_DETACH = 2
_PATH = "/usr/local/bin:/usr/bin:/bin"
_ROOTS_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main() -> int:
    """Run the command as the user. Return its exit code."""
    tree, user, folder, *command = sys.argv[1:]
    enter(tree)
    return run(lambda: become(user, folder, command))


def enter(tree: str) -> None:
    """Make the tree this process's root, with /proc, /sys and /dev. Raises CalledProcessError, OSError."""
    for words in (
        ["--bind", tree, tree],
        ["-t", "proc", "proc", f"{tree}/proc"],
        ["--rbind", "/sys", f"{tree}/sys"],
        ["--rbind", "/dev", f"{tree}/dev"],
    ):
        subprocess.run(["mount", *words], check=True)
    os.chdir(tree)
    subprocess.run(["pivot_root", ".", "."], check=True)
    if ctypes.CDLL(None, use_errno=True).umount2(b".", _MNT_DETACH) != 0:
        raise OSError(ctypes.get_errno(), "the old root cannot be left")


def run(do: Callable[[], NoReturn]) -> int:
    """Do it in a child process. Return its exit code.

    This process is the init of its PID namespace, so it also reaps orphans.
    """
    child = os.fork()
    if child == 0:
        do()
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status) % 256


def become(user: str, folder: str, command: list[str]) -> NoReturn:
    """Replace this process by the command, as the user, in the folder."""
    who = pwd.getpwnam(user)
    if who.pw_uid:
        os.setgroups([])
        os.setgid(who.pw_gid)
        os.setuid(who.pw_uid)
    os.chdir(folder)
    path = _PATH if who.pw_uid else _ROOTS_PATH
    own = {"HOME": who.pw_dir, "USER": user, "LOGNAME": user, "PATH": path, "LANG": "C.UTF-8"}
    os.execvpe(command[0], command, {**os.environ, **own})


if __name__ == "__main__":
    sys.exit(main())
