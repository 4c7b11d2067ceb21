"""The command `priolab run`."""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence

from priolab.common.exit_codes import exit_code
from priolab.common.process.interruption import held_back
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.drawing import drawing, no_figures, timeline
from priolab.experiments.commands.first_run import FirstRun, build_afterwards, first_run
from priolab.experiments.commands.guest_kernel import built_kernel
from priolab.experiments.commands.options import add_words, given_words
from priolab.experiments.execution.cli_request import RUN_KNOBS, RunKnob, request_from
from priolab.experiments.results.run_folder import wrecks
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.named import catalogue

_EXAMPLES = """\
examples:
  priolab run LOWAT=131072                                  the demonstration: LOWAT unset, and 131072
  priolab run SERVER=nginx,h2o LOWAT=none,16384 REPEAT=3    four arms, three times each
  priolab run modem --seed 7 --capture yes                  a named scenario, with the packets
"""


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab run` to its parser: one for each knob, too."""
    about = "`priolab list` shows the scenarios; the knobs are below, and a wrong value is refused with what is allowed"
    add_words(parser, "SCENARIO or KNOB=VALUE", about)
    parser.formatter_class, parser.epilog = RawDescriptionHelpFormatter, _EXAMPLES
    parser.usage = "%(prog)s [-h] [SCENARIO] [KNOB=VALUE ...] [--KNOB VALUE ...] [--print-folder]"
    groups: Sequence[tuple[str, Iterable[Knob | RunKnob]]] = (
        ("what is measured", KNOBS.values()),
        ("how it is run", RUN_KNOBS.values()),
    )
    for title, knobs in groups:
        group = parser.add_argument_group(f"{title}; each is also a word KNOB=VALUE")
        for knob in knobs:
            option = "--" + knob.name.lower().replace("_", "-")
            about = f"{knob.meaning} (default: {knob.default})".replace("%", "%%")
            group.add_argument(option, dest=knob.name, metavar="VALUE", help=about)
    parser.add_argument(
        "--print-folder",
        action="store_true",
        help="print only the path of the results folder; progress goes to standard error",
    )
    parser.set_defaults(do=run, offers={"words": catalogue})


def run(options: Namespace, report: Report) -> int:
    """Runs an experiment, and shows its results and its picture. Returns the exit code. Raises LabError."""
    words = given_words(options, report)

    def build() -> None:
        built_kernel(report)

    if options.from_make:
        first = first_run(words, report, build)
    else:
        first = FirstRun(request=request_from(words), builds_afterwards=False)
    request = first.request
    lack = no_figures()
    with drawing(
        wanted=lack is None and request.run_settings.fabric.virtual_clock and not options.print_folder
    ) as soon:
        for wreck in wrecks(request.results):
            from priolab.experiments.sweep.folder import wreck_in_words

            report.say(wreck_in_words(wreck), "yellow")
        report.announce(request)
        with held_back():  # what takes long to import comes here, beside the drawing process and the arms
            from priolab.experiments.execution.experiment import run_experiment
        with report.progress(request) as progress:
            folder = run_experiment(request, progress)
        options.kept = lambda: f"{folder} is complete, but its picture is not drawn"
        if soon is not None:
            soon.begin(folder)
        with held_back():
            from priolab.analysis.records.runs import load_experiment
            from priolab.analysis.reports.summary import summarize
        experiment = load_experiment(folder)
        if options.print_folder:
            print(folder)
            return exit_code(ok=all(run.status == "ok" for run in experiment.runs))
        summary = summarize(experiment)
        report.summary(summary)
        if lack is None:
            with report.busy("drawing the timeline"):
                drawn = timeline(experiment, soon)
        else:
            report.say(f"note: {lack}", "yellow")
            drawn = []
        report.figures(drawn, folder)
        report.summary_ends()
    if first.builds_afterwards:
        options.kept = lambda: f"{folder} is complete, and the next build of the kernel continues where this one ended"
        build_afterwards(report, build)
    return exit_code(ok=summary["status"] == "ok")
