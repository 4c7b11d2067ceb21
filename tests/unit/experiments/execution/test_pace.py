"""Tests of the machine's pace, and of the share of its processors that is free."""

import os
from pathlib import Path
from typing import cast

import pytest

from priolab.experiments.execution import pace
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.scenario.knobs import scenario_from
from tests.support.sweeping import CopyingFabric

VIRTUAL, REAL = (cast("Fabric", CopyingFabric(virtual_clock=virtual)) for virtual in (True, False))


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the user's cache, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "priolab"


@pytest.mark.usefixtures("cache")
def test_a_sweep_teaches_the_pace() -> None:
    """The first sweep gives the pace. A later sweep changes it by half. Each kind of sweep has its own pace."""
    assert pace.learned("virtual") is None
    pace.learn("virtual", took_s=30.0, cost_s=20.0)
    assert pace.learned("virtual") == 1.5
    pace.learn("virtual", took_s=50.0, cost_s=20.0)
    pace.learn("netns", took_s=9.0, cost_s=10.0)
    assert (pace.learned("virtual"), pace.learned("netns"), pace.learned("compose")) == (2.0, 0.9, None)
    pace.learn("virtual", took_s=4.9, cost_s=0.1)
    assert pace.learned("virtual") == 2.0, "a short sweep says little"


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"virtual": "x"}', '{"virtual": null}', '{"virtual": 0}'])
def test_a_damaged_file_is_replaced(cache: Path, content: str) -> None:
    """A file without a usable pace counts as none, and the next sweep replaces it."""
    cache.mkdir()
    (cache / "pace.json").write_text(content)
    assert pace.learned("virtual") is None
    pace.learn("virtual", took_s=30.0, cost_s=20.0)
    assert pace.learned("virtual") == 1.5


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    """The pace is not kept if the cache cannot be written; the sweep goes on."""
    cache.write_text("not a folder")
    pace.learn("virtual", took_s=30.0, cost_s=20.0)
    assert pace.learned("virtual") is None


def test_a_browser_has_its_own_pace() -> None:
    """Sweeps with a browser and sweeps without have different paces."""
    ordinary, browser = (scenario_from({"CLIENT": client}) for client in ("h2", "chromium"))
    assert pace.kind([ordinary, ordinary], VIRTUAL) == "copying"
    assert pace.kind([ordinary, browser], VIRTUAL) == "copying chromium"


def test_what_counts_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the virtual clock, processor time counts. On real clocks, the wall time of each job counts."""
    before_s = pace.spent_s(VIRTUAL, 2)
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    assert pace.spent_s(REAL, 2) == 200.0
    sum(range(10**6))
    assert before_s < pace.spent_s(VIRTUAL, 2) < before_s + 60


def test_the_free_share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Jobs share the processors with the threads that want to run; no job gets more than one processor."""
    assert 0 < pace.free(1) <= 1
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(pace, "_LOAD", tmp_path / "loadavg")
    for running, jobs, free in ((1, 2, 1.0), (3, 2, 0.5), (2, 1, 1.0), (7, 2, 0.25)):
        (tmp_path / "loadavg").write_text(f"0.52 0.40 0.31 {running}/812 4711\n")
        assert pace.free(jobs) == free
