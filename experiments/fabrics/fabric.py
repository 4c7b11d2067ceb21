"""What every fabric offers, and the table of them."""

from pathlib import Path
from typing import Protocol

from experiments.errors import ScenarioError
from experiments.fabrics.netns import Netns
from experiments.fabrics.virtual import Virtual
from experiments.record import RunFolder
from experiments.scenario import Scenario


class Fabric(Protocol):
    """One way to make places.

    virtual_clock: whether time in the places jumps over idleness, so that link time costs next to nothing.
    """

    name: str
    virtual_clock: bool

    def check(self, scenario: Scenario) -> None:
        """Raises Unavailable, with the remedy, if this machine cannot run the scenario in this fabric."""

    def command(self, scenario: Scenario, folder: RunFolder, scratch: Path) -> list[str]:
        """The argument list that carries out the order in the run folder; scratch is removed afterwards."""


FABRICS: dict[str, Fabric] = {fabric.name: fabric for fabric in (Virtual(), Netns())}


def fabric_named(name: str) -> Fabric:
    """Raises ScenarioError for a name that is not a fabric's."""
    if name not in FABRICS:
        raise ScenarioError("FABRIC", name, ", ".join(FABRICS))
    return FABRICS[name]
