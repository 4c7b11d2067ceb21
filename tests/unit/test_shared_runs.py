"""Tests that only one of pytest's worker processes runs an experiment that several of them need."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier

import pytest

from tests.support import shared_runs
from tests.support.lab import Done, Lab
from tests.support.shared_runs import Runs

_WORKERS = 4


@dataclass(frozen=True, kw_only=True)
class _Counting(Lab):
    """A lab that records the requested experiments and runs none."""

    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run_here(self, *words: str) -> Done:
        self.asked.append(words)
        return Done(code=0, out="", err="", folder=self.results / words[-1], summary={"arms": [{"name": "control"}]})


def test_the_same_words_are_run_once(tmp_path: Path) -> None:
    """Requests for the same experiment at the same time share its result. Other knobs are another experiment."""
    lab = _Counting(root=tmp_path)
    (tmp_path / "kept").mkdir()
    begin = Barrier(_WORKERS)

    def ask(_: int) -> Done:
        begin.wait(10)
        return Runs(lab)("LOWAT=1")

    with ThreadPoolExecutor(_WORKERS) as workers:
        first, *others = workers.map(ask, range(_WORKERS))
    assert lab.asked == [("FABRIC=virtual", "LOWAT=1")]
    assert others == [first] * (_WORKERS - 1)
    assert first.folder == lab.results / "LOWAT=1"
    assert first.arm("control") == {"name": "control"}
    other = Runs(lab)("LOWAT=2")
    assert lab.asked[1:] == [("FABRIC=virtual", "LOWAT=2")]
    assert sorted(Runs(lab).done, key=lambda done: str(done.folder)) == [first, other]


def test_arms_with_knobs_of_their_own_are_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same arms with the same common knobs are run once; other common knobs are another experiment."""
    asked: list[tuple[str, ...]] = []

    def record(results: Path, scenarios: Mapping[str, Sequence[str]], *common: str) -> Done:
        asked.append((*scenarios, *common))
        return Done(code=0, out="", err="", folder=results, summary={"arms": [{"name": name} for name in scenarios]})

    monkeypatch.setattr(shared_runs, "together", record)
    (tmp_path / "kept").mkdir()
    run = Runs(Lab(root=tmp_path))
    arms = {"slow": ("RATE=1mbit",), "fast": ()}
    first, second = run.together(arms, "SAMPLE=none"), run.together(arms, "SAMPLE=none")
    assert first == second
    assert first.arm("slow") == {"name": "slow"}
    run.together(arms, "SAMPLE=50ms")
    assert asked == [("slow", "fast", "SAMPLE=none"), ("slow", "fast", "SAMPLE=50ms")]
