"""Folders that are damaged, or no run folders, are reported with the file, and with the line in a journal."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.records.runs import load_evidence, load_experiment, load_run
from priolab.client.dialects import PLAIN
from priolab.client.priorities import Priorities
from priolab.common.formats import RUN_FORMAT
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.files import write_json
from priolab.common.formats.reading import FolderError
from priolab.experiments.results import run_folder
from tests.support import builders
from tests.support.pages import maps_plan

REQUEST = {"method": "GET", "path": "/script.js", "received_ns": 5, "available_ns": 205, "status": 200}


def plan(priorities: Priorities) -> str:
    return maps_plan(
        address="198.18.1.2",
        port=443,
        server_name="maps.test",
        priorities=priorities,
        dialect=PLAIN,
        reloads=0,
        window_bytes=2**24,
        load_deadline_ns=10**9,
    ).to_json()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a run folder with one or two lines in each file, with the functions that a run uses."""
    events = [
        Event(t_ns=1, kind=Kind.LOAD_STARTED, load=1),
        Event(t_ns=9, kind=Kind.DATA, load=1, stream_id=3, resource="image", size_bytes=100),
    ]
    run = run_folder.RunFolder(tmp_path / "control.1")
    run.create()
    write_json(run.run, builders.run().record.as_document())
    (run.client / "plan.json").write_text(plan(Priorities.SPDY))
    (run.client / "events.jsonl").write_text("".join(event.to_json() + "\n" for event in events))
    (run.origin / "access.jsonl").write_text(json.dumps(REQUEST) + "\n")
    return run.path


def _experiment(*runs: str) -> dict[str, Any]:
    return asdict(builders.experiment_record(*runs))


def error_of(folder: Path) -> str:
    with pytest.raises(FolderError) as caught:
        load_evidence(folder)
    return str(caught.value)


def test_what_was_written_is_read(folder: Path) -> None:
    """Events and requests are read as written; absent keys are None, and unknown keys of requests are ignored."""
    evidence = load_evidence(folder)
    started, data = evidence.events
    assert (started.t_ns, started.kind, started.resource, started.size_bytes) == (1, "load-started", None, None)
    assert (data.t_ns, data.kind, data.stream_id, data.size_bytes) == (9, "data", 3, 100)
    (request,) = evidence.requests
    assert (request.path, request.available_ns, request.handed_over_ns) == ("/script.js", 205, None)
    assert load_run(folder).status == "ok"


@pytest.mark.parametrize("kept", [1, 20, -2])
def test_truncated_events(folder: Path, kept: int) -> None:
    """A truncated last line is reported with file and line."""
    file = folder / "client" / "events.jsonl"
    first, second = file.read_text().splitlines()
    file.write_text(f"{first}\n{second[:kept]}")
    assert error_of(folder).startswith(f"{file}:2: not a valid line: ")


@pytest.mark.parametrize("line", ["null", "[1, 2]", "{}", '{"t_ns": 1, "kind": "data"}', '{"time": 1}'])
def test_a_line_that_is_no_event(folder: Path, line: str) -> None:
    """A line of JSON that is no event is reported with file and line."""
    file = folder / "client" / "events.jsonl"
    file.write_text(f"{line}\n{file.read_text()}")
    assert error_of(folder).startswith(f"{file}:1: not a valid line: ")


def test_a_line_that_is_no_request(folder: Path) -> None:
    """A line of the origin's log without its time is reported with file and line."""
    file = folder / "origin" / "access.jsonl"
    file.write_text(f'{json.dumps(REQUEST)}\n{{"path": "/"}}\n')
    assert error_of(folder) == f"{file}:2: not a valid line: Object missing required field `received_ns`"


