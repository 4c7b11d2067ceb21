"""`priolab export`: writes an experiment's results in a format. Either all files appear complete, or none."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from priolab.analysis.exports.formats import FORMATS, File
from priolab.analysis.exports.recording import album
from priolab.analysis.records.runs import load_experiment
from priolab.common.errors import ScenarioError, StepFailed, Unavailable
from priolab.common.formats.files import NO_MEMORY, write_all
from priolab.common.formats.reading import FolderError
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_experiment, experiment_folder
from priolab.experiments.setup.python_packages import installing

_STEP = "exporting results"


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The outcome of an export. paths: the files written. notes: sentences about runs that were left out."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab export` to its parser."""
    add_experiment(parser)
    parser.add_argument("--to", required=True, metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument(
        "--out", metavar="PATH", help="the folder or file to write (default: the folder exports in the results folder)"
    )
    parser.set_defaults(do=_do, offers={"to": FORMATS.keys})


def _do(options: Namespace, report: Report) -> int:
    if options.out == "":
        raise ScenarioError("--out", "", "a folder, or a file")
    exported = export(experiment_folder(options), options.to, None if options.out is None else Path(options.out))
    report.exported(exported.paths, exported.notes)
    return 0


def export(folder: Path, to: str, out: Path | None) -> Exported:
    """Writes the results in a folder as files of a format. Raises LabError.

    to: the format's name. out: a folder, or a file if the format has one file; None for the folder `exports` in
    the results folder.
    """
    if to not in FORMATS:
        raise ScenarioError("--to", to, ", ".join(FORMATS))
    chosen = FORMATS[to]
    if chosen.library and find_spec(chosen.library) is None:
        remedy = f"run {installing(to)}"
        raise Unavailable(f"--to {to}", f"{chosen.library} is not installed", remedy)
    try:
        recorded = album(load_experiment(folder))
        files = chosen.files(recorded)
    except FolderError as error:
        raise StepFailed(_STEP, str(error)) from error
    except MemoryError:
        raise StepFailed(_STEP, f"{folder}: {NO_MEMORY}") from None
    if not recorded.recordings:
        raise StepFailed(_STEP, f"{folder}: no run is ok: {', '.join(recorded.left_out)}")
    own = folder / "exports"
    if out is None and own.is_symlink():
        raise StepFailed(_STEP, f"{own} is a symlink and leads elsewhere; give another folder with --out")
    paths = _places(files, own if out is None else out)
    _write(files, paths)
    notes = [f"left out: {name}" for name in recorded.left_out]
    return Exported(paths=tuple(paths), notes=tuple(notes))


def _places(files: Sequence[File], out: Path) -> list[Path]:
    """Returns the path at which each file is to be written. out: a folder, or the path of the only file."""
    suffix = Path(files[0].name).suffix
    if out.suffix != suffix or out.is_dir():
        return [out / file.name for file in files]
    if len(files) > 1:
        raise ScenarioError("--out", str(out), f"a folder, because this export writes {len(files)} files")
    return [out]


def _write(files: Sequence[File], paths: Sequence[Path]) -> None:
    """Writes the files. Each file appears complete, and no file appears before all files are written."""
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        write_all({path: file.content for file, path in zip(files, paths, strict=True)})
    except OSError as error:
        raise StepFailed(_STEP, f"{error.filename or paths[0]} cannot be written: {error.strerror}") from error
