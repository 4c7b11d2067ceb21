"""The command line, `priolab`. It reports each error of the lab by one line on standard error and an exit code.

Exit codes: 0 done; 1 failed, or a run is invalid; 2 bad input; 128 plus the signal's number if interrupted; 128 plus
the number of SIGPIPE if the reader of the output closed the pipe.

Each command has a function that prepares its parser. This function imports the modules that the command needs, adds
the command's options to the parser, and stores in the parser, as `do`, the function that carries the command out. The
lab prepares the parser of the given command alone, because importing the modules of all commands takes half a second.
It does so before signals begin to raise exceptions, because no exception may interrupt an import.
"""

import argparse
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TextIO

from common.formats.files import FolderError
from experiments.commands.console import Report
from experiments.errors import LabError, ScenarioError, StepFailed
from experiments.execution.invocation import RUN_KNOBS, RunKnob, ignored, request_from, split_words, words_of_make
from experiments.host.interruption import Interrupted, raise_interrupted
from experiments.scenario.knob import Knob
from experiments.scenario.knobs import KNOBS

_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; returns the exit code.

    arguments: the words after `priolab`; None for the words of this process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    options = _options(command_line(words), words)
    options.kept = None  # a command may set a function that describes what an interruption leaves
    options.print_folder = getattr(options, "print_folder", False)
    report = Report(aside=options.print_folder)
    try:
        raise_interrupted()
        code = int(options.do(options, report) or 0)
        if not _is_closed(sys.stdout):
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader closed the pipe; Python's remaining output must not fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except ScenarioError as error:
        report.complain(str(error))
        return _BAD_INPUT
    except (LabError, FolderError) as error:
        report.complain(str(error))
        return 1
    except MemoryError:
        report.complain(f"there is not enough memory; {_kept(options)}")
        return 1
    except OSError as error:  # for example a full disk
        report.complain(f"{error.filename or 'writing'}: {error.strerror or error}; {_kept(options)}")
        return 1
    except Interrupted as interruption:
        report.complain(f"interrupted by {interruption.name}; {_kept(options)}")
        return interruption.code


def _is_closed(stream: TextIO | None) -> bool:
    """True if this process was started without the stream, as by `priolab ... >&-`."""
    return stream is None


def _kept(options: Namespace) -> str:
    """Returns the end of an error message: the part that says which files the unfinished command has left."""
    return str(options.kept()) if options.kept else "nothing was kept"


def command_line(arguments: Sequence[str]) -> ArgumentParser:
    """Builds the parser. If the first argument is a command, the parser knows this command alone, with its options."""
    parser = ArgumentParser(prog="priolab", description="The priority lab.", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    named = arguments[0] if arguments else ""
    for name in [named] if named in _COMMANDS else _COMMANDS:
        about, add_options = _COMMANDS[name]
        command = commands.add_parser(name, help=about, allow_abbrev=False)
        if name == named:
            add_options(command)
    return parser


def _options(parser: ArgumentParser, words: Sequence[str]) -> Namespace:
    """Parses the command line. Words such as LOWAT=16384 may follow an option, which argparse alone would refuse."""
    options, later = parser.parse_known_args(words)
    if later and (not hasattr(options, "words") or any(word.startswith("-") for word in later)):
        parser.error(f"unrecognized arguments: {' '.join(later)}")
    if later:
        options.words += later
    return options


def _add_experiment(parser: ArgumentParser, default: str | None = "latest") -> None:
    parser.add_argument(
        "experiment",
        nargs="?",
        default=default,
        help=f"a results folder, or its name in the folder of --results (default: {default or 'the newest sweep'})",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        help="the folder that holds the results folders (default: results)",
    )


def _folder(options: Namespace) -> Path:
    """Returns the results folder that the command line names."""
    if not options.experiment:
        raise ScenarioError("experiment", "", "a results folder, or its name in the folder of --results")
    named = Path(options.experiment)
    return (named if named.is_dir() else Path(options.results) / named).resolve()


def _add_words(parser: ArgumentParser, metavar: str, about: str) -> None:
    parser.add_argument("words", nargs="*", metavar=metavar, help=about)
    parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)


def _all_knobs() -> list[Knob | RunKnob]:
    return [*KNOBS.values(), *RUN_KNOBS.values()]


