"""An errand: what a guest carries out in a folder. It is a run of the lab, or the work of an extra.

A folder with a file asked/errand.json is an extra's. The file names the module whose class `Errand` is the errand, and
has its settings. The core imports this module in the guest alone. Every other folder is that of a run.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from priolab.experiments.hosts.inside import InGuest
from priolab.experiments.hosts.namespaces.namespaces import known_beforehand
from priolab.experiments.results.order import Order
from priolab.experiments.results.run_folder import RunFolder, read_json
from priolab.experiments.run.process import carry_out
from priolab.experiments.setup.tools import FRONT

MODULE = "module"
"""The key of errand.json that names the module."""


class Errand(Protocol):
    """The work of a guest in a folder.

    seed: the seed of all random numbers. in_turns: True if its programs run in the order in which they were woken;
    False if the kernel's default scheduler chooses. programs: the programs to keep open for further errands, each with
    the file tree in which it runs (None for this machine's).
    """

    seed: int
    in_turns: bool
    programs: Collection[tuple[str | None, str]]

    def prepare(self) -> None:
        """Does what must be done before the guest's first errand."""

    def carry_out(self, folder: RunFolder, *, seeded: bool, known_as: Path, later_s: int) -> None:
        """Carries out the errand, in a process of its own, and writes the outcome into the folder.

        seeded: True if all random numbers follow from the seed. known_as: the folder's path on the host. later_s: how
        much later it begins than the first errand of a guest.
        """


class ArmErrand:
    """A run of the lab."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.seed = order.seed
        self.in_turns = not order.scenario.client.is_browser
        self.programs: Collection[tuple[str | None, str]] = {
            (order.root if name == FRONT else None, program) for name, program in order.programs.items()
        }

    def prepare(self) -> None:
        """Finds out how Node reads the clock."""
        known_beforehand(self._order.programs["node"])

    def carry_out(self, folder: RunFolder, *, seeded: bool, known_as: Path, later_s: int) -> None:
        """Runs the arm."""
        carry_out(folder, InGuest(later_s), self._order, seeded=seeded, known_as=known_as)


def read_errand(folder: RunFolder) -> Errand:
    """Returns the errand of a folder. Raises FileNotFoundError if the folder is gone."""
    if not folder.errand.exists():
        return ArmErrand(Order.read(folder))
    settings: Mapping[str, Any] = read_json(folder.errand)
    errand: Errand = import_module(settings[MODULE]).Errand(settings)
    return errand
