"""The work of a guest: a task in each folder, and the module that has the tasks of all folders of a guest.

The module's name is in the guest's environment (MODULE), so guests with tasks of different modules are never the same.
"""

import os
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

MODULE = "PRIOLAB_TASKS"
"""The environment variable of a guest with the name of its module."""


class GuestTask(Protocol):
    """The work of a guest in a folder.

    seed: the seed of all random numbers. in_turns: True if its programs run in the order in which they were woken;
    False if the kernel's default scheduler chooses. programs: the programs to keep open for further tasks, each with
    the file tree in which it runs (None for this machine's).
    """

    seed: int
    in_turns: bool
    programs: Collection[tuple[str | None, str]]

    def prepare(self) -> None:
        """Does what must be done before the guest's first task."""

    def carry_out(self, folder: Path, *, seeded: bool, known_as: Path, later_s: int) -> None:
        """Carries out the task, in a process of its own, and writes the outcome into the folder.

        seeded: True if all random numbers follow from the seed. known_as: the folder's path on the host. later_s: how
        much later it begins than the first task of a guest.
        """


class Tasks(Protocol):
    """A module with tasks."""

    def begin(self) -> None:
        """Does what must precede everything else in a guest."""

    def warm_up(self) -> Any:
        """Makes hosts as tasks do, uses them and removes them, in a process of its own.

        The kernel makes some secrets when they are first needed, and enlarges some tables when they are first full. In
        both cases it draws random numbers. So every task finds the guest in the same state. Returns what `use` gets, as
        JSON has it.
        """

    def use(self, found: Any) -> None:
        """Gets the result of `warm_up`, before the first task."""

    def read_task(self, folder: Path) -> GuestTask:
        """Returns the task of a folder. Raises FileNotFoundError if the folder is gone."""


def tasks_of_guest() -> Tasks:
    """Returns the module whose tasks this guest carries out."""
    return cast("Tasks", import_module(os.environ[MODULE]))
