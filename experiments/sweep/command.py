"""The commands `priolab sweep` and `priolab list SWEEP`, and their output."""

import argparse
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from common.formats.reading import FolderError
from common.formats.run import RunRecord
from experiments.commands.console import Report
from experiments.errors import LabError, Unavailable
from experiments.execution.conclusion import Ending, Run
from experiments.execution.executor import Executor
from experiments.execution.invocation import words_of_make
from experiments.execution.local import Local, bearable
from experiments.host.home import pip_install
from experiments.host.plural import counted
from experiments.host.programs import lack_of
from experiments.results.run_folder import wrecks
from experiments.sweep import estimate, sweep_file, table
from experiments.sweep.folder import SweepFolder, record_of, unfinished
from experiments.sweep.sweep import Sweep, SweepProgress, estimate_here, expanded, run_sweep, sweep_from
from experiments.sweep.sweep_request import SweepRequest, sweep_request_from
from experiments.sweep.tally import Tally
from proxy.server import catalogue


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds `sweep` to the commands."""
    parser = commands.add_parser("sweep", help="run every combination of several knobs' values", allow_abbrev=False)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SWEEP or KNOB=VALUE,...",
        help="a named sweep (`priolab list` shows them), a .toml file, or knobs",
    )
    parser.add_argument("--yes", action="store_true", help="run the sweep, however many runs it has")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="run on the workers of this Dask scheduler")
    parser.add_argument(
        "--print-folder", action="store_true", help="print only the folder's path; progress goes to stderr"
    )
    parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(do=sweep)


def sweep(options: argparse.Namespace, report: Report) -> int:
    """Runs or resumes the sweep; returns the exit code."""
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
            return 1
    if options.print_folder:
        print(folder)
        return 0 if all(result.status == "ok" for result in table.arm_results(folder)) else 1
    return present(folder, report)


def _is_absent(name: str, *, in_images: bool) -> bool:
    """True if the server is not installed here. With in_images, True if no container image has the server."""
    server = catalogue()[name]
    return not server.in_images if in_images else lack_of(server) is not None


def make(request: SweepRequest, wanted: Sweep, executor: Executor, options: argparse.Namespace, report: Report) -> Path:
    """Runs or resumes the sweep, or reuses a finished one. Returns the sweep's folder. Raises LabError.

    Once the folder exists, options.kept is a function that describes the folder.
    """
    tally = tally_of(wanted, executor.side_by_side)
    _announce(request, report)
    about = estimate_here(request, wanted.scenarios, executor.side_by_side)
    report.say(f"{_times(about)}; {executor.side_by_side} side by side")
    report.say(f"fabric: {wanted.manner.fabric.name} ({wanted.manner.fabric_reason})")
    with report.ticking(lambda: tally.line(time.monotonic())) as tick:
        progress = SweepProgress(
            step=report.say,
            opened=partial(_opened, options, report, tally),
            ended=partial(_ended, report, tally, tick),
            reused=report.reused,
        )
        folder = run_sweep(wanted, executor, progress)
    options.kept = lambda: f"{folder} is complete"
    if not tally.runs_left:
        report.say(tally.line(time.monotonic()))
    return folder


def _executor(wanted: Sweep, scheduler: str | None) -> AbstractContextManager[Executor]:
    """Returns the executor: this machine, or the cluster of this scheduler. Raises Unavailable."""
    if scheduler is None:
        return nullcontext(Local(wanted.manner, bearable(wanted.scenarios, wanted.manner.fabric)))
    try:
        from experiments.execution.cluster import Cluster  # a quarter of a second of imports, and an extra
    except ModuleNotFoundError as error:
        remedy = f"run {pip_install('distributed')}"
        raise Unavailable("--scheduler", f"{error.name} is not installed", remedy) from error
    return Cluster.connect(wanted.manner, scheduler)


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
    report.figures([], folder)
    report.say(f"the recommended LOWAT, and the reasons: priolab knee {shlex.quote(str(folder))}")
    return 1 if bad else 0


def is_sweep(folder: Path) -> bool:
    """True if a results folder is the folder of a sweep."""
    return record_of(folder) is not None


def show_named(report: Report) -> None:
    """Lists the named sweeps, with the number of their arms."""
    for name in sweep_file.catalogue():
        request = sweep_request_from([name])
        report.say(f"{name}: {request.title} (sweep: {_size(request)})", "bold")
        report.say(f"    {_lists(request)}")


def show_expansion(words: Sequence[str], report: Report) -> None:
    """Shows the arms of a sweep. Raises ScenarioError, also for a sweep that `priolab sweep` refuses without --yes."""
    request = sweep_request_from(words)
    points = expanded(request, yes=False)
    _announce(request, report)
    scenarios = [point.arm.scenario for point in points]
    about = estimate_here(request, scenarios)
    report.say(f"{_times(about)} on this machine; {about.side_by_side} side by side")
    report.made_table(table.expansion(points))


def _announce(request: SweepRequest, report: Report) -> None:
    report.say(f"{request.name}: {request.title}; {_size(request)}")
    report.say(_lists(request))


def _size(request: SweepRequest) -> str:
    grid, repeat = request.grid, request.run["REPEAT"]
    times = f", {repeat} times each" if repeat > 1 else ""
    arms = f"{counted(grid.combinations, 'arm')} in {counted(grid.networks, 'network')}"
    told = f"{arms}, and {counted(grid.networks, 'twin')}{times}: {request.runs:,} runs"
    return f"{told}; TARGET_DELAY applies to LOWAT=auto alone" if grid.aims_at_several else told


def _lists(request: SweepRequest) -> str:
    given = {name: ",".join(values) for name, values in request.grid.levels.items()} | dict(request.grid.fixed)
    return " ".join(f"{name}={words}" for name, words in given.items())


def _times(about: estimate.TimeEstimate) -> str:
    return f"{estimate.duration(about.link_s)} of link time, about {estimate.duration(about.wall_s)}"


def tally_of(wanted: Sweep, side_by_side: int) -> Tally:
    """Returns the tally of the sweep before its first run."""
    virtual = wanted.manner.fabric.virtual_clock
    seconds = {point.arm.name: estimate.wall_s(point.arm.scenario, virtual_clock=virtual) for point in wanted.points}
    runs = wanted.runs()
    return Tally(
        arms={name: run.arm.name for name, run in runs.items()},
        estimates_s={name: seconds[run.arm.name] for name, run in runs.items()},
        side_by_side=side_by_side,
        now_s=time.monotonic(),
    )


def _opened(options: argparse.Namespace, report: Report, tally: Tally, folder: SweepFolder) -> None:
    """Reports what the sweep's folder already has. From now on an interruption loses only unfinished runs."""
    done = folder.done()
    if done:
        report.say(f"resuming {folder.path}: {len(done)} of {len(folder.order)} runs are complete")
    for wreck in wrecks(folder.path.parent):
        report.say(wreck_in_words(wreck), "yellow")
    options.kept = lambda: _kept(folder)
    tally.begin(time.monotonic(), done)


def _kept(folder: SweepFolder) -> str:
    if folder.final.exists():
        return f"{folder.final} is complete"
    there = unfinished(folder.path)
    return f"{there}; the same command resumes it" if there else "nothing was kept"


def wreck_in_words(wreck: Path) -> str:
    """Describes a partial folder that no process owns."""
    if there := unfinished(wreck):
        return f"{there}: an interrupted sweep; the same command resumes it if programs and code are unchanged"
    return f"ignoring {wreck}: the folder of a killed experiment, which can be removed"


def _ended(report: Report, tally: Tally, tick: Callable[[], None], run: Run, ending: Ending, record: RunRecord) -> None:
    tally.ended(run.name, record)
    if ending.status != "ok":
        report.say(f"{run.name}: {ending.status} - {ending.reason}", "red")
    if tally.runs_left:
        tick()
