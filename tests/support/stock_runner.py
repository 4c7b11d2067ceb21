"""`python -m tests.support.stock_runner TREE FOLDER REFUSED COMMAND...`: runs a command as on a stock CI runner.

TREE: the file system that tools/suites/runner.py makes; it stays as it is. FOLDER: an empty folder for all changes.
REFUSED: the way in which user namespaces are refused. The command is run by the user `runner`, who can become root by
sudo, in the folder GITHUB_WORKSPACE, with two processors. Must be started by root, in namespaces that `command` makes.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from priolab.common.debian.suite_packages import knows_debian
from priolab.common.process.search_path import find
from tests.support.refusing import refuse_mounts, refuse_user_namespaces
from tools.suites.inside import become, enter, run
from tools.suites.runner import USER
from tools.suites.tree import ENTERING

HOME = f"/home/{USER}"
_PROCESSORS = 2
_BY_APPARMOR = "apparmor_restrict_unprivileged_userns"


class Refused(StrEnum):
    """The way in which user namespaces are refused.

    AT_ONCE: the kernel makes none. WITHOUT_RIGHTS: it makes one, without rights, as with AppArmor on Ubuntu.
    """

    AT_ONCE = "at once"
    WITHOUT_RIGHTS = "without rights"


def lack() -> str | None:
    """Return the reason why this machine can imitate no such runner; None if it can."""
    if os.geteuid() != 0:
        return "it takes root"
    if find("debootstrap") is None:
        return "debootstrap is not installed"
    return None if knows_debian() else "this machine's apt sources do not have Debian's archive"


def command(tree: Path, folder: Path, refused: Refused, words: Sequence[str]) -> list[str]:
    """Return the argument list that runs the words on the runner. Its namespaces and mounts end with it."""
    return [*ENTERING, sys.executable, "-m", __name__, str(tree), str(folder), refused, *words]


def main() -> int:
    """Run the command. Return its exit code."""
    tree, folder, refused, words = sys.argv[1], Path(sys.argv[2]), Refused(sys.argv[3]), sys.argv[4:]
    for name in ("changes", "work", "root"):
        (folder / name).mkdir(exist_ok=True)
    options = f"lowerdir={tree},upperdir={folder}/changes,workdir={folder}/work"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", f"{folder}/root"], check=True)
    enter(f"{folder}/root")
    if refused is Refused.WITHOUT_RIGHTS:
        _show_setting()
    os.environ.pop("PYTHONPATH")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_PROCESSORS])

    def do() -> NoReturn:
        (refuse_mounts if refused is Refused.WITHOUT_RIGHTS else refuse_user_namespaces)()
        become(USER, os.environ["GITHUB_WORKSPACE"], words)

    return run(do)


def _show_setting() -> None:
    """Add Ubuntu's setting, which this kernel may lack, to the folder of the kernel's settings."""
    settings, proc = Path("/proc/sys/kernel"), Path("/run/proc")
    names = [file.name for file in settings.iterdir()]
    proc.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "proc", "proc", proc], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "settings", settings], check=True)
    for name in names:
        (settings / name).symlink_to(proc / "sys/kernel" / name)
    (settings / _BY_APPARMOR).write_text("1\n")


if __name__ == "__main__":
    sys.exit(main())
