"""The promise of a recorded real sweep for its best value, and the runs that keep it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.records.runs import Run
from analysis.sweeps.folder import Sweep, load_sweep
from analysis.sweeps.promise import check
from analysis.sweeps.summary import summarize
from common.formats.reading import FolderError
from tests.contract.conftest import GOLDEN_SWEEP, Summary


def anew(run: Run, **changes: Any) -> Run:
    """The same, as if it had been made with another seed."""
    return replace(run, record=replace(run.record, **{"seed": run.record.seed + 6} | changes))


def test_a_promise_is_kept_by_new_runs_alone(sweep: Sweep, summary: Summary) -> None:
    """Not by one with a seed that the sweep had, nor by one of another fabric; LOWAT may be in other words."""
    network = summary["networks"][0]
    (run,) = (run for arm in sweep.arms for run in arm.good if run.path.name == "loss-0-lowat-16384.1")
    in_words = anew(run, knobs={**run.record.knobs, "LOWAT": "16k"})
    assert [kept.holds for kept in check(network, [in_words])] == [True, True]
    for seed in (1, 6):
        with pytest.raises(FolderError, match=f"its seed, {seed}, is one of the sweep's, 1 to 6; a new run needs"):
            check(network, [anew(run, seed=seed)])
    with pytest.raises(FolderError, match="made in netns, but the sweep's promise is for virtual"):
        check(network, [anew(run, fabric="netns")])


def test_no_seed_is_left_above(tmp_path: Path) -> None:
    """Then one below the sweep's is taken."""
    copy = shutil.copytree(GOLDEN_SWEEP, tmp_path / "golden-sweep")
    document = json.loads((copy / "sweep.json").read_text())
    (copy / "sweep.json").write_text(json.dumps(document | {"seed": 2**32 - 7}))
    words = summarize(load_sweep(copy))["networks"][0]["knee"]["put_back"]
    assert f"SEED={2**32 - 10}" in words


def test_the_best_value_is_promised_and_kept(sweep: Sweep, summary: Summary) -> None:
    """By runs like those it was promised from; a run that is a second later does not keep it."""
    network = summary["networks"][0]
    runs = [anew(run) for arm in sweep.arms for run in arm.good]
    assert [kept.holds for kept in check(network, runs)] == [True, True]
    late = [anew(run) for run in runs if run.arm == "loss-0-lowat-16384"][:1]
    *before, last = late[0].record.loads
    later = anew(
        late[0], seed=late[0].record.seed, loads=(*before, replace(last, first_byte_ms=last.first_byte_ms + 1000))
    )
    first, goodput = check(network, [later])
    assert not first.holds
    assert first.words == "script_first_byte_ms: 1.39 s, outside of what was promised, 374 ms to 406 ms"
    assert goodput.holds
    with pytest.raises(FolderError, match=r"no run that is ok has LOWAT=16384 and LOSS=0%"):
        check(network, [run for run in runs if run.arm == "loss-1-lowat-16384"])
