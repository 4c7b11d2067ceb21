"""Recorded folders are read, and damage in them is reported with the file."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import load_experiment, load_run
from priolab.analysis.reports.summary import summarize
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import LoadRecord
from priolab.common.formats.scenario import ScenarioRecord
from priolab.experiments.commands.console import Report

_DEFAULTS = {field.name: field.default for field in fields(ScenarioRecord)}
_GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize("folder", sorted(_GOLDEN.iterdir()), ids=lambda path: path.name)
def test_a_golden_folder_is_read(folder: Path) -> None:
    """The loads computed from a golden folder's events equal those in run.json, and the folder has a summary."""
    experiment = load_experiment(folder)
    for run in experiment.runs:
        loads = tuple(_without_goodput(load.as_record()) for load in page_loads(run.evidence()))
        assert loads == run.record.loads
        document, recorded = run.record.as_document(), json.loads((run.path / "run.json").read_text())
        recorded.pop("prediction")  # of a predictor that earlier versions had
        recorded["scenario"].pop("shaper_at")  # of a knob that earlier versions had
        newer = document["scenario"].keys() - recorded["scenario"].keys()  # fields of knobs that came later
        assert all(document["scenario"].pop(name) == _DEFAULTS[name] for name in newer)
        assert document == recorded
    summary = summarize(experiment)
    assert summary["status"] == "ok"
    assert [arm["name"] for arm in summary["arms"]] == ["control", "lowat-16384"]


def test_a_knob_that_is_gone(tmp_path: Path) -> None:
    """Results of version 0.2 whose bottleneck was at the front are refused, as nothing would explain them rightly."""
    folder = shutil.copytree(_GOLDEN / "format-3", tmp_path / "format-3")
    file = folder / "control.1" / "run.json"
    file.write_text(file.read_text().replace('"SHAPER_AT": "link"', '"SHAPER_AT": "front"'))
    with pytest.raises(FolderError, match=r"SHAPER_AT=front: only version 0\.2"):
        load_experiment(folder)


def _without_goodput(load: LoadRecord) -> LoadRecord:
    """Return a load as an earlier version recorded it."""
    return replace(load, resources={name: replace(each, goodput_bit_s=None) for name, each in load.resources.items()})


@pytest.mark.parametrize("name", ["front/sockets.jsonl", "client/arrivals.jsonl", "link/queue.jsonl"])
def test_damaged_samples_are_named(name: str, tmp_path: Path) -> None:
    """A truncated line of samples is reported with file and line."""
    newest = max(_GOLDEN.iterdir())
    run = load_run(newest / "control.1")
    copy = tmp_path / "control.1"
    for file in ("run.json", "front/sockets.jsonl", "client/arrivals.jsonl", "link/queue.jsonl"):
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        (copy / file).write_bytes((run.path / file).read_bytes())
    lines = (copy / name).read_text().splitlines()
    (copy / name).write_text("\n".join([lines[0], lines[1][:-3]]))
    with pytest.raises(FolderError, match=f"{name}:2: not a valid line: "):
        load_run(copy).layers()


def test_a_value_of_another_type_is_named(tmp_path: Path) -> None:
    """A time that is a text is refused, with file and line."""
    source = _GOLDEN / "format-3" / "control.1"
    for file in ("client/plan.json", "client/events.jsonl", "origin/access.jsonl", "run.json"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes((source / file).read_bytes())
    events = tmp_path / "client" / "events.jsonl"
    first, *others = events.read_text().splitlines()
    events.write_text("\n".join([json.dumps(json.loads(first) | {"t_ns": "12"}), *others]))
    with pytest.raises(FolderError, match=r"events\.jsonl:1: not a valid line: Expected `int`, got `str`"):
        load_run(tmp_path).evidence()


def _spoilt(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of the document, each with one value at any depth left out or of another type."""
    if isinstance(document, dict):
        for key, value in document.items():
            others = {name: each for name, each in document.items() if name != key}
            yield f"without {key}", others
            yield f"{key} is a list", others | {key: [None]}
            yield f"{key} is null", others | {key: None}
            for what, worse in _spoilt(value):
                yield f"{key}/{what}", others | {key: worse}
    elif isinstance(document, list):
        for index, value in enumerate(document):
            for what, worse in _spoilt(value):
                yield f"{index}/{what}", [*document[:index], worse, *document[index + 1 :]]


@pytest.mark.parametrize("folder", sorted(_GOLDEN.iterdir()), ids=lambda path: path.name)
def test_a_corrupted_document_is_read_or_refused(folder: Path, tmp_path: Path) -> None:
    """With a value of run.json missing or of another type, there is a summary, or an error that names the file."""
    document = json.loads((folder / "control.1" / "run.json").read_text())
    (tmp_path / "control.1").mkdir()
    overview = json.loads((folder / "experiment.json").read_text()) | {"runs": ["control.1"]}
    (tmp_path / "experiment.json").write_text(json.dumps(overview))
    file = tmp_path / "control.1" / "run.json"
    refused = 0
    for what, worse in _spoilt(document):
        file.write_text(json.dumps(worse))
        try:
            summary = summarize(load_experiment(tmp_path))
            Report().summary(summary)
        except FolderError as error:
            refused += str(error).startswith(f"{file}: ")
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
    assert refused > 300