def _words(options: Namespace, report: Report) -> dict[str, str]:
    words = list(options.words)
    if options.from_make:
        words += words_of_make()
    for knob in _all_knobs():
        if (value := getattr(options, knob.name, None)) is not None:
            words.append(f"{knob.name}={value}")
    for sentence in ignored(words):
        report.note(sentence)
    return split_words(words)


def _run(parser: ArgumentParser) -> None:
    from analysis.records.runs import load_experiment
    from analysis.reports.summary import summarize
    from experiments.commands.drawing import drawing, timeline
    from experiments.commands.first_run import FirstRun, build_afterwards, first_run
    from experiments.commands.guest_kernel import built_kernel
    from experiments.execution.experiment import run_experiment
    from experiments.results.run_folder import wrecks
    from experiments.sweep.folder import wreck_in_words

    _add_words(parser, "SCENARIO or KNOB=VALUE", "`priolab list` shows the scenarios, docs/knobs.md the knobs")
    for knob in _all_knobs():
        option = "--" + knob.name.lower().replace("_", "-")
        about = f"{knob.meaning} (default: {knob.default})".replace("%", "%%")
        parser.add_argument(option, dest=knob.name, metavar="VALUE", help=about)
    parser.add_argument(
        "--print-folder",
        action="store_true",
        help="print only the path of the results folder; progress goes to standard error",
    )

    def run(options: Namespace, report: Report) -> int:
        words = _words(options, report)

        def build() -> None:
            built_kernel(report)

        if options.from_make:
            first = first_run(words, report, build)
        else:
            first = FirstRun(request=request_from(words), builds_afterwards=False)
        request = first.request
        for wreck in wrecks(request.results):
            report.say(wreck_in_words(wreck), "yellow")
        report.announce(request)
        with drawing(wanted=request.manner.fabric.virtual_clock and not options.print_folder) as soon:
            with report.progress(request) as progress:
                folder = run_experiment(request, progress)
            options.kept = lambda: f"{folder} is complete, but its picture is not drawn"
            if soon is not None:
                soon.begin(folder)
            experiment = load_experiment(folder)
            if options.print_folder:
                print(folder)
                return 0 if all(run.status == "ok" for run in experiment.runs) else 1
            summary = summarize(experiment)
            report.summary(summary)
            with report.busy("drawing the timeline"):
                drawn = timeline(experiment, soon)
            report.figures(drawn, folder)
        if first.builds_afterwards:
            options.kept = lambda: (
                f"{folder} is complete, and the next build of the kernel continues where this one ended"
            )
            build_afterwards(report, build)
        return 0 if summary["status"] == "ok" else 1

    parser.set_defaults(do=run)


def _sweep(parser: ArgumentParser) -> None:
    from experiments.sweep import command

    command.add_to(parser)


def _reproduce(parser: ArgumentParser) -> None:
    from experiments.execution.command_process import keep_guests
    from experiments.studies.reproduce import reproduce

    _add_words(parser, "KNOB=VALUE", "FABRIC, SHAPER, RESULTS or REUSE")
    parser.add_argument(
        "--out", type=Path, help="folder for the web page that shows the comparison (default: results/reproduction)"
    )

    @keep_guests()
    def do(options: Namespace, report: Report) -> int:
        return 0 if reproduce(_words(options, report), options.out, report) else 1

    parser.set_defaults(do=do)


