"""The executor on this machine, with a fabric that copies: real jobs, real run folders."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from analysis.loads.findings import findings as judge
from analysis.records.runs import Evidence, load_experiment
from analysis.reports.summary import summarize
from common.formats.run import RunRecord
from experiments.errors import StepFailed
from experiments.execution import local
from experiments.execution.conclusion import Ending, Run
from experiments.execution.executor import OnEnded, RunStore
from experiments.execution.experiment import side_by_side
from experiments.execution.local import Local, bearable
from experiments.scenario.knobs import scenario_from
from experiments.sweep.sweep import Sweep, SweepProgress, run_sweep
from experiments.testbed.fabric import Fabric
from tests.unit.sweeping import CopyingFabric, sweep_of

VIRTUAL, REAL = CopyingFabric(), CopyingFabric(virtual_clock=False)
VALUES = {"LOWAT": ("none", "4096", "16384", "65536")}


def progress(heard: dict[str, Ending]) -> SweepProgress:
    def ended(run: Run, ending: Ending, record: RunRecord) -> None:
        assert record.run == run.name
        heard[run.name] = ending

    return SweepProgress(step=lambda _: None, opened=lambda _: None, ended=ended)


def carried_out(sweep: Sweep, executor: Local) -> tuple[Path, dict[str, Ending]]:
    heard: dict[str, Ending] = {}
    return run_sweep(sweep, executor, progress(heard)), heard


def test_bad_runs_do_not_stop_the_others(tmp_path: Path) -> None:
    """Each is told of by name, with a reason whose log is there; the others are ok, and the folder is an experiment."""
    fabric = CopyingFabric(
        troubles={
            "lowat-4096": "echo no such luck; exit 3",
            "lowat-16384": """printf %s '{"status": "invalid", "reason": "rate", "observed": {}}' >outcome.json""",
        }
    )
    sweep = sweep_of(VALUES, repeat=2, results=tmp_path, fabric=fabric)
    folder, heard = carried_out(sweep, Local(sweep.manner, 2))
    assert {name: ending.status for name, ending in heard.items() if ending.status != "ok"} == {
        "lowat-4096.1": "failed",
        "lowat-4096.2": "failed",
        "lowat-16384.1": "invalid",
        "lowat-16384.2": "invalid",
    }
    assert len(heard) == 10
    reason = str(heard["lowat-4096.1"].reason)
    assert "no such luck" in reason
    log = Path(reason.rpartition("(log: ")[2].rstrip(")"))
    assert log == folder / "lowat-4096.1" / "console.log"
    assert log.exists()
    summary = summarize(load_experiment(folder))
    assert {arm["name"]: arm["status"] for arm in summary["arms"]} == {
        "lowat-none": "ok",
        "lowat-4096": "failed",
        "lowat-16384": "invalid",
        "lowat-65536": "ok",
        "lowat-none_twin": "ok",
    }
    document = json.loads((folder / "lowat-none_twin.2" / "run.json").read_text())
    assert (document["run"], document["seed"], document["experiment"]) == ("lowat-none_twin.2", 4, folder.name)


def test_runs_that_share_a_command(tmp_path: Path) -> None:
    """Each is concluded when it ends; of a command that breaks off, what it had begun failed, the rest is made anew."""
    fabric = CopyingFabric(troubles={"lowat-4096": "exit 3"}, log=tmp_path / "made", runs_per_command=4)
    sweep = sweep_of(VALUES, repeat=3, results=tmp_path / "results", fabric=fabric)
    executor = Local(sweep.manner, 2)
    folder, heard = carried_out(sweep, executor)
    bad = {name for name, ending in heard.items() if ending.status != "ok"}
    assert bad == {f"lowat-4096.{number}" for number in (1, 2, 3)}
    made = (tmp_path / "made").read_text().split()
    assert sorted(made) == sorted(f"{name}.partial" for name in sweep.order())
    assert sorted(heard) == sorted(sweep.order())
    assert len([path for path in folder.iterdir() if path.is_dir()]) == len(sweep.order())


def broken_runs(number: int, trouble: str, results: Path) -> tuple[str, dict[str, str], Path]:
    """A sweep in one command, one of its runs in trouble: that one's name, the reasons by run, the command's log."""
    fabric = CopyingFabric(runs_per_command=10)
    sweep = sweep_of(VALUES, results=results, fabric=fabric)
    broken = sweep.order()[number]
    fabric.troubles = {broken.rpartition(".")[0]: trouble}
    folder, heard = carried_out(sweep, Local(sweep.manner, 1, share=lambda waiting, *_: waiting))
    assert sorted(heard) == sorted(sweep.order())
    bad = {name: str(ending.reason) for name, ending in heard.items() if ending.status != "ok"}
    return broken, bad, folder / sweep.order()[0] / "console.log"


def test_the_run_at_work_has_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a command that several share: who hangs is named, with its own limit and a log that is there; others go on."""
    monkeypatch.setattr(local, "wall_limit_s", lambda *_: 1.0)
    hung, bad, log = broken_runs(1, "echo so far; exec sleep 66.5", tmp_path)
    assert bad == {hung: f"{hung}: it took longer than 1 s of wall time (log: {log})"}
    assert "so far" in log.read_text()


