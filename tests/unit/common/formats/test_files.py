"""Tests of files from unknown sources: how they are read, and how files are written beside them."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from priolab.analysis.records.runs import load_experiment, load_plan, read_experiment
from priolab.common.documents import write_document
from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.formats import files
from priolab.common.formats.events import Arrival
from priolab.common.formats.files import read_json
from priolab.common.formats.reading import FolderError, read_document, read_journal
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.named import read_entry
from priolab.experiments.setup.setup_request import SetupPart, SetupRequest, setup_request_from
from priolab.experiments.sweep.sweep_file import read as read_sweep
from tests.support.builders import experiment_record


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """FIFOs, devices, and folders are refused: reading a FIFO could wait for ever, a device may have no end."""
    os.mkfifo(tmp_path / "fifo")
    for file in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(FolderError, match=r"^\S+: it is not a regular file$"):
            read_journal(file, Arrival)
    with pytest.raises(FolderError, match=r"it is not a regular file|Is a directory"):
        read_journal(tmp_path, Arrival)
    with pytest.raises(ScenarioError, match="it is not a regular file"):
        read_entry(tmp_path / "fifo")
    with pytest.raises(ValueError, match="it is not a regular file"):
        read_json(tmp_path / "fifo")
    (tmp_path / "fifo").rename(tmp_path / "fifo.toml")
    assert setup_request_from(SetupPart.EXPERIMENT, [f"SCENARIO={tmp_path / 'fifo.toml'}"], tmp_path) == SetupRequest(
        part=SetupPart.EXPERIMENT
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_marks_and_encodings(tmp_path: Path, encoding: str) -> None:
    """A byte-order mark changes nothing, and UTF-16 is read, as some editors and shells write it."""
    text = 'title = "a \u2013 b"\n[knobs]\nRATE = "1mbit"\n'
    file = tmp_path / "mine.toml"
    file.write_bytes(text.encode(encoding))
    assert read_entry(file).title == "a \u2013 b"
    assert read_sweep(file).values == {"RATE": ("1mbit",)}
    file.write_bytes('[[resource]]\nname = "a"\ntype = "text/css"\nsize = 99\n'.encode(encoding))
    assert scenario_from({"PAGE": str(file)}).resources[0].size_bytes == 99
    file.write_bytes(json.dumps({"a": "\u2013"}, ensure_ascii=False).encode(encoding))
    assert files.read_json(file) == {"a": "\u2013"}


def test_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file over the size limit is refused without being read to its end."""
    monkeypatch.setattr("priolab.common.formats.reading.MOST_JOURNAL_BYTES", 2**20)
    with (tmp_path / "journal").open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(FolderError, match="it has more than 1 MiB"):
        read_journal(tmp_path / "journal", Arrival)
    (tmp_path / "mine.toml").write_text("#" * 2**20 + "\n")
    with pytest.raises(ScenarioError, match="it has more than 1 MiB"):
        read_entry(tmp_path / "mine.toml")


@pytest.mark.parametrize("levels", [65, 2000, 200_000])
def test_what_is_nested_too_deeply(tmp_path: Path, levels: int) -> None:
    """Documents that are nested too deeply are refused in every kind of file."""
    (tmp_path / "client").mkdir()
    deep = "[" * levels + "]" * levels
    (tmp_path / "client" / "plan.json").write_text(deep)
    with pytest.raises(FolderError, match=r"nested too deeply|got `array`"):
        load_plan(tmp_path)
    (tmp_path / "experiment.json").write_text(deep)
    with pytest.raises(FolderError, match=r"nested too deeply|format None"):
        load_experiment(tmp_path)
    (tmp_path / "journal").write_text(deep + "\n")
    with pytest.raises(FolderError, match=r"journal:1: not a valid line"):
        read_journal(tmp_path / "journal", Arrival)
    (tmp_path / "mine.toml").write_text(f"knobs = {deep}")
    with pytest.raises(ScenarioError, match=r"nested too deeply|a table of KNOB"):
        read_entry(tmp_path / "mine.toml")


