"""`make tuner-suites`: installs the tuner's package in bare trees of Debian's suites, whose systemd then starts it.

    python -m tools.suites.package [SUITE ...]

systemd is the first process in namespaces of its own, on this machine's kernel; `make tuner-machines` does the same in
emulated machines, with the kernels of the suites. package_check.sh says what is checked: installation, start, reload,
kills, the watchdog, broken settings, and that removal leaves nothing. Needs root, debootstrap, and a gigabyte for each
suite in ~/.cache/priolab/suites.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from priolab.common.cache_folder import cache_folder
from priolab.testbed import cgroup
from tools.suites import tree as trees
from tools.suites.tree import CannotMake, Tree
from tools.tuner_package import pack
from tools.tuner_program import LICENCES, NAME, built

_SUITES = ("bookworm", "trixie", "sid")
_PACKAGES = "systemd systemd-sysv dbus nginx-light curl iproute2 kmod linux-image-amd64"
_INSTALL = "INITRD=No DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends"
_HERE = Path(__file__).parent
_UNIT = _HERE / "check.service"
WELL = "all is well"


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


def check(tree: Tree, package: Path) -> str:
    """Boots the tree and checks the package there; returns the last line of the log. Raises OSError."""
    with (
        tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name,
        cgroup.own_group(f"priolab-suites-{os.getpid()}") as group,
    ):
        out = Path(name)
        shutil.copy(package, out / f"{NAME}.deb")
        shutil.copy(_HERE / "package_check.sh", out / "check.sh")
        command = ["sh", str(_HERE / "boot.sh"), str(tree.root), str(out), str(group / "machine")]
        with (tree.folder / "boot.log").open("w") as log:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
        said = out / "check.log"
        if not said.exists():
            return f"systemd did not start the check (log: {tree.folder / 'boot.log'})"
        shutil.copy(said, tree.folder / "check.log")
        lines = said_lines(said)
        return lines[-1] if lines else "the check said nothing"


def said_lines(log: Path) -> list[str]:
    """Returns what a check said, without the commands that the shell traced."""
    return [line for line in log.read_text(errors="replace").splitlines() if not line.startswith("+")]


def main(words: Sequence[str]) -> int:
    """Checks the package in each suite; returns the exit code."""
    program = built()
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name:
        package = pack(program, program.with_name(LICENCES).read_text(), Path(name))
        results = {}
        for suite in words or _SUITES:
            try:
                results[suite] = check(systemd_tree(suite), package)
            except (CannotMake, OSError) as error:
                results[suite] = str(error)
            print(f"{suite}: {results[suite]}", flush=True)
    return int(any(result != WELL for result in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
