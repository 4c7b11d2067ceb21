"""Sandboxes as the tasks of a guest. On a real clock this module is a program: `python -m ...sandbox.task FOLDER`."""

import sys
from collections.abc import Collection
from pathlib import Path

from priolab.netem.shaper_kind import Shaper
from priolab.testbed.guest.guest_start import begin_anew
from priolab.testbed.sandbox import runner
from priolab.testbed.sandbox.network import exercise
from priolab.testbed.sandbox.spec import Files, SandboxSpec

_SEED = 0


class SandboxTask:
    """Carries out a sandbox's spec."""

    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self.seed = spec.seed
        self.in_turns = not spec.fair
        self.programs: Collection[tuple[str | None, str]] = {(None, program) for program in spec.programs}

    def prepare(self) -> None:
        """Does nothing: each spec begins anew."""

    def carry_out(self, folder: Path, *, seeded: bool, known_as: Path, later_s: int) -> None:  # noqa: ARG002
        """Carries out the spec in a guest."""
        runner.carry_out(self._spec, Files(folder), Shaper.NETEM, seeded=seeded, later_s=later_s)


def begin() -> None:
    """Does nothing: a sandbox needs nothing before the kernel's clock stands at its first instant."""


def warm_up() -> None:
    """Makes two hosts with a link, and uses it in both directions.

    The kernel's secrets follow from a seed of their own, whichever programs of the first spec have been opened before.
    """
    begin_anew(_SEED)
    exercise()


def use(found: None) -> None:
    """Does nothing: `warm_up` has no result."""


def read_task(folder: Path) -> SandboxTask:
    """Returns the sandbox of a folder. Raises FileNotFoundError if the folder is gone."""
    return SandboxTask(SandboxSpec.read(Files(folder)))


if __name__ == "__main__":
    here = Files(Path(sys.argv[1]))
    runner.carry_out(SandboxSpec.read(here), here, None, seeded=False)
