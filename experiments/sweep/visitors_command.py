"""`priolab knee --visitors`: runs or reads the sweep of a mix of visitors, and shows the one value for all of them."""

from argparse import Namespace
from pathlib import Path

from msgspec import to_builtins

from priolab.analysis.sweeps.folder import load_sweep
from priolab.analysis.sweeps.visitors import MixResult, table
from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.exit_codes import exit_code
from priolab.common.formats.reading import FolderError
from priolab.experiments.commands.console import Report, short
from priolab.experiments.commands.options import experiment_folder
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.sweep import command, visitors
from priolab.experiments.sweep.sweep import sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.netem import units
from priolab.testbed import keep_guests

_USUAL, _MOST = "1%", 0.5


def show_mix(options: Namespace, report: Report) -> int:
    """Shows the one value for a mix; returns 1 if a run of the sweep is not ok, or no value is allowed.

    options: those of `priolab knee`. Raises LabError.
    """
    mix, most_loss = (
        visitors.read(options.visitors),
        _most_loss(_USUAL if options.most_loss is None else options.most_loss),
    )
    told = Report(aside=True) if options.json else report
    folder = experiment_folder(options) if options.experiment else _swept(mix, options.results, told)
    try:
        sweep = load_sweep(folder)
        found = visitors.results(mix, sweep, most_loss)
    except (FolderError, OSError) as error:
        raise StepFailed("finding one value for all", str(error)) from error
    if options.json:
        report.document({"format": 1, "title": mix.title, "sweep": folder.name, "results": to_builtins(found)})
    else:
        report.say(f"{mix.title}: {short(folder)}", whole=True)
        for each in found:
            _tell(each, report)
    whole = not any(arm.troubles for arm in sweep.arms)
    return exit_code(ok=whole and all(each.recommended is not None for each in found))


def _swept(mix: visitors.Mix, results: Path, report: Report) -> Path:
    """Runs the sweep of the networks of a mix, or reuses a finished one. Raises LabError."""
    request = sweep_request_from([*mix.sweep, "REUSE=yes", f"RESULTS={results}"])
    wanted = sweep_from(request, yes=False)
    executor = Local(wanted.run_settings, bearable(wanted.scenarios, wanted.run_settings.fabric))
    with keep_guests():
        return command.make(request, wanted, executor, Namespace(kept=None), report)


def _most_loss(text: str) -> float:
    try:
        if 0 <= (fraction := units.parse_fraction(text)) <= _MOST:
            return fraction
    except ValueError:
        pass
    raise ScenarioError("--most-loss", text, "0% to 50%, with the percent sign")


def _tell(found: MixResult, report: Report) -> None:
    report.say(f"\n{found.configuration}", "bold")
    shown = table(found)
    report.table(shown.head, shown.rows, in_parts=True)
    for sentence in found.words:
        report.say(f"  {sentence}")
    if found.left_out:
        report.say(f"note: left out, with too few ok runs in some network: LOWAT={', '.join(found.left_out)}", "yellow")
