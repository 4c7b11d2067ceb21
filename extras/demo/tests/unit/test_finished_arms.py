"""Tests of the search for finished arms."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.execution.fingerprint import fingerprint
from priolab.experiments.execution.request import Request
from priolab.extras.demo.arm_view import FinishedArm
from priolab.extras.demo.finished_arms import FinishedArms
from priolab.extras.demo.tests.unit.demonstrating import CODE, KERNEL, VERSIONS, request_of, settle
from priolab.netem.shaper_kind import Shaper

ASKED = request_of({"LOWAT": "16384"})


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the properties of this machine."""
    settle(monkeypatch)


def finished(
    results: Path,
    name: str,
    *requests: Request,
    started_at: str = "2026-01-01T00:00:00+00:00",
    status: str = "ok",
    repeat: int = 1,
    **changes: Any,
) -> Path:
    """Write an experiment with the arms of these requests, and return its folder."""
    arms = tuple(arm for request in requests or (ASKED,) for arm in request.arms)
    found = fingerprint(replace(ASKED, arms=arms, repeat=repeat), VERSIONS, KERNEL, CODE) | changes
    runs = [f"{arm.name}.{number}" for arm in arms for number in range(1, repeat + 1)]
    folder = results / name
    for run in runs:
        (folder / run).mkdir(parents=True)
        (folder / run / "run.json").write_text(json.dumps({"status": status}))
    document = {"fingerprint": found, "started_at": started_at, "runs": runs}
    (folder / "experiment.json").write_text(json.dumps(document))
    return folder


def test_nothing_is_there(tmp_path: Path) -> None:
    """No arm is found in an empty results folder or a missing one."""
    assert FinishedArms(tmp_path).find(ASKED) is None
    assert FinishedArms(tmp_path / "nowhere").find(ASKED) is None


def test_an_arm_among_others(tmp_path: Path) -> None:
    """An arm is found in any experiment and under any name."""
    both = request_of({"LOWAT": "none"}), ASKED
    folder = finished(tmp_path, "one", *both)
    assert FinishedArms(tmp_path).find(ASKED) == FinishedArm(folder=folder, arm="lowat-16384")
    assert FinishedArms(tmp_path).find(both[0]) == FinishedArm(folder=folder, arm="control")
    renamed = replace(ASKED, arms=(replace(ASKED.arms[0], name="mine"),))
    assert FinishedArms(tmp_path).find(renamed) == FinishedArm(folder=folder, arm="lowat-16384")
    assert FinishedArms(tmp_path).find(request_of({"LOWAT": "16385"})) is None


def test_the_newest_counts(tmp_path: Path) -> None:
    """The experiment that started last is used, whatever its name."""
    newer = finished(tmp_path, "a", started_at="2026-03-01T00:00:00+00:00")
    finished(tmp_path, "b", started_at="2026-02-01T00:00:00+00:00")
    assert FinishedArms(tmp_path).find(ASKED) == FinishedArm(folder=newer, arm="lowat-16384")


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "0ther"},
        {"kernel": "linux-6.2"},
        {"fabric": "netns"},
        {"sample": None},
        {"versions": {**VERSIONS, "nginx": "nginx/1.24.0"}},
        {"versions": {"nginx": "nginx/1.22.1"}},
        {"seed": 2},
        {"status": "failed"},
        {"status": "invalid"},
    ],
    ids=str,
)
def test_what_would_come_out_otherwise(tmp_path: Path, changes: dict[str, Any]) -> None:
    """An arm with a difference that affects results is not found, nor is an arm that is not ok."""
    finished(tmp_path, "other", **changes)
    assert FinishedArms(tmp_path).find(ASKED) is None


def test_more_versions_than_it_needs(tmp_path: Path) -> None:
    """Versions of another arm's server in the same experiment do not matter."""
    finished(tmp_path, "one", versions={**VERSIONS, "h2o": "2.2.5"})
    assert FinishedArms(tmp_path).find(ASKED) is not None


def test_what_is_no_result(tmp_path: Path) -> None:
    """Folders without a usable result are skipped.
    These are unfinished or damaged folders, symlinks, and experiments with several repetitions or another shaper.
    """
    folder = finished(tmp_path, "whole.partial")
    (tmp_path / "latest").symlink_to(folder)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "experiment.json").write_text("{")
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "experiment.json").write_text("[]")
    finished(tmp_path, "twice", repeat=2)
    shutil.rmtree(finished(tmp_path, "empty") / "lowat-16384.1")
    assert FinishedArms(tmp_path).find(ASKED) is None
    finished(tmp_path, "good")
    assert FinishedArms(tmp_path).find(ASKED) is not None
    assert (
        FinishedArms(tmp_path).find(replace(ASKED, run_settings=replace(ASKED.run_settings, shaper=Shaper.FERRY)))
        is None
    )


def test_it_sees_what_comes_and_goes(tmp_path: Path) -> None:
    """Each search reads the folder anew."""
    arms = FinishedArms(tmp_path)
    assert arms.find(ASKED) is None
    folder = finished(tmp_path, "one")
    assert arms.find(ASKED) == FinishedArm(folder=folder, arm="lowat-16384")
    shutil.rmtree(folder)
    assert arms.find(ASKED) is None