def test_a_command_that_breaks_off(tmp_path: Path) -> None:
    """The run that was at work tells what was said last, and where the rest of it is: in the folder of the first."""
    broken, bad, log = broken_runs(2, "echo no such luck; exit 3", tmp_path)
    assert list(bad) == [broken]
    assert bad[broken].startswith(f"{broken}: it ended without an outcome: ")
    assert bad[broken].endswith(f"no such luck (log: {log})")
    assert "no such luck" in log.read_text()


def test_what_cannot_be_judged_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is raised by whoever judges: the sweep goes on, and when it is resumed as well."""

    def findings(evidence: Evidence, *rest: Any) -> Any:
        if "lowat-4096.1" in evidence.source:
            raise KeyError("nothing like it")
        return judge(evidence, *rest)

    monkeypatch.setattr("experiments.execution.conclusion.findings", findings)
    sweep = sweep_of(VALUES, results=tmp_path)
    folder, heard = carried_out(sweep, Local(sweep.manner, 2))
    bad = {name: str(ending.reason) for name, ending in heard.items() if ending.status != "ok"}
    log = folder / "lowat-4096.1" / "judging.log"
    assert bad == {
        "lowat-4096.1": f"lowat-4096.1: it could not be judged: KeyError: 'nothing like it' (log: {log})",
    }
    assert "KeyError" in log.read_text()
    statuses = {arm["name"]: arm["status"] for arm in summarize(load_experiment(folder))["arms"]}
    assert statuses["lowat-4096"] == "failed"


@pytest.mark.parametrize("outcome", ["", "[]", '{"status": "ok"}'])
def test_an_outcome_that_is_none(tmp_path: Path, outcome: str) -> None:
    """Whatever the guest left of it."""
    fabric = CopyingFabric(troubles={"lowat-4096": f"printf %s '{outcome}' >outcome.json"})
    sweep = sweep_of(VALUES, results=tmp_path, fabric=fabric)
    _, heard = carried_out(sweep, Local(sweep.manner, 2))
    bad = {name: str(ending.reason) for name, ending in heard.items() if ending.status != "ok"}
    assert list(bad) == ["lowat-4096.1"]
    assert bad["lowat-4096.1"].startswith("lowat-4096.1: it could not be judged: ")


def test_an_interruption_leaves_what_is_done(tmp_path: Path) -> None:
    """The others' jobs are gone, and whoever goes on makes no run twice that was filed."""
    fabric = CopyingFabric(log=tmp_path / "made")
    sweep = sweep_of(VALUES, repeat=2, results=tmp_path / "results", fabric=fabric)
    told: list[str] = []

    def interrupt(run: Run, *_: object) -> None:
        told.append(run.name)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, Local(sweep.manner, 2), SweepProgress(step=str, opened=lambda _: None, ended=interrupt))  # type: ignore[arg-type]
    (partial,) = (tmp_path / "results").iterdir()
    filed = {path.name for path in partial.iterdir() if (path / "run.json").exists() and path.suffix != ".partial"}
    assert set(told) <= filed
    _, heard = carried_out(sweep, Local(sweep.manner, 2))
    assert set(heard) == set(sweep.order()) - filed
    made = (tmp_path / "made").read_text().split()
    assert len(made) <= len(sweep.order()) + 2


