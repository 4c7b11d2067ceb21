"""Bare trees of Debian's suites with systemd, which starts in namespaces of its own, on this machine's kernel.

systemd starts /out/check.sh and writes what it says to /out/check.log. Making a tree needs root, debootstrap, and a
gigabyte for each suite in ~/.cache/priolab/suites.
"""

import os
import shutil
import subprocess
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.testbed import cgroup
from tools.suites import tree as trees
from tools.suites.tree import CannotMake, Tree

_PACKAGES = "systemd systemd-sysv dbus nginx-light curl iproute2 kmod linux-image-amd64"
_INSTALL = "INITRD=No DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends"
_HERE = Path(__file__).parent
_UNIT = _HERE / "check.service"


def systemd_tree(suite: str) -> Tree:
    """Returns a tree of the suite with systemd, nginx and a kernel; makes it if there is none. Raises CannotMake.

    systemd starts /out/check.sh in it, and writes /out/check.log.
    """
    tree = Tree(suite=suite, folder=cache_folder() / "suites" / f"{suite}-machine")
    done, log = tree.folder / "installed", tree.folder / "install.log"
    packages = f"{_PACKAGES} {'libbpf0' if suite == 'bullseye' else 'libbpf1'}"
    asked = packages + _UNIT.read_text()
    if done.exists() and done.read_text() == asked:
        return tree
    trees.make(tree)
    policy, units = tree.root / "usr/sbin/policy-rc.d", tree.root / "etc/systemd/system"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    if trees.run(tree, "root", "/", ["sh", "-c", f"apt-get update && {_INSTALL} {packages}"], log) != 0:
        raise CannotMake(f"the packages cannot be installed (log: {log})")
    policy.unlink()
    shutil.copy(_UNIT, units)
    (units / "multi-user.target.wants").mkdir(exist_ok=True)
    (units / "multi-user.target.wants" / _UNIT.name).symlink_to(f"../{_UNIT.name}")
    (tree.root / "out").mkdir()
    done.write_text(asked)
    return tree


def boot(tree: Tree, out: Path) -> Path:
    """Boots the tree, with the folder `out` as its /out; returns the path of the log. Raises OSError."""
    with cgroup.own_group(f"priolab-suites-{os.getpid()}") as group:
        command = ["sh", str(_HERE / "boot.sh"), str(tree.root), str(out), str(group / "machine")]
        with (tree.folder / "boot.log").open("w") as log:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    return tree.folder / "boot.log"


def said_lines(log: Path) -> list[str]:
    """Returns what a check said, without the commands that the shell traced."""
    return [line for line in log.read_text(errors="replace").splitlines() if not line.startswith("+")]
