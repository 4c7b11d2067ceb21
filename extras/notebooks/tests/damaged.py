"""Damages experiments for the notebooks (tools/campaigns/mutations.py)."""

from pathlib import Path

from priolab.analysis.records.runs import load_experiment
from priolab.common.formats.reading import FolderError
from priolab.experiments.commands.console import Report
from priolab.extras.notebooks import lab


def _notebook() -> int:
    """Reads the folder as the notebooks do."""
    try:
        print(len(lab.arms(load_experiment(Path("here/given")))))
    except FolderError as error:
        Report().complain(str(error))
        return 1
    return 0


PROGRAMS = {"notebook": _notebook}
LOOKS = ("notebook",)
