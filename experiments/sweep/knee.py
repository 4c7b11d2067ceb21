"""`priolab knee`: shows which LOWAT a sweep recommends, and writes a picture and tables into the sweep's folder."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from priolab.analysis.sweeps import table
from priolab.analysis.sweeps.folder import Sweep, load_sweep
from priolab.analysis.sweeps.summary import summarize
from priolab.common.documents import write_document
from priolab.common.errors import StepFailed, Unfit
from priolab.common.exit_codes import exit_code
from priolab.common.formats.reading import FolderError, read_document
from priolab.common.formats.sweep import MOST_SWEEP_BYTES, SWEEP_FORMAT, SweepRecord
from priolab.experiments.commands.console import Report, short
from priolab.experiments.commands.drawing import no_figures
from priolab.experiments.commands.options import add_experiment, experiment_folder
from priolab.testbed import work_folder

_STEP = "finding the knee"
_SWEEP = "sweep.json"
_TABLES = {"knee.md": table.markdown, "knee.csv": table.networks_csv, "knee-values.csv": table.values_csv}


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab knee` to its parser."""
    add_experiment(parser, default=None)
    parser.add_argument(
        "--json", action="store_true", help="print the summary as JSON; docs/reference/results.md describes it"
    )
    parser.add_argument(
        "--visitors",
        type=Path,
        metavar="MIX.toml",
        help="seek one value for visitors of several networks, with the shares in this file (docs/guide/choosing.md); "
        "runs the sweep of these networks, or reuses it, unless a sweep is named",
    )
    parser.add_argument(
        "--most-loss",
        metavar="PERCENT",
        help="with --visitors, the most of goodput, or of the first byte's time, that the value may lose in any"
        " network, from 0%% to 50%% (default: 1%%)",
    )
    parser.set_defaults(do=_do)


def _do(options: Namespace, report: Report) -> int:
    if options.visitors is not None:
        from priolab.experiments.sweep.visitors_command import show_mix  # makes runs

        return show_mix(options, report)
    if options.most_loss is not None:
        raise Unfit("--most-loss is for --visitors MIX.toml")
    folder = newest(options.results.resolve()) if options.experiment is None else experiment_folder(options)
    return show(folder, report, as_json=options.json)


def show(path: Path, report: Report, *, as_json: bool = False) -> int:
    """Shows which LOWAT the sweep recommends, and writes files whose names begin with knee; returns the exit code.

    The exit code is 1 if a run is missing or not ok. as_json: True to print only the summary, and to write no files.
    Raises StepFailed if the folder holds no sweep, or cannot be written.
    """
    try:
        sweep = load_sweep(path)
        summary = summarize(sweep)
        if as_json:
            report.document(summary)
        else:
            report.say(f"sweep: {short(path)}, begun {sweep.record.started_at}", whole=True)
            _tell(summary, report)
            if lack := no_figures():
                report.say(f"note: {lack}", "yellow")
            else:
                with report.busy("drawing the knee"):
                    drawn = _draw(sweep)
                report.figures(drawn, path)
            for name, make in _TABLES.items():
                write_document(path / name, make(summary).encode(), _STEP)
    except (FolderError, OSError) as error:
        raise StepFailed(_STEP, str(error)) from error
    return exit_code(ok=not summary["runs"]["troubles"])


def newest(results: Path) -> Path:
    """Returns the folder of the newest sweep in a results folder. Raises StepFailed if there is none.

    An unfinished sweep is only taken if no sweep is finished.
    """
    found = []
    for path in results.iterdir() if results.is_dir() else ():
        if not path.is_symlink() and (path / _SWEEP).is_file():
            with suppress(FolderError):
                record = read_document(
                    path / _SWEEP, SweepRecord, format_number=SWEEP_FORMAT, most_bytes=MOST_SWEEP_BYTES
                )
                found.append((not path.name.endswith(work_folder.PARTIAL), record.started_at, path))
    if not found:
        raise StepFailed(_STEP, f"{results} holds no sweep; `priolab sweep` makes one")
    return max(found)[2]


def _draw(sweep: Sweep) -> list[Path]:
    from priolab.analysis.figures import knee  # with --json no figure is drawn

    return knee.save(sweep)


def _tell(summary: Mapping[str, Any], report: Report) -> None:
    networks = summary["networks"]
    overview = table.of_networks(summary) if len(networks) > 1 else table.of_values(networks[0])
    report.table(overview.head, overview.rows, in_parts=True)
    for network in networks:
        report.say(f"\n{network['network']}", "bold")
        for sentence in table.sentences(network):
            report.say(f"  {sentence}")
    if judged := table.of_auto(summary):
        report.say("")
        report.table(judged.head, judged.rows, in_parts=True)
    for note in table.notes(summary):
        report.say(f"note: {note}", "yellow")
