"""The limits that a recorded sweep promises for its recommended value, checked against new runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.records.runs import Run
from priolab.analysis.sweeps.folder import Sweep, load_sweep
from priolab.analysis.sweeps.summary import summarize
from priolab.analysis.sweeps.validation import check
from priolab.common.formats.reading import FolderError
from tests.contract.conftest import GOLDEN_SWEEP, Summary


def anew(run: Run, **changes: Any) -> Run:
    """Return the run with another seed, and with these changes of its record."""
    return replace(run, record=replace(run.record, **{"seed": run.record.seed + 6} | changes))


def test_a_promise_is_kept_by_new_runs_alone(sweep: Sweep, summary: Summary) -> None:
    """A run with a seed or fabric other than allowed is refused; LOWAT may be written as 16k.

    The allowed seeds are those that the sweep did not use, and the allowed fabric is the sweep's.
    """
    network = summary["networks"][0]
    (run,) = (run for arm in sweep.arms for run in arm.good if run.path.name == "loss-0-lowat-16384.1")
    in_words = anew(run, knobs={**run.record.knobs, "LOWAT": "16k"})
    assert [kept.holds for kept in check(network, [in_words])] == [True, True]
    for seed in (1, 6):
        with pytest.raises(FolderError, match=f"the run's seed {seed} is one of the sweep's seeds 1 to 6; use"):
            check(network, [anew(run, seed=seed)])
    with pytest.raises(FolderError, match="the run was made in FABRIC=netns, but the sweep in FABRIC=virtual"):
        check(network, [anew(run, fabric="netns")])


def test_no_seed_is_left_above(tmp_path: Path) -> None:
    """If no seeds above the sweep's are free, the recommended command has a seed below the sweep's."""
    copy = shutil.copytree(GOLDEN_SWEEP, tmp_path / "golden-sweep")
    document = json.loads((copy / "sweep.json").read_text())
    (copy / "sweep.json").write_text(json.dumps(document | {"seed": 2**32 - 7}))
    words = summarize(load_sweep(copy))["networks"][0]["knee"]["put_back"]
    assert f"SEED={2**32 - 10}" in words


def test_the_best_value_is_promised_and_kept(sweep: Sweep, summary: Summary) -> None:
    """New runs like the sweep's are within the promised limits; a run whose first byte is a second later is not."""
    network = summary["networks"][0]
    runs = [anew(run) for arm in sweep.arms for run in arm.good]
    assert [kept.holds for kept in check(network, runs)] == [True, True]
    late = [anew(run) for run in runs if run.arm == "loss-0-lowat-16384"][:1]
    *before, last = late[0].record.loads
    script = replace(last.resources["script"], first_byte_ms=last.first_byte_ms + 1000)
    shifted = replace(last, first_byte_ms=script.first_byte_ms, resources={**last.resources, "script": script})
    later = anew(late[0], seed=late[0].record.seed, loads=(*before, shifted))
    first, goodput = check(network, [later])
    assert not first.holds
    assert first.words == "script_first_byte_ms: 1.39 s, outside of the sweep's limits, 374 ms to 406 ms"
    assert goodput.holds
    with pytest.raises(FolderError, match=r"no run that is ok has LOWAT=16384 and LOSS=0%"):
        check(network, [run for run in runs if run.arm == "loss-1-lowat-16384"])
