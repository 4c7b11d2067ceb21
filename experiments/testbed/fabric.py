"""The interface of a fabric: one way to make places. The table of fabrics is experiments/run/fabrics.py."""

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


class Fabric(Protocol):
    """One way to make places.

    merit: why one would choose it, in words. virtual_clock: whether time in the places jumps over idleness, so that
    link time costs next to nothing. runs_per_command: how many runs one command should carry out, one after the other.
    own_programs: whether the places have programs of their own, so that this machine needs none. tolerance: how far its
    link may be from what was asked.
    """

    name: str
    merit: str
    virtual_clock: bool
    runs_per_command: int
    own_programs: bool
    tolerance: Tolerance

    def probe(self, scenario: Scenario, shaper: Shaper | None) -> None:
        """Raises Unavailable, with the remedy, if this machine cannot run the scenario in this fabric."""

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """The shapers it knows, the preferred one first, each with the reason if it cannot be had here."""

    def kernel(self) -> str:
        """Names the kernel that the places run on."""

    def kernel_record(self) -> Mapping[str, Any]:
        """What run.json says of that kernel: `release`, and of a guest's how it was made (guest/kernel.py, Record)."""

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        """What the places will run; to capture, tcpdump as well. Raises Unavailable."""

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> None:
        """Make what all runs share, once. Raises StepFailed or Unavailable."""

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """The argument list that carries out the orders in the run folders; scratch is removed afterwards.

        A program named `afterwards` that it leaves in scratch is run when the command has ended, however it ended.
        """

    def places(self, order: Order, folder: RunFolder) -> AbstractContextManager[Places]:
        """The places, for whoever runs as that command."""
