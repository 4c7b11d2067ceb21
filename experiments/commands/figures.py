"""`priolab figures`: draws all figures of an experiment."""

from argparse import ArgumentParser, Namespace

from priolab.analysis.figures import all_figures
from priolab.analysis.records.runs import load_experiment
from priolab.common.errors import StepFailed
from priolab.common.formats.reading import FolderError
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_experiment, experiment_folder

_STEP = "drawing figures"


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab figures` to its parser."""
    add_experiment(parser)
    parser.set_defaults(do=draw)


def draw(options: Namespace, report: Report) -> int:
    """Draws the figures into the results folder. Returns 0. Raises LabError."""
    folder = experiment_folder(options)
    try:
        experiment = load_experiment(folder)
        with report.busy("drawing"):
            paths = all_figures.save(experiment)
    except (FolderError, OSError) as error:
        raise StepFailed(_STEP, str(error)) from error
    if not paths:
        raise StepFailed(_STEP, f"{folder}: no run is ok")
    report.figures(paths, folder)
    return 0
