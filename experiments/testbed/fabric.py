"""The interface of a fabric: a way to make places. The table of fabrics is experiments/run/fabrics.py."""

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from experiments.host.tools import Tools
from experiments.results.order import Order
from experiments.results.run_folder import RunFolder
from experiments.scenario.scenario import Scenario
from experiments.testbed.places import Places
from netem.calibration import Tolerance
from netem.shaper import Shaper


class HostKernel:
    """The part of a fabric whose places run on the kernel of this machine."""

    def kernel(self) -> str:
        """The kernel of this machine."""
        return platform.release()

    def kernel_record(self) -> Mapping[str, Any]:
        """The release alone; no more is known of this machine's kernel."""
        return {"release": platform.release()}


class Fabric(Protocol):
    """A way to make places.

    merit: the reason to choose it, in words. virtual_clock: True if the places' time jumps over idleness, so that link
    time costs next to nothing. runs_per_command: the number of runs one command should carry out, one after the other.
    own_programs: True if the places bring their own programs, so that this machine needs none. tolerance: the allowed
    deviation of its link from what was asked.
    """

    name: str
    merit: str
    virtual_clock: bool
    runs_per_command: int
    own_programs: bool
    tolerance: Tolerance

    def check_usable(self, scenario: Scenario, shaper: Shaper | None) -> None:
        """Raises Unavailable, with the remedy, if this machine cannot run the scenario in this fabric."""

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """The shapers it knows, the preferred one first, each with the reason if it is unavailable here."""

    def kernel(self) -> str:
        """Names the kernel that the places run on."""

    def kernel_record(self) -> Mapping[str, Any]:
        """run.json's entry for that kernel: `release`, and a guest's build record (guest/kernel.py, BuildRecord)."""

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        """The programs of the places; to capture, tcpdump as well. Raises Unavailable."""

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> None:
        """Makes what all runs share, once. Raises StepFailed or Unavailable."""

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """The argument list that carries out the orders in the run folders; scratch is removed afterwards.

        A program named `afterwards` that it leaves in scratch is run when the command has ended, however it ended.
        """

    def places(self, order: Order, folder: RunFolder) -> AbstractContextManager[Places]:
        """The places, for the process that runs as that command."""
