"""Experiments and sweeps for the notebooks, to be damaged (tests/support/damaged_input.py)."""

from collections.abc import Callable
from pathlib import Path

from priolab import FolderError, load_experiment, load_sweep
from priolab.experiments.commands.console import Report
from priolab.extras.notebooks import lab
from tests.support.damaged_input import KINDS as _CORE
from tests.support.damaged_input import Kind


def _told(read: Callable[[], object]) -> int:
    try:
        read()
    except FolderError as error:
        Report().complain(str(error))
        return 1
    return 0


def _notebook(here: Path) -> int:
    """Reads an experiment as the notebooks do."""
    return _told(lambda: lab.arms(load_experiment(here / "given")))


def _notebook_of_a_sweep(here: Path) -> int:
    """Reads a sweep as the notebooks do."""
    return _told(lambda: load_sweep(here / "given").tables)


KINDS = {
    "an experiment of a notebook": Kind(make=_CORE["an experiment"].make, commands=(_notebook,)),
    "a sweep of a notebook": Kind(make=_CORE["a sweep"].make, commands=(_notebook_of_a_sweep,)),
}
