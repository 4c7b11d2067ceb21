"""The errand of a sandbox: what a guest imports.

On a real clock this module is a program: `python -m priolab.extras.sandbox.errand FOLDER`.
"""

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from priolab.experiments.results.run_folder import RunFolder
from priolab.extras.sandbox import world
from priolab.extras.sandbox.order import Files, Order
from priolab.netem.shaper_kind import Shaper


class Errand:
    """Carries out a sandbox's order."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._order = Order.from_document(settings)
        self.seed = self._order.seed
        self.in_turns = not self._order.fair
        self.programs: Collection[tuple[str | None, str]] = {(None, program) for program in self._order.programs}

    def prepare(self) -> None:
        """Does nothing: each order begins anew."""

    def carry_out(self, folder: RunFolder, *, seeded: bool, known_as: Path, later_s: int) -> None:  # noqa: ARG002
        """Carries out the order in a guest."""
        world.carry_out(self._order, Files(folder.path), Shaper.NETEM, seeded=seeded, later_s=later_s)


if __name__ == "__main__":
    here = RunFolder(Path(sys.argv[1]))
    world.carry_out(Order.read(here), Files(here.path), None, seeded=False)