def _show(parser: ArgumentParser) -> None:
    from analysis.records.runs import load_experiment
    from analysis.reports.summary import summarize
    from experiments.sweep import command

    _add_experiment(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON; docs/results.md describes it")

    def show(options: Namespace, report: Report) -> int:
        folder = _folder(options)
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
        return 0 if summary["status"] == "ok" else 1

    parser.set_defaults(do=show)


def _export(parser: ArgumentParser) -> None:
    from analysis.exports.formats import FORMATS
    from experiments.commands.export import export

    _add_experiment(parser)
    parser.add_argument("--to", required=True, metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument(
        "--out", metavar="PATH", help="the folder or file to write (default: the folder exports in the results folder)"
    )

    def do(options: Namespace, report: Report) -> int:
        if options.out == "":
            raise ScenarioError("--out", "", "a folder, or a file")
        exported = export(_folder(options), options.to, None if options.out is None else Path(options.out))
        report.exported(exported.paths, exported.notes)
        return 0

    parser.set_defaults(do=do)


def _figures(parser: ArgumentParser) -> None:
    from analysis.figures import album
    from analysis.records.runs import load_experiment

    _add_experiment(parser)

    def figures(options: Namespace, report: Report) -> int:
        folder = _folder(options)
        try:
            experiment = load_experiment(folder)
            with report.busy("drawing"):
                paths = album.save(experiment)
        except (FolderError, OSError) as error:
            raise StepFailed("drawing figures", str(error)) from error
        if not paths:
            raise StepFailed("drawing figures", f"{folder}: no run is ok")
        report.figures(paths, folder)
        return 0

    parser.set_defaults(do=figures)


def _knee(parser: ArgumentParser) -> None:
    from experiments.commands import knee

    _add_experiment(parser, default=None)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON; docs/results.md describes it")

    def show(options: Namespace, report: Report) -> int:
        folder = knee.newest(options.results.resolve()) if options.experiment is None else _folder(options)
        return knee.show(folder, report, as_json=options.json)

    parser.set_defaults(do=show)


def _list(parser: ArgumentParser) -> None:
    from experiments.sweep import listing

    parser.add_argument(
        "words",
        nargs="*",
        metavar="SWEEP or KNOB=VALUE,...",
        help="list the arms of this sweep, which is given as for `priolab sweep` (default: list all names)",
    )
    parser.set_defaults(do=listing.show)


def _doctor(parser: ArgumentParser) -> None:
    from experiments.commands import doctor

    parser.set_defaults(do=doctor.show)


def _agreement(parser: ArgumentParser) -> None:
    from experiments.studies import agreement

    parser.add_argument("file", type=Path, help="the document to write")
    parser.add_argument("--kernels", action="store_true", help="compare only the guest's kernels")

    def do(options: Namespace, report: Report) -> int:
        write = agreement.write_kernels if options.kernels else agreement.write
        return 0 if write(options.file, report) else 1

    parser.set_defaults(do=do)


def _auto(parser: ArgumentParser) -> None:
    from experiments.studies import auto

    parser.add_argument("file", type=Path, help="the document to write; its picture goes into the same folder")
    parser.add_argument("words", nargs="*", metavar="KNOB=VALUE", help="FABRIC, SHAPER or RESULTS")
    parser.set_defaults(
        from_make=False,
        do=lambda options, report: 0 if auto.write(options, _words(options, report), report) else 1,
    )


def _demo(parser: ArgumentParser) -> None:
    from experiments.demo import command

    _add_words(parser, "KNOB=VALUE", "FABRIC, SHAPER or RESULTS")
    command.add_to(parser)
    parser.set_defaults(do=lambda options, report: command.serve(options, _words(options, report), report))


def _slides(parser: ArgumentParser) -> None:
    from experiments.demo import slides

    _add_words(parser, "KNOB=VALUE", "FABRIC, SHAPER or RESULTS")
    parser.add_argument("--out", type=Path, help="the folder to write (default: results/slides)")
    parser.set_defaults(
        do=lambda options, report: report.exported(slides.export(_words(options, report), options.out, report), [])
    )


def _matrix(parser: ArgumentParser) -> None:
    from experiments.studies import matrix

    parser.add_argument(
        "file", type=Path, help="the .md file to write; the files .html and .json are written beside it"
    )
    _add_words(
        parser, "KNOB=VALUE", "SERVER and DIALECT, with one or more values (a,b); FABRIC, SHAPER, RESULTS or REUSE"
    )
    parser.set_defaults(do=lambda options, report: 0 if matrix.write(options, _words(options, report), report) else 1)


def _writing(study: str) -> Callable[[ArgumentParser], None]:
    """Returns a function that adds the options of a study whose result is a document. study: the study's module."""

    def add(parser: ArgumentParser) -> None:
        from experiments.execution.command_process import keep_guests

        write = keep_guests()(import_module(f"experiments.studies.{study}").write)
        parser.add_argument("file", type=Path, help="the document to write; its pictures go into the same folder")
        parser.set_defaults(do=lambda options, report: write(options.file, report))

    return add


def _probe(parser: ArgumentParser) -> None:
    from experiments.commands import probe

    probe.add_to(parser)


def _gate(parser: ArgumentParser) -> None:
    from experiments.gate import command

    command.add_to(parser)


def _trace(parser: ArgumentParser) -> None:
    from experiments.commands import trace

    trace.add_to(parser)


def _tune(parser: ArgumentParser) -> None:
    from experiments.commands import tune

    tune.add_to(parser)


def _setup(parser: ArgumentParser) -> None:
    from experiments.commands.setup import set_up
    from experiments.host.home import in_checkout
    from experiments.host.setup_request import SetupPart

    about = f"PART: {', '.join(SetupPart)}; knobs such as SERVER=h2o"
    parser.add_argument("words", nargs="*", metavar="PART or KNOB=VALUE", help=about)

    def do(options: Namespace, _: Report) -> int:
        knobs = split_words(word for word in options.words if "=" in word and not word.startswith("SWEEP="))
        for name in filter(None, map(str.strip, knobs.get("SERVER", "").split(","))):
            try:
                KNOBS["SERVER"].parse(name)
            except ValueError as error:
                raise ScenarioError("SERVER", name, KNOBS["SERVER"].allowed) from error
        options.kept = lambda: "what was already installed is kept"
        return set_up(options.words, makes_environment=in_checkout())

    parser.set_defaults(do=do)


def _roots(parser: ArgumentParser) -> None:
    from experiments.commands import suite_roots

    parser.add_argument("names", nargs="*", metavar="NAME@SUITE", help="a server and a suite, to fetch newer packages")
    parser.set_defaults(do=lambda options, report: suite_roots.show(options.names, report))


def _kernel(parser: ArgumentParser) -> None:
    from experiments.commands.guest_kernel import built_kernel
    from experiments.testbed.guest import kernel

    parser.add_argument("--quiet-if-present", action="store_true", help="print nothing if the kernel is built already")

    def do(options: Namespace, report: Report) -> int:
        if kernel.is_built():
            if options.quiet_if_present:
                return 0
        else:
            options.kept = lambda: "the next build continues where this one ended"
            built_kernel(report)
        report.say(f"guest kernel: {kernel.path()}")
        return 0

    parser.set_defaults(do=do)


_COMMANDS: Mapping[str, tuple[str, Callable[[ArgumentParser], None]]] = {
    "run": ("run an experiment", _run),
    "sweep": ("run every combination of several knobs' values", _sweep),
    "reproduce": ("repeat the article's measurements and compare the results with those of the article", _reproduce),
    "show": ("show the results of an experiment", _show),
    "export": ("write results in other programs' formats", _export),
    "figures": ("draw all figures of an experiment", _figures),
    "knee": ("show which LOWAT a sweep recommends, and why", _knee),
    "list": ("list the named scenarios and sweeps, or what a sweep would run", _list),
    "doctor": ("show what this machine can do, and what is missing", _doctor),
    "agreement": ("compare the fabrics that can be used on this machine", _agreement),
    "auto": ("measure LOWAT=auto on many networks, and while a link's rate changes", _auto),
    "demo": ("play experiments as films, on a web page that this machine serves", _demo),
    "slides": ("write the steps of the demo as one HTML file of slides, and as pictures", _slides),
    "matrix": ("measure which servers keep the order that the client asks for, in each dialect", _matrix),
    "model": ("compare predicted times of first bytes with measured ones", _writing("predictions")),
    "link": ("measure what the bottleneck's queueing discipline does to the effect of LOWAT", _writing("link")),
    "sabotage": ("measure every scenario that spoils the effect of LOWAT", _writing("sabotage")),
    "traces": ("measure LOWAT=auto on synthetic traces", _writing("traces")),
    "late": ("measure late urgent requests at servers that follow RFC 9218", _writing("late")),
    "transition": ("measure today's browsers at fronts that read RFC 7540 and RFC 9218", _writing("transition")),
    "two-hops": ("measure two fronts, one behind the other, with LOWAT at each", _writing("two_hops")),
    "probe": ("test in which order a running server sends two resources, in every dialect", _probe),
    "gate": ("say whether a server keeps the order, name its faults, and quote the frames that prove it", _gate),
    "trace": ("make a synthetic trace of packet opportunities, for TRACE", _trace),
    "tune": ("set TCP_NOTSENT_LOWAT on a running server's connections", _tune),
    "setup": ("install the packages and the guest kernel that the lab needs", _setup),
    "roots": ("list the servers fetched from Debian's suites, or fetch newer ones", _roots),
    "kernel": ("build the guest kernel, unless it is built already", _kernel),
}
"""For each command: what it does, and the function that adds its options."""
