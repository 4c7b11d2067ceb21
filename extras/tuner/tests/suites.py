"""`make tuner-suites`: installs the tuner's package in bare trees of Debian's suites, whose systemd then starts it.

    python -m priolab.extras.tuner.tests.suites [SUITE ...]

systemd is the first process in namespaces of its own, on this machine's kernel; `make tuner-machines` does the same in
emulated machines, with the kernels of the suites. package_check.sh says what is checked: installation, start, reload,
kills, the watchdog, broken settings, and that removal leaves nothing. Needs root and debootstrap.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from priolab.extras.tuner.debian_package import pack
from priolab.extras.tuner.program import LICENCES, NAME, built
from tools.suites import systemd
from tools.suites.tree import CannotMake, Tree

CHECK = Path(__file__).with_name("package_check.sh")
WELL = "all is well"
_SUITES = ("bookworm", "trixie", "sid")


def check(tree: Tree, package: Path) -> str:
    """Boots the tree and checks the package there; returns the last line of the log. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name:
        out = Path(name)
        shutil.copy(package, out / f"{NAME}.deb")
        shutil.copy(CHECK, out / "check.sh")
        log = systemd.boot(tree, out)
        said = out / "check.log"
        if not said.exists():
            return f"systemd did not start the check (log: {log})"
        shutil.copy(said, tree.folder / "check.log")
        lines = systemd.said_lines(said)
        return lines[-1] if lines else "the check said nothing"


def main(words: Sequence[str]) -> int:
    """Checks the package in each suite; returns the exit code."""
    program = built()
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name:
        package = pack(program, program.with_name(LICENCES).read_text(), Path(name))
        results = {}
        for suite in words or _SUITES:
            try:
                results[suite] = check(systemd.systemd_tree(suite), package)
            except (CannotMake, OSError) as error:
                results[suite] = str(error)
            print(f"{suite}: {results[suite]}", flush=True)
    return int(any(result != WELL for result in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
