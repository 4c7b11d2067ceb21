"""The command `priolab sweep`, and its output."""

import argparse
import shlex
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from priolab.analysis.sweeps.table import mostly_invalid
from priolab.common.errors import LabError, Unavailable
from priolab.common.exit_codes import ExitCode, exit_code
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import RunRecord
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.eta import noted_in, tally, work_of
from priolab.experiments.commands.options import add_words
from priolab.experiments.commands.progress import Work
from priolab.experiments.execution import pace
from priolab.experiments.execution.cli_request import words_of_make
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.execution.executor import Executor
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.results.run_folder import wrecks
from priolab.experiments.setup import extras
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.python_packages import installing
from priolab.experiments.sweep import estimate, sweep_file, table
from priolab.experiments.sweep.folder import SweepFolder, record_of, unfinished, wreck_in_words
from priolab.experiments.sweep.listing import announce
from priolab.experiments.sweep.sweep import Sweep, SweepProgress, estimate_here, run_sweep, sweep_from
from priolab.experiments.sweep.sweep_request import SweepRequest, sweep_request_from
from priolab.proxy.server import server_of


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab sweep` to its parser."""
    about = "a named sweep (`priolab list` shows them), a .toml file, or knobs"
    add_words(parser, "SWEEP or KNOB=VALUE,...", about)
    parser.add_argument("--yes", action="store_true", help="run the sweep even if it has 10,000 to 1,000,000 runs")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="run on the workers of this Dask scheduler")
    parser.add_argument(
        "--print-folder", action="store_true", help="print only the path of the sweep's folder; progress goes to stderr"
    )
    parser.set_defaults(do=sweep, offers={"words": sweep_file.catalogue})


def sweep(options: argparse.Namespace, report: Report) -> int:
    """Runs or resumes the sweep that the options describe, and shows its results; returns the exit code."""
    words = words_of_make() if options.from_make else []
    in_images = "FABRIC=compose" in [*options.words, *words]
    request = sweep_request_from(options.words, over=words, is_absent=partial(_is_absent, in_images=in_images))
    wanted = sweep_from(request, yes=options.yes)
    with _executor(wanted, options.scheduler) as executor:
        try:
            folder = make(request, wanted, executor, options, report)
        except LabError as error:
            report.complain(str(error))
            if options.kept:
                report.complain(options.kept())
            return ExitCode.NOT_OK
    if options.print_folder:
        print(folder)
        return exit_code(ok=all(result.status == "ok" for result in table.arm_results(folder)))
    return present(folder, report)


def _is_absent(name: str, *, in_images: bool) -> bool:
    """True if this machine does not have the server. With in_images, True if no container image has the server."""
    server = server_of(name)
    return not server.in_images if in_images else lack_of(server) is not None


def make(request: SweepRequest, wanted: Sweep, executor: Executor, options: argparse.Namespace, report: Report) -> Path:
    """Runs or resumes the sweep, or reuses a finished sweep. Returns the sweep's folder. Raises LabError.

    Once the folder exists, options.kept is a function that says, for an error message, what the folder holds.
    """
    announce(request, report)
    about = estimate_here(request, wanted.scenarios, executor)
    work = work_of_sweep(wanted, about)
    report.say(about.words)
    report.say(f"fabric: {wanted.run_settings.fabric.name} ({wanted.run_settings.fabric_reason})")
    if isinstance(executor, Local):
        executor.progress = noted_in(work, report.reused, report.note)
    began_s = spent_s = 0.0

    def opened(folder: SweepFolder) -> None:
        nonlocal began_s, spent_s
        _opened(options, report, work, folder)
        began_s, spent_s = time.monotonic(), pace.spent_s(wanted.run_settings.fabric, executor.side_by_side)

    def line() -> str:
        now_s = time.monotonic()
        return tally(work, now_s, now_s - began_s)

    with report.ticking(line, rows=lambda: work.at_work(time.monotonic())) as tick:
        progress = SweepProgress(
            step=report.say,
            opened=opened,
            ended=partial(_ended, report, work, tick),
            reused=report.reused,
            note=report.note,
        )
        folder = run_sweep(wanted, executor, progress)
    options.kept = lambda: f"{folder} is complete"
    if not work.runs_left:
        report.say(line())
    if isinstance(executor, Local) and work.statuses["ok"] == request.runs:
        took_s = pace.spent_s(wanted.run_settings.fabric, executor.side_by_side) - spent_s
        pace.learn(pace.kind(wanted.scenarios, wanted.run_settings.fabric), took_s=took_s, cost_s=about.cost_s)
    return folder


def _executor(wanted: Sweep, scheduler: str | None) -> AbstractContextManager[Executor]:
    """Returns the executor: this machine or, if a scheduler is given, its Dask cluster. Raises Unavailable.

    scheduler: the address of a Dask scheduler, tcp://HOST:PORT.
    """
    if scheduler is None:
        return nullcontext(Local(wanted.run_settings, bearable(wanted.scenarios, wanted.run_settings.fabric)))
    try:
        clusters = extras.parts("executor")  # takes 0.25 s
    except ModuleNotFoundError as error:
        remedy = f"run {installing('cluster')}"
        raise Unavailable("--scheduler", f"{error.name} is not installed", remedy) from error
    if not clusters:
        raise Unavailable("--scheduler", "the extra `cluster` is not there", "use a checkout that has it")
    connected: AbstractContextManager[Executor] = clusters[0].connect(wanted.run_settings, scheduler)
    return connected


def present(folder: Path, report: Report) -> int:
    """Shows the results of a finished sweep; returns the exit code. Raises FolderError."""
    results, record = table.arm_results(folder), record_of(folder)
    if record is None:
        raise FolderError(f"{folder / 'sweep.json'}: not the file of a sweep")
    try:
        report.made_table(table.results(record, results))
    except (LookupError, TypeError, AttributeError) as error:
        raise FolderError(f"{folder / 'sweep.json'}: does not fit the runs in this folder: {error!r}") from error
    bad = [result for result in results if result.status != "ok"]
    for result in bad:
        report.say(f"{result.name}: {result.status} - {result.reason}", "red")
    if bad:
        report.say(f"{len(bad)} of {len(results)} arms are not ok", "bold red")
    invalid = sum(result.of - result.good for result in bad if result.status == "invalid")
    if told := mostly_invalid(invalid, sum(result.of for result in results), record.fabric):
        report.say(told, "yellow")
    report.figures([], folder)
    report.say(f"to see which LOWAT this sweep recommends, and why: priolab knee {shlex.quote(str(folder))}")
    return exit_code(ok=not bad)


def is_sweep(folder: Path) -> bool:
    """True if a results folder is the folder of a sweep."""
    return record_of(folder) is not None


def work_of_sweep(wanted: Sweep, about: estimate.TimeEstimate) -> Work:
    """Returns the progress of a sweep before its first run. about: the estimate of the sweep's time."""
    return work_of(
        [point.arm for point in wanted.points],
        {name: run.arm.name for name, run in wanted.runs().items()},
        wanted.run_settings,
        jobs=about.machine.side_by_side,
        slowness=about.machine.slowness,
        batches=about.batches,
    )


def _opened(options: argparse.Namespace, report: Report, work: Work, folder: SweepFolder) -> None:
    """Reports the complete runs in the sweep's folder. From now on an interruption loses only unfinished runs."""
    done = folder.done()
    if done:
        report.say(f"resuming {folder.path}: {len(done)} of {len(folder.order)} runs are complete")
    for wreck in wrecks(folder.path.parent):
        report.say(wreck_in_words(wreck), "yellow")
    options.kept = lambda: _kept(folder)
    work.done_before(done)


def _kept(folder: SweepFolder) -> str:
    if folder.final.exists():
        return f"{folder.final} is complete"
    there = unfinished(folder.path)
    return f"{there}; the same command resumes the sweep" if there else "nothing was kept"


def _ended(report: Report, work: Work, tick: Callable[[], None], run: Run, ending: Ending, record: RunRecord) -> None:
    loads_s = sum(load.complete_ms for load in record.loads) / 1000
    work.ended(run.name, record.status, time.monotonic(), wall_s=record.wall_s, link_s=loads_s)
    if ending.status != "ok":
        report.say(f"{run.name}: {ending.status} - {ending.reason}", "red")
    if work.runs_left:
        tick()
