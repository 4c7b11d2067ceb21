"""The command line, `priolab`. Errors of the lab end here: one line on standard error, and an exit code.

Exit codes: 0 done; 1 failed, or a run is invalid; 2 bad input; 128 plus the signal's number if interrupted; 128 plus
the number of SIGPIPE if the reader of the output closed the pipe.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.exports.formats import FORMATS
from analysis.records.runs import load_experiment
from analysis.reports.summary import summarize
from common.formats.reading import FolderError
from experiments.commands import knee, probe, tune
from experiments.commands import setup as setting_up
from experiments.commands.console import Report
from experiments.commands.doctor import examine, link_options
from experiments.commands.export import export
from experiments.commands.first_run import FirstRun, build_afterwards, first_run
from experiments.commands.guest_kernel import built_kernel
from experiments.demo import command as demo
from experiments.errors import LabError, ScenarioError, StepFailed
from experiments.execution.experiment import run_experiment
from experiments.execution.invocation import RUN_KNOBS, RunKnob, ignored, request_from, split_words, words_of_make
from experiments.host.home import in_checkout
from experiments.host.interruption import Interrupted, raise_interrupted
from experiments.host.programs import absences
from experiments.host.setup_request import SetupPart
from experiments.results.run_folder import wrecks
from experiments.scenario.knobs import KNOBS, Knob
from experiments.scenario.named import catalogue
from experiments.scenario.pages import page_titles
from experiments.studies import agreement, predictions, sabotage
from experiments.sweep import command as sweeping
from experiments.testbed.guest import kernel
from proxy.server import catalogue as servers

_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options = command_line().parse_args(arguments)
    options.kept = None  # a command may set a function that describes what an interruption leaves
    options.print_folder = getattr(options, "print_folder", False)
    report = Report(aside=options.print_folder)
    try:
        raise_interrupted()
        code = int(options.do(options, report))
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
    except OSError as error:  # a full disk, for one
        report.complain(f"{error.filename or 'writing'}: {error.strerror or error}; {_kept(options)}")
        return 1
    except Interrupted as interruption:
        report.complain(f"interrupted by {interruption.name}; {_kept(options)}")
        return interruption.code


def _kept(options: argparse.Namespace) -> str:
    """Describes the results that an unfinished command leaves."""
    return str(options.kept()) if options.kept else "nothing was kept"


def command_line() -> argparse.ArgumentParser:
    """Builds the parser of every command and its options."""
    parser = argparse.ArgumentParser(prog="priolab", description="The priority lab.", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run an experiment", allow_abbrev=False)
    run.add_argument("words", nargs="*", metavar="SCENARIO or KNOB=VALUE", help="see `priolab list` and docs/knobs.md")
    for knob in _all_knobs():
        option = "--" + knob.name.lower().replace("_", "-")
        run.add_argument(
            option, dest=knob.name, metavar="VALUE", help=f"{knob.meaning} ({knob.default})".replace("%", "%%")
        )
    run.add_argument(
        "--print-folder", action="store_true", help="print only the folder's path; progress goes to standard error"
    )
    run.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)
    run.set_defaults(do=_run)

    sweeping.add_to(commands)

    again = commands.add_parser(
        "reproduce", help="measure the article's pictures again and judge them", allow_abbrev=False
    )
    again.add_argument("words", nargs="*", metavar="KNOB=VALUE", help="FABRIC, SHAPER, RESULTS or REUSE")
    again.add_argument("--out", type=Path, help="folder of the page (default: results/reproduction)")
    again.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)
    again.set_defaults(do=_reproduce)

    show = commands.add_parser("show", help="show the results of an experiment", allow_abbrev=False)
    _add_experiment(show)
    show.add_argument("--json", action="store_true", help="print the summary that docs/results.md describes")
    show.set_defaults(do=_show)

    export_parser = commands.add_parser("export", help="write results in other programs' formats", allow_abbrev=False)
    _add_experiment(export_parser)
    export_parser.add_argument("--to", required=True, metavar="FORMAT", help=", ".join(FORMATS))
    export_parser.add_argument("--out", metavar="PATH", help="a folder, or a file (default: exports in the results)")
    export_parser.set_defaults(do=_export)

    figures = commands.add_parser("figures", help="draw all figures of an experiment", allow_abbrev=False)
    _add_experiment(figures)
    figures.set_defaults(do=_figures)

    knee.register(commands, _add_experiment, _folder)

    list_parser = commands.add_parser("list", help="list the named scenarios and sweeps, or what a sweep would run")
    list_parser.add_argument("words", nargs="*", metavar="SWEEP or KNOB=VALUE,...", help="as with `priolab sweep`")
    list_parser.set_defaults(do=_list)
    commands.add_parser("doctor", help="show what this machine can do, and what is missing").set_defaults(do=_doctor)
    agreement_parser = commands.add_parser("agreement", help="compare the fabrics that can be used here")
    agreement_parser.add_argument("file", type=Path, help="the document to write")
    agreement_parser.add_argument("--kernels", action="store_true", help="compare the guest's kernels only")
    agreement_parser.set_defaults(do=_agreement)
    auto_parser = commands.add_parser("auto", help="measure LOWAT=auto on every network, and when the rate changes")
    auto_parser.add_argument("file", type=Path, help="the document to write; its picture goes into the same folder")
    auto_parser.add_argument("words", nargs="*", metavar="KNOB=VALUE", help="FABRIC, SHAPER or RESULTS")
    auto_parser.set_defaults(do=_auto, from_make=False)
    demo_parser = commands.add_parser(
        "demo", help="play experiments as films, on a web page that this machine serves", allow_abbrev=False
    )
    demo.add_to(demo_parser)
    demo_parser.set_defaults(do=_demo)
    slides_parser = commands.add_parser(
        "slides", help="write the demo's story as one HTML file and as pictures", allow_abbrev=False
    )
    slides_parser.add_argument("words", nargs="*", metavar="KNOB=VALUE", help="FABRIC, SHAPER or RESULTS")
    slides_parser.add_argument("--out", type=Path, help="the folder to write (default: results/slides)")
    slides_parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)
    slides_parser.set_defaults(do=_slides)
    matrix_parser = commands.add_parser(
        "matrix", help="measure which servers keep the order, in each dialect", allow_abbrev=False
    )
    matrix_parser.add_argument("file", type=Path, help="the document to write; .html and .json go into its folder")
    matrix_parser.add_argument(
        "words", nargs="*", metavar="KNOB=VALUE", help="SERVER=a,b DIALECT=a,b FABRIC RESULTS REUSE"
    )
    matrix_parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)
    matrix_parser.set_defaults(do=_matrix)
    model_parser = commands.add_parser("model", help="compare the predictor with measurements")
    model_parser.add_argument("file", type=Path, help="the document to write")
    model_parser.set_defaults(do=_model)
    sabotage_parser = commands.add_parser("sabotage", help="measure every scenario that spoils the effect")
    sabotage_parser.add_argument("file", type=Path, help="the document to write")
    sabotage_parser.set_defaults(do=_sabotage)
    probe.add_to(commands)
    tune.add_to(commands)
    setup_parser = commands.add_parser(
        "setup", help="install the packages and the guest kernel that the lab needs", allow_abbrev=False
    )
    setup_parser.add_argument(
        "words", nargs="*", metavar="PART or KNOB=VALUE", help=f"one of {', '.join(SetupPart)}; knobs"
    )
    setup_parser.set_defaults(do=_setup)
    kernel_parser = commands.add_parser("kernel", help="build the guest kernel, unless it is built")
    kernel_parser.add_argument(
        "--quiet-if-present", action="store_true", help="print nothing if the kernel is built already"
    )
    kernel_parser.set_defaults(do=_kernel)
    return parser


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", nargs="?", default="latest", help="a results folder, or its name under results")
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="the folder with results (default: results)"
    )


def _folder(options: argparse.Namespace) -> Path:
    """Returns the results folder that the command line names."""
    if not options.experiment:
        raise ScenarioError("experiment", "", "a results folder, or its name under results")
    named = Path(options.experiment)
    return (named if named.is_dir() else Path(options.results) / named).resolve()


def _all_knobs() -> list[Knob | RunKnob]:
    return [*KNOBS.values(), *RUN_KNOBS.values()]


def _words(options: argparse.Namespace, report: Report) -> dict[str, str]:
    words = list(options.words)
    if options.from_make:
        words += words_of_make()
    for knob in _all_knobs():
        if (value := getattr(options, knob.name, None)) is not None:
            words.append(f"{knob.name}={value}")
    for sentence in ignored(words):
        report.note(sentence)
    return split_words(words)


def _run(options: argparse.Namespace, report: Report) -> int:
    words = _words(options, report)

    def build() -> None:
        built_kernel(report)

    if options.from_make:
        first = first_run(words, report, build)
    else:
        first = FirstRun(request=request_from(words), builds_afterwards=False)
    request = first.request
    for wreck in wrecks(request.results):
        report.say(sweeping.wreck_in_words(wreck), "yellow")
    report.announce(request)
    with report.progress(request) as progress:
        folder = run_experiment(request, progress)
    options.kept = lambda: f"{folder} is complete, but its picture is not drawn"
    if options.print_folder:
        print(folder)
        return 0 if all(run.status == "ok" for run in load_experiment(folder).runs) else 1
    code = _present(folder, report)
    if first.builds_afterwards:
        options.kept = lambda: f"{folder} is complete, and the next build of the kernel continues this one"
        build_afterwards(report, build)
    return code


def _present(folder: Path, report: Report) -> int:
    experiment = load_experiment(folder)
    summary = summarize(experiment)
    report.summary(summary)
    drawn = [folder / f"timeline.{kind}" for kind in ("svg", "png", "html")]
    if not all(path.exists() for path in drawn):  # a reused folder has them already
        from analysis.figures import timeline  # half a second of imports that only a figure needs

        drawn = timeline.save(experiment)
    report.figures(drawn, folder)
    return 0 if summary["status"] == "ok" else 1


def _reproduce(options: argparse.Namespace, report: Report) -> int:
    from experiments.studies.reproduce import reproduce  # figures, which take half a second to import

    return 0 if reproduce(_words(options, report), options.out, report) else 1


def _figures(options: argparse.Namespace, report: Report) -> int:
    from analysis.figures import album

    folder = _folder(options)
    try:
        paths = album.save(load_experiment(folder))
    except (FolderError, OSError) as error:
        raise StepFailed("drawing figures", str(error)) from error
    if not paths:
        raise StepFailed("drawing figures", f"{folder}: no run is ok")
    report.figures(paths, folder)
    return 0


def _show(options: argparse.Namespace, report: Report) -> int:
    folder = _folder(options)
    try:
        if sweeping.is_sweep(folder) and not options.json:
            return sweeping.present(folder, report)
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


def _export(options: argparse.Namespace, report: Report) -> int:
    if options.out == "":
        raise ScenarioError("--out", "", "a folder, or a file")
    exported = export(_folder(options), options.to, None if options.out is None else Path(options.out))
    report.exported(exported.paths, exported.notes)
    return 0


def _list(options: argparse.Namespace, report: Report) -> int:
    if options.words:
        sweeping.show_expansion(options.words, report)
    else:
        report.catalogue(catalogue())
        report.say("\npages", "bold")
        for name, title in page_titles().items():
            report.say(f"{name}  {title}")
        sweeping.show_named(report)
        for line in absences():
            report.say(line, "yellow")
    return 0


def _doctor(_: argparse.Namespace, report: Report) -> int:
    capabilities = examine()
    report.capabilities(capabilities)
    report.say("")
    found = link_options()
    report.link_options(found)
    return 0 if any(option.usable for option in found) else 1


def _agreement(options: argparse.Namespace, report: Report) -> int:
    write = agreement.write_kernels if options.kernels else agreement.write
    return 0 if write(options.file, report) else 1


def _auto(options: argparse.Namespace, report: Report) -> int:
    from experiments.studies import auto  # figures, which take half a second to import

    return 0 if auto.write(options, _words(options, report), report) else 1


def _matrix(options: argparse.Namespace, report: Report) -> int:
    from experiments.studies import matrix  # figures, which take half a second to import

    return 0 if matrix.write(options, _words(options, report), report) else 1


def _demo(options: argparse.Namespace, report: Report) -> int:
    demo.serve(options, _words(options, report), report)
    return 0


def _slides(options: argparse.Namespace, report: Report) -> int:
    from experiments.demo import slides  # figures, which take half a second to import

    report.exported(slides.export(_words(options, report), options.out, report), [])
    return 0


def _model(options: argparse.Namespace, report: Report) -> int:
    predictions.write(options.file, report)
    return 0


def _sabotage(options: argparse.Namespace, report: Report) -> int:
    sabotage.write(options.file, report)
    return 0


def _setup(options: argparse.Namespace, _: Report) -> int:
    knobs = split_words(word for word in options.words if "=" in word and not word.startswith("SWEEP="))
    if strangers := [name for name in knobs.get("SERVER", "").split(",") if name and name.strip() not in servers()]:
        raise ScenarioError("SERVER", strangers[0], ", ".join(servers()))
    options.kept = lambda: "what was already installed is kept"
    return setting_up.set_up(options.words, makes_environment=in_checkout())


def _kernel(options: argparse.Namespace, report: Report) -> int:
    if kernel.is_built():
        if options.quiet_if_present:
            return 0
    else:
        options.kept = lambda: "the next build continues this one"
        built_kernel(report)
    report.say(f"guest kernel: {kernel.path()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
