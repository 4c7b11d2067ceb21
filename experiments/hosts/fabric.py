"""The interface of a fabric: a way to make places. The table of fabrics is experiments/run/fabrics.py."""

import platform
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from priolab.common.errors import Unavailable
from priolab.experiments.hosts.experiment_hosts import Hosts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.tools import Tools
from priolab.netem.calibration import Tolerance
from priolab.netem.shaper_kind import Shaper


class HostKernel:
    """The base class of fabrics whose places run on the kernel of this machine."""

    name: str

    def check_service(self, scenario: Scenario) -> None:
        """Raises Unavailable with SERVICE: only a guest's kernel lets the work of a server take time."""
        if scenario.service is not None:
            what, why = f"SERVICE={scenario.service} with FABRIC={self.name}", "on a real clock work takes its own time"
            raise Unavailable(what, why, "use FABRIC=virtual")

    def kernel(self) -> str:
        """Returns the release of this machine's kernel."""
        return platform.release()

    def kernel_record(self) -> Mapping[str, Any]:
        """Returns run.json's entry for this machine's kernel: the release, and nothing else."""
        return {"release": platform.release()}

    def kind(self, scenarios: Sequence[Scenario]) -> Hashable | None:  # noqa: ARG002
        """Returns None: a command ends with its runs."""
        return None

    def further(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> str:
        """Is never called, because a command ends with its runs."""
        raise NotImplementedError


class MakesHosts(Protocol):
    """The part of a fabric that the process of a run needs.

    tolerance: the allowed difference between the measured link and the requested link.
    """

    tolerance: Tolerance

    def places(self, spec: RunSpec, folder: RunFolder) -> AbstractContextManager[Hosts]:
        """Makes the places of a run. Called in the process that carries out the run."""


class Fabric(MakesHosts, Protocol):
    """A way to make places.

    merit: an advantage of the fabric, as the reason to choose it. virtual_clock: True if the clock of the places jumps
    over idle time, so that link time costs next to nothing. runs_per_command: the number of runs that one command
    should carry out, one after the other. own_programs: True if the places have their own programs, so that none have
    to be installed on this machine.
    """

    name: str
    merit: str
    virtual_clock: bool
    runs_per_command: int
    own_programs: bool

    def check_usable(self, scenario: Scenario, shaper: Shaper | None) -> None:
        """Raises Unavailable, with the remedy, if this machine cannot run the scenario in this fabric."""

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """Returns (shaper, reason) for each shaper of the fabric, the preferred shaper first.

        reason: why the shaper is unavailable on this machine; None if the shaper is available.
        """

    def kernel(self) -> str:
        """Returns the name of the kernel on which the places run."""

    def kernel_record(self) -> Mapping[str, Any]:
        """Returns run.json's entry for the places' kernel: `release`, in a guest also the build record (kernel.py)."""

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        """Returns the programs of the places. With capture, tcpdump is among them. Raises Unavailable."""

    def prepare(self, scenarios: Sequence[Scenario], shaper: Shaper | None, tell: Callable[[str], None]) -> None:
        """Does work that is needed once before all runs, such as building images. Raises StepFailed or Unavailable.

        shaper: None for any shaper of the fabric. tell: called with a line of progress before each step.
        """

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """Returns the argument list of the command that carries out the orders in the run folders.

        scratch: a folder for the command's files, which is removed after the command. If this method writes a program
        `afterwards` into the scratch folder, the lab runs this program when the command has ended, however it ended.
        """

    def kind(self, scenarios: Sequence[Scenario]) -> Hashable | None:
        """Returns a value that is equal for all scenarios that one command can carry out.

        Returns None if a command that has carried out these scenarios can carry out no others.
        """

    def further(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> str:
        """Returns the line for the standard input of a command that has carried out its orders: these are the next.

        scratch: the command's folder.
        """
