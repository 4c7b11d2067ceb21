"""The fabric `netns`: places are network namespaces of the host, on real clocks, for root or an ordinary user."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from priolab.common.formats.scenario import AUTO
from priolab.common.process import processes
from priolab.common.process.search_path import find
from priolab.experiments.hosts.experiment_hosts import Hosts, run_label
from priolab.experiments.hosts.fabric import HostKernel
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.programs import tools_for
from priolab.experiments.setup.tools import Tools
from priolab.netem import calibration
from priolab.netem.shaper_kind import Shaper
from priolab.testbed import cgroup, namespace_requirements


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
        """Raises Unavailable without namespaces, or without what a link of the scenario needs."""
        self.check_service(scenario)
        namespace_requirements.check_machine()
        namespace_requirements.check_links([scenario.link], scenario.front_qdisc, shaper)

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """Returns (netem, reason), then (ferry, reason). reason: why the shaper is unavailable; None if available."""
        return (
            (Shaper.NETEM, namespace_requirements.no_netem()),
            (Shaper.FERRY, None if find("ethtool") else "ethtool is not installed"),
        )

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
        if scenario.lowat == AUTO and os.geteuid() == 0:
            afterwards = scratch / "afterwards"
            afterwards.write_text(cgroup.removal(run_label(folder), scratch))
            afterwards.chmod(0o755)
        arm = [*processes.module("priolab.experiments.run.process"), str(folder.path)]
        return ["env", f"TMPDIR={scratch}", *namespace_requirements.entering(), *arm]

    def places(self, spec: RunSpec, folder: RunFolder) -> AbstractContextManager[Hosts]:
        """Returns places that are network namespaces of this machine's kernel."""
        # Only the process of a run needs this module.
        from priolab.experiments.hosts.namespaces.experiment_topology import topology_of
        from priolab.experiments.hosts.namespaces.namespaces import Namespaces, tuner_of

        return Namespaces(topology_of(spec.scenario), None, tuner_of(spec, run_label(folder)))
