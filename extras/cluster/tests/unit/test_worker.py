"""Tests of a worker without a cluster."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.experiments.sweep.sweep import Sweep
from priolab.extras.cluster import worker
from priolab.extras.cluster.parcel import unpack
from priolab.extras.cluster.worker import (
    BatchCancelled,
    BatchFailed,
    BatchSettings,
    Refusal,
    carry_out,
    identity,
    kinds,
    refusal,
)
from tests.support.sweeping import KERNEL, CopyingFabric, sweep_of

VALUES = {"LOWAT": ("none", "4096")}
FINAL = Path("/elsewhere/mine-1")


def settings_of(sweep: Sweep) -> BatchSettings:
    tools = {sweep.scenarios[0].front_key: sweep.run_settings.fabric.tools(sweep.scenarios[0], capture=False)}
    return BatchSettings(
        run_settings=sweep.run_settings, scenarios=kinds(sweep.scenarios), identity=identity(sweep.run_settings, tools)
    )


def test_a_batch(tmp_path: Path) -> None:
    """A worker returns its run folders packed, with paths as on the head, and removes its own copies."""
    trouble = "sleep 0.5; echo lowat-4096.1 is bad; exit 3"  # then the folder with the log has been packed
    fabric = CopyingFabric(runs_per_command=10, troubles={"lowat-4096": trouble})
    sweep = sweep_of(VALUES, fabric=fabric)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    parcels = carry_out(
        settings_of(sweep), list(sweep.runs().values()), final=FINAL, scratch=scratch, worker="w", wanted=lambda: True
    )
    assert list(scratch.iterdir()) == []
    assert {parcel.name: parcel.ending.status for parcel in parcels} == {
        "lowat-none.1": "ok",
        "lowat-4096.1": "failed",
        "lowat-none_twin.1": "ok",
    }
    for parcel in parcels:
        unpack(parcel.content, tmp_path / parcel.name)
        document = json.loads((tmp_path / parcel.name / "run.json").read_text())
        assert (document["run"], document["experiment"]) == (parcel.name, FINAL.name)
        assert document["status"] == parcel.ending.status
    (bad,) = (str(parcel.ending.reason) for parcel in parcels if parcel.ending.status == "failed")
    assert f"lowat-4096.1 is bad (log: {FINAL}/lowat-none.1/console.log)" in bad, "they shared a command"


def test_one_that_is_different_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A worker with other versions than the head refuses in one line with the differences, and starts nothing."""
    sweep = sweep_of(VALUES)
    settings = settings_of(sweep)
    assert refusal(settings) is None
    settings = replace(settings, identity={**settings.identity, "nginx": "2", "python": "3.12.0"})
    monkeypatch.setenv(KERNEL, "another")
    told = refusal(settings)
    assert told is not None
    assert told.startswith("guest kernel another on the worker and none on the head; ")
    assert told.endswith("; nginx 1 on the worker and 2 on the head")
    assert " on the worker and 3.12.0 on the head" in told
    with pytest.raises(Refusal) as caught:
        carry_out(settings, list(sweep.runs().values()), final=FINAL, scratch=tmp_path, worker="w", wanted=lambda: True)
    assert (caught.value.worker, caught.value.why) == ("w", told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "why"),
    [(OSError(24, "Too many open files"), "Too many open files"), (ValueError("odd"), "ValueError: odd")],
)
def test_a_mishap_is_no_refusal(tmp_path: Path, fault: Exception, why: str) -> None:
    """An exception in a batch is reported as a failed batch and not as a refusal, and no file is left."""
    sweep = sweep_of(VALUES, fabric=CopyingFabric(faults={"lowat-4096": fault}))
    with pytest.raises(BatchFailed) as caught:
        carry_out(
            settings_of(sweep),
            [sweep.runs()["lowat-4096.1"]],
            final=FINAL,
            scratch=tmp_path,
            worker="w",
            wanted=lambda: True,
        )
    assert caught.value.worker == "w"
    assert why in caught.value.why
    assert list(tmp_path.iterdir()) == []


def test_one_whose_code_has_changed_under_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker refuses if its code has changed since it started."""
    monkeypatch.setattr(worker, "_CODE", "0123456789ab")
    assert (
        refusal(settings_of(sweep_of(VALUES)))
        == "the worker's code has changed since it started; start the worker again"
    )


def test_what_nobody_wants_ends(tmp_path: Path) -> None:
    """A batch that is no longer wanted ends its job and removes its folder."""
    sweep = sweep_of(VALUES, fabric=CopyingFabric(troubles={"lowat-none": "exec sleep 60"}))
    with pytest.raises(BatchCancelled):
        carry_out(
            settings_of(sweep),
            [sweep.runs()["lowat-none.1"]],
            final=FINAL,
            scratch=tmp_path,
            worker="w",
            wanted=lambda: not any(tmp_path.glob("*/*/asked")),
        )
    assert list(tmp_path.iterdir()) == []


def test_one_of_each_kind_is_looked_at() -> None:
    """`kinds` returns one scenario for each combination of server, LOWAT=auto or not, and largest page or not."""
    sweep = sweep_of({"LOWAT": ("none", "4096", "auto"), "SERVER": ("nginx", "h2o"), "SIZE": ("20480", "40960")})
    found = kinds(sweep.scenarios)
    assert {(each.server, each.lowat == "auto", each.size_bytes) for each in found} == {
        (server, auto, size) for server in ("nginx", "h2o") for auto in (False, True) for size in (20480, 40960)
    }
    assert len(found) == 8
