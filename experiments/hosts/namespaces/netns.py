"""The fabric `netns`: places are network namespaces of the host, on real clocks, for root or an ordinary user."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from priolab.common.limits import too_low_for_run
from priolab.experiments.hosts.fabric import HostKernel
from priolab.experiments.hosts.namespaces.front_shaper_check import check_egress
from priolab.experiments.hosts.places import Places, run_label
from priolab.experiments.results.order import Order
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import LOWAT_AUTO, Scenario
from priolab.experiments.setup.machine import no_namespaces
from priolab.experiments.setup.programs import tools_for
from priolab.experiments.setup.tools import Tools
from priolab.netem import calibration
from priolab.netem.availability import TRIAL, lack_of_netem, refusal
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.errors import RAISE_LIMIT, StepFailed, Unavailable
from priolab.testbed.process import processes
from priolab.testbed.process.search_path import find
from priolab.testbed.topology import cgroup
from priolab.testbed.topology.qdisc_check import check_qdisc

_OTHER = "use another FABRIC"


class Netns(HostKernel):
    """The fabric `netns`: a job is the first process of a PID namespace. When the job ends, its processes end.

    An ordinary user's job is also in a user namespace, in which the job has root's rights over its network namespaces.
    """

    name = "netns"
    merit = "real clocks, without containers"
    virtual_clock = False
    runs_per_command = 1
    own_programs = False
    tolerance = calibration.REAL

    def check_usable(self, scenario: Scenario, shaper: Shaper | None) -> None:
        """Raises Unavailable without unshare, ip, tc, or the right to make namespaces, as root or in a user namespace.

        sch_netem is required only for SHAPER=netem, and ethtool only for the ferry.
        """
        self.check_service(scenario)
        what = f"FABRIC={self.name}"
        for tool, package in (("unshare", "util-linux"), ("ip", "iproute2"), ("tc", "iproute2")):
            if find(tool) is None:
                raise Unavailable(what, f"{tool} is not installed", f"install {package}")
        if lack := too_low_for_run(0):
            raise Unavailable(what, lack, RAISE_LIMIT)
        try:
            processes.run([*entering(), "ip", "link", "add", "type", "veth"], step="trying namespaces")
        except StepFailed as error:
            raise Unavailable(what, f"namespaces cannot be made: {_said(error)}", _remedy()) from error
        check_egress(scenario, shaper, no_netem)
        check_qdisc(scenario.link, scenario.front_qdisc, shaper, no_netem, _no_qdisc)
        if scenario.link.shaped:
            if shaper is Shaper.NETEM and (reason := no_netem()):
                raise Unavailable(f"SHAPER={shaper}", reason, "use SHAPER=ferry, or FABRIC=virtual")
            if (shaper is Shaper.FERRY or no_netem()) and find("ethtool") is None:
                raise Unavailable(f"SHAPER={Shaper.FERRY}", "ethtool is not installed", "install ethtool")

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """Returns (netem, reason), then (ferry, reason). reason: why the shaper is unavailable; None if available."""
        return ((Shaper.NETEM, no_netem()), (Shaper.FERRY, None if find("ethtool") else "ethtool is not installed"))

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        """Returns the programs of this machine."""
        return tools_for(scenario, capture=capture)

    def prepare(self, *_: object) -> None:
        """Does nothing, because runs share nothing."""

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """Returns the job's command, in which unshare(1) makes the PID namespace and mounts its /proc.

        Also writes the program that removes the run's cgroup after the command, if the run may make a cgroup.
        """
        ((scenario, folder),) = runs
        if scenario.lowat == LOWAT_AUTO and os.geteuid() == 0:
            afterwards = scratch / "afterwards"
            afterwards.write_text(cgroup.removal(run_label(folder), scratch))
            afterwards.chmod(0o755)
        arm = [*processes.module("priolab.experiments.run.process"), str(folder.path)]
        return ["env", f"TMPDIR={scratch}", *entering(), *arm]

    def places(self, order: Order, folder: RunFolder) -> AbstractContextManager[Places]:
        """Returns places that are network namespaces of this machine's kernel."""
        # Only the process of a run needs this module.
        from priolab.experiments.hosts.namespaces.namespaces import Namespaces, tuner_of

        return Namespaces(None, tuner_of(order, run_label(folder)), via=order.scenario.via)


def entering() -> list[str]:
    """Returns the start of the job's command, which runs the rest of the command in new namespaces.

    The new namespaces include a network namespace, to which the job returns from its places. An ordinary user
    may not return to the network namespace of the host.
    """
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    return ["unshare", *user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def no_netem() -> str | None:
    """Returns the reason why this kernel has no netem; None if it has. Tries netem in a new network namespace."""
    try:
        processes.run([*entering(), "true"], step="trying namespaces")
    except StepFailed as error:
        return f"netem cannot be tried without namespaces: {_said(error)}"
    try:
        processes.run([*entering(), *TRIAL[0]], step="looking for netem")
    except StepFailed as error:
        return lack_of_netem(error.reason)
    return None


def _no_qdisc(qdisc: str) -> str | None:
    try:
        processes.run([*entering(), "tc", "qdisc", "add", "dev", "lo", "root", qdisc], step="looking for a qdisc")
    except StepFailed as error:
        return refusal(qdisc, error.reason)
    return None


def _said(error: StepFailed) -> str:
    """Returns what the program wrote, without its command, which is long."""
    return error.reason.partition(" ended with ")[2] or error.reason


def _remedy() -> str:
    if os.geteuid() == 0:
        return _OTHER
    return f"{no_namespaces() or 'run as root'}, or {_OTHER}"
