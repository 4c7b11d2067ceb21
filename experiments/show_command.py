"""The command `priolab show`."""

from argparse import ArgumentParser, Namespace

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.common.errors import StepFailed
from priolab.common.exit_codes import exit_code
from priolab.common.formats.reading import FolderError
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_experiment, experiment_folder
from priolab.experiments.sweep import command


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab show` to its parser."""
    add_experiment(parser)
    parser.add_argument(
        "--json", action="store_true", help="print the summary as JSON; docs/reference/results.md describes it"
    )
    parser.set_defaults(do=show)


def show(options: Namespace, report: Report) -> int:
    """Shows the results of an experiment or a sweep. Returns the exit code. Raises LabError."""
    folder = experiment_folder(options)
    try:
        if command.is_sweep(folder) and not options.json:
            return command.present(folder, report)
        experiment = load_experiment(folder)
        summary = summarize(experiment)
    except FolderError as error:
        raise StepFailed("showing results", str(error)) from error
    if options.json:
        report.document(summary)
    else:
        report.link(list(experiment.arms().values())[-1][0].scenario)
        report.summary(summary)
        report.summary_ends()
    return exit_code(ok=summary["status"] == "ok")