def test_nothing_is_written_through_a_symlink(tmp_path: Path) -> None:
    """A symlink is replaced by the new file, and its target stays unchanged."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("as it was")
    (tmp_path / "picture").symlink_to(elsewhere)
    files.write(tmp_path / "picture", b"new")
    assert elsewhere.read_text() == "as it was"
    assert (tmp_path / "picture").read_bytes() == b"new"
    assert not (tmp_path / "picture").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "picture"]


def test_a_document_is_not_written_through_a_symlink_either(tmp_path: Path) -> None:
    """A symlink with the name of the temporary file does not redirect a document either."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("as it was")
    for name in ("knee.md", ".knee.md.new"):
        (tmp_path / name).symlink_to(elsewhere)
    write_document(tmp_path / "knee.md", b"new", "a step")
    assert elsewhere.read_text() == "as it was"
    assert (tmp_path / "knee.md").read_bytes() == b"new"


def test_pipes_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    """A document goes into a pipe or an open file, and replaces neither."""
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    write_document(tmp_path / "fifo", b"new", "a step")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert (tmp_path / "fifo").is_fifo()
    with (tmp_path / "open").open("wb") as opened:
        write_document(Path(f"/proc/self/fd/{opened.fileno()}"), b"new", "a step")
    assert (tmp_path / "open").read_bytes() == b"new"
    with pytest.raises(StepFailed, match="a step: /dev/full cannot be written: No space left on device"):
        write_document(Path("/dev/full"), b"new", "a step")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_not_json(tmp_path: Path, number: str) -> None:
    """NaN and Infinity, which Python's parser accepts, are refused."""
    (tmp_path / "experiment.json").write_text(f'{{"format": {number}}}')
    with pytest.raises(FolderError, match=f"{number} is not a JSON number"):
        load_experiment(tmp_path)
    (tmp_path / "journal").write_text(f'{{"t_ns": {number}, "tcp_bytes": 1}}\n')
    with pytest.raises(FolderError, match="journal:1: not a valid line: JSON is malformed"):
        read_journal(tmp_path / "journal", Arrival)


@dataclass(frozen=True, kw_only=True)
class At:
    at: int | None
    within: tuple[float, ...] = ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"at": 1.0}', "Expected `int | null`, got `float` - at `$.at`"),
        ('{"at": true}', "Expected `int | null`, got `bool` - at `$.at`"),
        (f'{{"at": {2**64}}}', "a number is beyond 2**63 - at `$.at`"),
        (f'{{"at": 1, "within": [0, {-(2**64)}]}}', "a number is beyond 2**63 - at `$.within[1]`"),
        ('{"at": 1, "within": [1e400]}', "a number is beyond 2**63 - at `$.within[0]`"),
    ],
)
def test_numbers_that_are_not_whole_or_beyond_all(tmp_path: Path, text: str, told: str) -> None:
    """Whole numbers must be JSON integers, so 1.0 is refused, and so are numbers beyond 2**63."""
    file = tmp_path / "document"
    file.write_text(text)
    with pytest.raises(FolderError) as caught:
        read_document(file, At)
    assert str(caught.value) == f"{file}: {told}"


def test_what_a_reader_does_not_know(tmp_path: Path) -> None:
    """Unknown keys are ignored."""
    (tmp_path / "document").write_text(json.dumps({"at": 2**62, "new": ["?"]}))
    assert read_document(tmp_path / "document", At) == At(at=2**62)


def test_texts_are_as_they_can_be_shown(tmp_path: Path) -> None:
    """Control characters and lone surrogates in texts are escaped."""
    odd = {"experiment": "\x1b[31m\u202e", "fabric": "\ud800"}
    (tmp_path / "experiment.json").write_text(json.dumps(asdict(experiment_record("a.1")) | odd))
    record = read_experiment(tmp_path)
    assert (record.experiment, record.fabric) == ("\\x1b[31m\\u202e", "\\ud800")


def test_none_before_all(tmp_path: Path) -> None:
    """If one of several files cannot be written, none appears."""
    with pytest.raises(OSError, match="No such file"):
        files.write_all({tmp_path / "one": b"1", tmp_path / "nowhere" / "two": b"2"})
    assert list(tmp_path.iterdir()) == []


def test_a_key_of_many_parts_is_refused() -> None:
    """For a dotted key tomllib takes memory by the square of its parts: 40 kB of them took 1.6 GB."""
    with pytest.raises(ValueError, match="line 2 has more than 100 dots"):
        files.from_toml(f"title = 'x'\n{'.'.join('a' * 20_000)} = 1\n")
    assert files.from_toml("a.b = '1.5'\n") == {"a": {"b": "1.5"}}
