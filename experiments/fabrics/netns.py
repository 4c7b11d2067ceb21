"""Network namespaces of the host: real time, the host's kernel."""

import os
import shutil
import sys
from pathlib import Path

from experiments import processes
from experiments.errors import StepFailed, Unavailable
from experiments.record import RunFolder
from experiments.scenario import Scenario

_REMEDY = "use FABRIC=virtual"


class Netns:
    """The arm is the first process of a PID namespace: when it ends, so does everything it started."""

    name = "netns"
    virtual_clock = False

    def check(self, scenario: Scenario) -> None:
        """Needs root, the tools, and for a shaped link sch_netem in the host's kernel."""
        what = f"FABRIC={self.name}"
        if os.geteuid() != 0:
            raise Unavailable(what, "it needs root", _REMEDY)
        for tool in ("unshare", "ip", "tc", "ethtool"):
            if shutil.which(tool) is None:
                raise Unavailable(what, f"{tool} is not installed", "install iproute2, ethtool and util-linux")
        if scenario.link.shaped and not _has_netem():
            raise Unavailable(what, "this kernel has no sch_netem to make the link with", _REMEDY)

    def command(self, scenario: Scenario, folder: RunFolder, scratch: Path) -> list[str]:
        """unshare(1) makes the PID namespace and mounts its /proc."""
        del scenario
        arm = [sys.executable, "-m", "experiments.arm", str(folder.path)]
        return ["env", f"TMPDIR={scratch}", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *arm]


def _has_netem() -> bool:
    """Whether a netem qdisc can be had, tried in a network namespace of its own."""
    attempt = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    try:
        processes.run(attempt, step="looking for netem")
    except StepFailed:
        return False
    return True