class Forgetful(Local):
    """Does not carry out one of the runs."""

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        super().carry_out([run for run in runs if run.name != "lowat-4096.1"], store, ended)


def test_a_run_that_did_not_come_back(tmp_path: Path) -> None:
    """The sweep is not finished, and can be gone on with."""
    sweep = sweep_of(VALUES, results=tmp_path)
    with pytest.raises(StepFailed, match=r"the sweep: 1 run had no result, lowat-4096\.1 among them"):
        carried_out(sweep, Forgetful(sweep.manner, 2))
    _, heard = carried_out(sweep, Local(sweep.manner, 2))
    assert list(heard) == ["lowat-4096.1"]


def test_no_more_side_by_side_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One per processor, fewer where a guest's memory is more than its share, and one at least."""
    sweep = sweep_of(VALUES)
    memory = tmp_path / "meminfo"
    monkeypatch.setattr(local, "_MEMORY", memory)
    rooms_mib: list[int] = []
    monkeypatch.setattr(local, "memory_room_mib", lambda _: rooms_mib[-1])
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    for free_mib, room_mib, most in (
        (100_000, 100_000, 8),
        (1500, 100_000, 2),
        (100, 100_000, 1),
        (100_000, 1600, 3),
        (100_000, 0, 1),
    ):
        rooms_mib.append(room_mib)
        memory.write_text(f"MemTotal: 1 kB\nMemAvailable:   {free_mib * 1024} kB\n")
        assert bearable(sweep.scenarios, sweep.manner.fabric) == most


@pytest.mark.parametrize(("processors", "most"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_on_a_real_clock_an_arm_has_two_processors(monkeypatch: pytest.MonkeyPatch, processors: int, most: int) -> None:
    """Waiting for one would be measured; where guests' memory would be does not matter."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.setattr(local, "_available_mib", lambda: 100_000)
    monkeypatch.setattr(local, "memory_room_mib", lambda _: 0)
    assert bearable(sweep_of(VALUES).scenarios, cast("Fabric", CopyingFabric(virtual_clock=False))) == most


@pytest.mark.parametrize(
    ("clients", "fabric", "processors", "most"),
    [
        (("h2", "h2"), VIRTUAL, 2, 2),
        (("h2", "h2"), REAL, 2, 2),
        (("chromium",), REAL, 2, 1),
        (("h2", "chromium"), REAL, 5, 2),
        (("h2",), VIRTUAL, 8, 6),
        (("h2", "chromium"), VIRTUAL, 8, 2),
    ],
)
def test_an_experiment_has_as_many_arms_at_once_as_the_machine_bears(
    monkeypatch: pytest.MonkeyPatch, clients: tuple[str, ...], fabric: CopyingFabric, processors: int, most: int
) -> None:
    """Of ordinary arms two on two processors; a browser is many processes, and its guest large."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.setattr(local, "_available_mib", lambda: 3500)
    monkeypatch.setattr(local, "memory_room_mib", lambda _: 100_000)
    scenarios = [scenario_from({"CLIENT": client}) for client in clients]
    assert side_by_side(scenarios, cast("Fabric", fabric)) == most
