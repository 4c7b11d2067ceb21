"""`priolab knee`: shows which LOWAT a sweep recommends, and writes a picture and tables into the sweep's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.sweeps import table
from analysis.sweeps.folder import Sweep, load_sweep
from analysis.sweeps.summary import summarize
from common.formats.reading import FolderError
from experiments.commands.console import Report
from experiments.errors import StepFailed
from experiments.results.run_folder import write_document

_STEP = "finding the knee"
_TABLES = {"knee.md": table.markdown, "knee.csv": table.networks_csv, "knee-values.csv": table.values_csv}


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
            _tell(summary, report)
            report.figures(_draw(sweep), path)
            for name, make in _TABLES.items():
                write_document(path / name, make(summary).encode(), _STEP)
    except (FolderError, OSError) as error:
        raise StepFailed(_STEP, str(error)) from error
    return 1 if summary["runs"]["troubles"] else 0


def _draw(sweep: Sweep) -> list[Path]:
    from analysis.figures import knee  # with --json no figure is drawn

    return knee.save(sweep)


def _tell(summary: Mapping[str, Any], report: Report) -> None:
    networks = summary["networks"]
    overview = table.of_networks(summary) if len(networks) > 1 else table.of_values(networks[0])
    report.table(overview.head, overview.rows)
    for network in networks:
        report.say(f"\n{network['network']}", "bold")
        for sentence in table.sentences(network):
            report.say(f"  {sentence}")
    if judged := table.of_auto(summary):
        report.say("")
        report.table(judged.head, judged.rows)
    for note in table.notes(summary):
        report.say(f"note: {note}", "yellow")
