"""A damaged results folder is reported with an error that names a file; no reader crashes."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.exports import recording
from priolab.analysis.exports.formats import FORMATS, Format
from priolab.analysis.figures.all_figures import FIGURES
from priolab.analysis.figures.arms import CLIENTS
from priolab.analysis.records.runs import Experiment, load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.common.formats.reading import FolderError

_GOLDEN = Path(__file__).parent.parent / "golden" / "format-3"
_JOURNALS = (
    "client/plan.json",
    "client/events.jsonl",
    "client/arrivals.jsonl",
    "front/sockets.jsonl",
    "link/queue.jsonl",
    "origin/access.jsonl",
)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines(keepends=True)


def _empty(file: Path) -> None:
    file.write_text("")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _first_half(file: Path) -> None:
    lines = _lines(file)
    file.write_text("".join(lines[: len(lines) // 2]))


def _numbers(replacement: int) -> Callable[[Path], None]:
    def replace(file: Path) -> None:
        made = []
        for line in _lines(file):
            document = json.loads(line) if file.suffix == ".jsonl" else None
            if not isinstance(document, dict):
                return
            made.append(
                json.dumps({key: replacement if type(value) is int else value for key, value in document.items()})
            )
        file.write_text("".join(f"{line}\n" for line in made))

    return replace


def _foreign(file: Path) -> None:
    file.write_text('{"entries": [], "version": "1.2"}\n')


_DAMAGE: dict[str, Callable[[Path], None]] = {
    "missing": Path.unlink,
    "empty": _empty,
    "cut off": _cut,
    "first half": _first_half,
    "foreign": _foreign,
    "all 0": _numbers(0),
    "all 1": _numbers(1),
    "all huge": _numbers(2**62),
    "all negative": _numbers(-1),
    "beyond all": _numbers(10**30),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a golden folder."""
    copy = tmp_path / "results"
    shutil.copytree(_GOLDEN, copy)
    return copy


def _drawn(draw: Callable[[Experiment], Any], folder: Path) -> None:
    draw(load_experiment(folder))


def _exported(chosen: Format, folder: Path) -> None:
    chosen.files(recording.album(load_experiment(folder)))


def _readers() -> Iterator[Callable[[Path], object]]:
    yield lambda folder: summarize(load_experiment(folder))
    yield from (partial(_drawn, draw) for draw in FIGURES.values())
    yield from (partial(_exported, each) for each in FORMATS.values())


@pytest.mark.parametrize("journal", _JOURNALS)
@pytest.mark.parametrize("damage", _DAMAGE)
def test_whatever_is_damaged(folder: Path, journal: str, damage: str) -> None:
    """Summary, figures and exports either succeed on a damaged journal or raise FolderError that names the run."""
    file = folder / "control.1" / journal
    _DAMAGE[damage](file)
    for read in _readers():
        try:
            read(folder)
        except FolderError as error:
            assert str(folder / "control.1") in str(error)  # noqa: PT017


@pytest.mark.parametrize("journal", _JOURNALS)
def test_what_is_missing_is_no_result(folder: Path, journal: str) -> None:
    """If a journal of a run is missing, the figure `ledger-area` raises FolderError that names the journal."""
    (folder / "control.1" / journal).unlink()
    with pytest.raises(FolderError, match=journal):
        FIGURES["ledger-area"](load_experiment(folder))


def test_a_client_that_nobody_knows_is_damage(folder: Path) -> None:
    """A run.json with a known client is read; one with an unknown client is refused with file, value and key."""
    file = folder / "control.1" / "run.json"
    document = json.loads(file.read_text())
    for client in CLIENTS:
        file.write_text(json.dumps({**document, "scenario": {**document["scenario"], "client": client}}))
        assert summarize(load_experiment(folder))["status"] == "ok"
    file.write_text(json.dumps({**document, "scenario": {**document["scenario"], "client": "netscape"}}))
    with pytest.raises(FolderError, match=r"control\.1/run\.json: .*'netscape' - at `\$\.scenario\.client`"):
        load_experiment(folder)


@pytest.mark.parametrize("after", ["nobody", "page", "image", "script"])
def test_a_resource_after_one_that_is_none_before_it_is_damage(folder: Path, after: str) -> None:
    """A resource of run.json that waits for itself, for a later or an unknown one is refused with its name."""
    file = folder / "control.1" / "run.json"
    document = json.loads(file.read_text())
    resources = [{**each, "after": after} for each in document["scenario"]["resources"] if each["name"] != "page"]
    file.write_text(json.dumps({**document, "scenario": {**document["scenario"], "resources": resources}}))
    with pytest.raises(FolderError, match=rf"run\.json: .*is after '{after}', which does not stand before it"):
        load_experiment(folder)