@pytest.mark.parametrize("name", ["client/plan.json", "client/events.jsonl", "origin/access.jsonl"])
def test_missing_file(folder: Path, name: str) -> None:
    """A missing file is an error that names the file."""
    (folder / name).unlink()
    assert error_of(folder).startswith(f"{folder / name}: ")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"format": RUN_FORMAT + 1}, f"format {RUN_FORMAT + 1}; this version reads format {RUN_FORMAT}"),
        ({"name": "a run of something else"}, f"format None; this version reads format {RUN_FORMAT}"),
        ([1, 2], f"format None; this version reads format {RUN_FORMAT}"),
    ],
)
def test_foreign_document(tmp_path: Path, document: Any, told: str) -> None:
    """A run.json or experiment.json of another format is refused with both format numbers."""
    for name, load in (("run.json", load_run), ("experiment.json", load_experiment)):
        (tmp_path / name).write_text(json.dumps(document))
        with pytest.raises(FolderError) as caught:
            load(tmp_path)
        assert str(caught.value) == f"{tmp_path / name}: {told}"


@pytest.mark.parametrize("content", ["{}", "[]", '{"resources": [{}]}'])
def test_a_plan_that_is_none(folder: Path, content: str) -> None:
    """A plan.json without the plan's keys is an error that names plan.json."""
    (folder / "client" / "plan.json").write_text(content)
    assert error_of(folder).startswith(f"{folder / 'client' / 'plan.json'}: ")


def test_events_that_are_not_text(folder: Path) -> None:
    """A line of events that is not UTF-8 is reported with its number."""
    file = folder / "client" / "events.jsonl"
    file.write_bytes(file.read_bytes() + b"\xff\xfe\n")
    assert error_of(folder).startswith(f"{file}:3: not a valid line: ")


def test_a_document_without_its_keys(tmp_path: Path) -> None:
    """A document of the right format without a required key is refused, and the key is named."""
    (tmp_path / "experiment.json").write_text(json.dumps({"format": RUN_FORMAT}))
    with pytest.raises(FolderError, match=r"experiment\.json: Object missing required field `experiment`"):
        load_experiment(tmp_path)


def test_damaged_document(tmp_path: Path) -> None:
    """A truncated run.json is refused with the place of the error."""
    (tmp_path / "run.json").write_text('{"format": 1,\n"arm"')
    with pytest.raises(FolderError) as caught:
        load_run(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: ")
    assert "line 2" in str(caught.value)


def test_not_a_results_folder(tmp_path: Path) -> None:
    """A folder without experiment.json is refused as not a results folder, or an unfinished one."""
    with pytest.raises(FolderError, match=r"experiment\.json: missing; the folder is no results folder, or"):
        load_experiment(tmp_path)


def test_experiment_with_a_missing_run(folder: Path) -> None:
    """An experiment that lists a missing run is refused, and the run is named."""
    write_json(folder.parent / "experiment.json", _experiment("control.1", "control.2"))
    with pytest.raises(FolderError, match=r"control\.2/run\.json: missing"):
        load_experiment(folder.parent)


def test_experiment_has_its_arms_in_order(folder: Path) -> None:
    """An experiment's runs are grouped by arm, in the order of experiment.json."""
    write_json(folder.parent / "experiment.json", _experiment("control.1"))
    experiment = load_experiment(folder.parent)
    assert {name: [run.path for run in runs] for name, runs in experiment.arms().items()} == {"control": [folder]}


@pytest.mark.parametrize(
    ("written", "read"),
    [("\\u001b[31m", "\\x1b[31m"), ("\x7f", "\\x7f"), ("\u202e", "\\u202e"), ("grün", "grün"), ('~ \\"', '~ "')],
)
def test_texts_of_a_journal_cannot_control_a_terminal(folder: Path, written: str, read: str) -> None:
    """Unprintable characters in a journal, as such or as JSON escapes, are replaced by escapes; others stay."""
    file = folder / "client" / "events.jsonl"
    file.write_text(file.read_text().replace('"image"', f'"{written}"'))
    assert load_evidence(folder).events[1].resource == read
