"""`priolab export`: the files it writes, its messages, and no partial files after an error."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from priolab.analysis.exports.formats import FORMATS
from priolab.common.errors import LabError, ScenarioError, StepFailed, Unavailable
from priolab.experiments.commands import export as command
from priolab.experiments.commands.export import export

_GOLDEN = Path(__file__).parent.parent / "golden"
_SAMPLED = ["loads", "resources", "ledger", "events", "arrivals", "sockets", "queue"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the newest golden folder."""
    return Path(shutil.copytree(max(_GOLDEN.iterdir()), tmp_path / "maps"))


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("to", "names"),
    [
        ("har", ["control.1.har", "lowat-16384.1.har"]),
        ("perfetto", ["perfetto.json"]),
        ("qlog", ["experiment.qlog"]),
        ("csv", sorted(f"{name}.csv" for name in _SAMPLED)),
        ("parquet", sorted(f"{name}.parquet" for name in _SAMPLED)),
    ],
)
def test_every_format_goes_into_the_experiment(folder: Path, to: str, names: list[str]) -> None:
    """An export writes exactly its files into the folder `exports`; a second export replaces them."""
    assert to in FORMATS
    first = export(folder, to, None)
    assert sorted(path.name for path in first.paths) == names
    assert _names(folder / "exports") == names
    assert first.notes == ()
    assert export(folder, to, None) == first
    assert _names(folder / "exports") == names


def test_the_command(folder: Path) -> None:
    """`priolab export` takes an experiment's name, as `priolab show` does, and prints the file that it wrote."""
    words = [
        sys.executable,
        "-m",
        "priolab.experiments",
        "export",
        "maps",
        "--results",
        str(folder.parent),
        "--to",
        "qlog",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote {folder / 'exports' / 'experiment.qlog'}\n"


def test_elsewhere(folder: Path, tmp_path: Path) -> None:
    """--out names a folder, which is created if needed, or a file if the export is one file with this ending."""
    assert export(folder, "har", tmp_path / "a" / "b").paths[0] == tmp_path / "a" / "b" / "control.1.har"
    assert export(folder, "perfetto", tmp_path / "trace.json").paths == (tmp_path / "trace.json",)
    assert export(folder, "qlog", tmp_path / "trace").paths == (tmp_path / "trace" / "experiment.qlog",)
    assert not (folder / "exports").exists()
    with pytest.raises(ScenarioError, match=r"^--out=.*one\.har is not allowed; allowed: a folder, because"):
        export(folder, "har", tmp_path / "one.har")


def test_a_format_that_is_none(folder: Path) -> None:
    """An unknown format is refused with one line that lists the formats."""
    with pytest.raises(ScenarioError, match=r"^--to=pcap is not allowed; allowed: har, perfetto, qlog, csv, parquet$"):
        export(folder, "pcap", None)


def test_a_library_that_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow the format parquet is refused with a command that installs pyarrow; csv still works."""
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with pytest.raises(Unavailable, match=r"pyarrow is not installed; run `/.*/python -m pip install .*pyarrow>=21'`$"):
        export(folder, "parquet", None)
    assert export(folder, "csv", None).paths


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("experiment.json", "{", "experiment.json: "),
        ("control.1/client/plan.json", "{}", "plan.json: Object missing required field "),
        ("control.1/client/events.jsonl", "{}\n", "events.jsonl:1: not a valid line: "),
        ("control.1/front/sockets.jsonl", "[]\n", "sockets.jsonl:1: not a valid line: "),
    ],
)
def test_a_damaged_folder(folder: Path, to: str, name: str, content: str, told: str) -> None:
    """With a damaged file, every format raises a one-line error that names the file, and writes nothing."""
    (folder / name).write_text(content)
    with pytest.raises(StepFailed) as caught:
        export(folder, to, None)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (folder / "exports").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"started_at": None}, r"Expected `str`, got `null` - at `\$\.started_at`"),
        (
            {"started_at": "2026-01-01T00:00:00"},
            "started_at is 2026-01-01T00:00:00, not a date and time with a time zone",
        ),
    ],
)
def test_no_date(folder: Path, changes: dict[str, object], told: str) -> None:
    """An export is refused if experiment.json has no start date, or one without a time zone."""
    _change(folder / "experiment.json", changes)
    with pytest.raises(StepFailed, match=told):
        export(folder, "har", None)


def test_a_run_that_must_not_be_believed(folder: Path) -> None:
    """An export leaves out an invalid run and notes that; with no ok run at all, the export is refused."""
    _change(folder / "control.1" / "run.json", {"status": "invalid"})
    exported = export(folder, "har", None)
    assert [path.name for path in exported.paths] == ["lowat-16384.1.har"]
    assert exported.notes == ("left out: control.1 (invalid)",)
    _change(folder / "lowat-16384.1" / "run.json", {"status": "failed"})
    with pytest.raises(StepFailed, match=r"no run is ok: control\.1 \(invalid\), lowat-16384\.1 \(failed\)$"):
        export(folder, "csv", None)


def test_nothing_is_left_where_nothing_can_be_written(folder: Path, tmp_path: Path) -> None:
    """If a file cannot be written, the error is one line, and no temporary file stays."""
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match=r"^exporting results: .* cannot be written: "):
        export(folder, "csv", tmp_path / "file" / "deeper")
    target = tmp_path / "out"
    (target / "sockets.csv").mkdir(parents=True)
    with pytest.raises(LabError, match=r"^exporting results: .* cannot be written: "):
        export(folder, "csv", target)
    assert [name for name in _names(target) if name.startswith(".")] == []


def _change(file: Path, changes: dict[str, object]) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_more_than_memory_holds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the memory does not suffice, the error names the folder, and no file is written."""

    def fill_memory(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(command, "album", fill_memory)
    with pytest.raises(StepFailed, match=rf"^exporting results: {folder}: it takes more memory than there is$"):
        export(folder, "har", None)
    assert not (folder / "exports").exists()
