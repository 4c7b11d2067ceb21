"""Tests of the executor on this machine, with a fabric that copies: real jobs, real run folders."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from priolab.analysis.loads.findings import findings as judge
from priolab.analysis.records.runs import Evidence, load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.common.errors import StepFailed
from priolab.common.formats.run import RunRecord
from priolab.experiments.execution import executor, local
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.execution.cost import cost_s
from priolab.experiments.execution.executor import OnEnded, RunStore
from priolab.experiments.execution.experiment import side_by_side
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.hosts.fabric import Fabric
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.sweep.sweep import Sweep, SweepProgress, run_sweep
from tests.support.sweeping import CopyingFabric, sweep_of

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
    """Each bad run has a reason and a log; all others are ok, and the folder is a complete experiment."""
    fabric = CopyingFabric(
        troubles={
            "lowat-4096": "echo no such luck; exit 3",
            "lowat-16384": """printf %s '{"status": "invalid", "reason": "rate", "observed": {}}' >outcome.json""",
        }
    )
    sweep = sweep_of(VALUES, repeat=2, results=tmp_path, fabric=fabric)
    folder, heard = carried_out(sweep, Local(sweep.run_settings, 2))
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
    """Each run of a shared command is finished on its own. If the command breaks off, the run in progress failed.
    Runs that had not begun are started again.
    """
    fabric = CopyingFabric(troubles={"lowat-4096": "exit 3"}, log=tmp_path / "made", runs_per_command=4)
    sweep = sweep_of(VALUES, repeat=3, results=tmp_path / "results", fabric=fabric)
    folder, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    bad = {name for name, ending in heard.items() if ending.status != "ok"}
    assert bad == {f"lowat-4096.{number}" for number in (1, 2, 3)}
    made = (tmp_path / "made").read_text().split()
    assert sorted(made) == sorted(f"{name}.partial" for name in sweep.order())
    assert sorted(heard) == sorted(sweep.order())
    assert len([path for path in folder.iterdir() if path.is_dir()]) == len(sweep.order())


@dataclass
class ListingFabric(CopyingFabric):
    """A fabric that notes the list of each command. thief: True if the first command claims all runs and ends."""

    lists: list[list[str]] = field(default_factory=list)
    thief: bool = False

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        self.lists.append([folder.path.name.removesuffix(".partial") for _, folder in runs])
        if self.thief and len(self.lists) == 1:
            (others,) = {folder.path.parent for _, folder in runs}
            return ["sh", "-c", f"rm {others}/*/waiting"]
        return super().command(runs, scratch)


def test_commands_meet_in_the_middle(tmp_path: Path) -> None:
    """Each of two commands may carry out any run. The second begins in the middle, and takes the first's last runs."""
    fabric = ListingFabric(runs_per_command=20)
    sweep = sweep_of(VALUES, repeat=3, results=tmp_path, fabric=fabric)
    carried_out(sweep, Local(sweep.run_settings, 2))
    first, second = fabric.lists
    order = list(sweep.order())
    assert first == order
    assert second == order[8:] + order[7:0:-1]


def test_a_slow_command_gets_fewer_runs(tmp_path: Path) -> None:
    """While a command is busy with a long run, the other one carries out all others, whichever list they are on."""
    fabric = ListingFabric(runs_per_command=20)
    sweep = sweep_of(VALUES, repeat=3, results=tmp_path / "results", fabric=fabric)
    slow, *others = sweep.order()
    until = f"for _ in $(seq 600); do test $(ls ../*/run.json | wc -l) -ge {len(others)} && break; sleep 0.1; done"
    waits = f"case $PWD in */{slow}.partial) {until};; esac; {fabric.copying()}"
    fabric.troubles = {slow.rpartition(".")[0]: waits}
    folder, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    assert {ending.status for ending in heard.values()} == {"ok"}
    assert [len(begun(folder, listed[0])) for listed in fabric.lists] == [1, len(others)]


def begun(folder: Path, first: str) -> list[str]:
    """Return the names of the runs that a command began. first: the name of its first run."""
    log = (folder / first / "console.log").read_text()
    return [line.removeprefix("@ begins ") for line in log.splitlines() if line.startswith("@ begins ")]


@pytest.mark.parametrize(("starts", "commands"), [(1.9, 1), (2.1, 2)])
def test_a_command_must_be_worth_its_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starts: float, commands: int
) -> None:
    """No second command starts for work that takes the first one less time than two starts."""
    fabric = ListingFabric(runs_per_command=20)
    sweep = sweep_of(VALUES, results=tmp_path, fabric=fabric)
    run_s = cost_s(sweep.scenarios[0], virtual_clock=True, sample=sweep.run_settings.sample)
    monkeypatch.setattr(executor, "GUEST_S", 5 * run_s / (starts - 1))  # the first command's start is in its time
    carried_out(sweep, Local(sweep.run_settings, 2))
    assert len(fabric.lists) == commands


def test_no_command_gets_more_runs_than_allowed(tmp_path: Path) -> None:
    """A list has at most as many runs as a command may carry out."""
    fabric = ListingFabric(runs_per_command=4)
    sweep = sweep_of(VALUES, repeat=3, results=tmp_path, fabric=fabric)
    _, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    assert sorted(heard) == sorted(sweep.order())
    assert max(map(len, fabric.lists)) == 4


def test_claimed_runs_that_never_begin_are_carried_out(tmp_path: Path) -> None:
    """A command claims runs and ends before it begins them. One of them has failed, the others are carried out."""
    fabric = ListingFabric(runs_per_command=20, thief=True)
    sweep = sweep_of(VALUES, repeat=2, results=tmp_path, fabric=fabric)
    folder, heard = carried_out(sweep, Local(sweep.run_settings, 1))
    assert {name: ending.status for name, ending in heard.items() if ending.status != "ok"} == {
        fabric.lists[0][0]: "failed"
    }
    assert sorted(heard) == sorted(sweep.order())
    assert list(folder.glob("*/waiting")) == []


def broken_runs(number: int, trouble: str, results: Path) -> tuple[str, dict[str, str], Path]:
    """Carry out a sweep in one command, in which one run does the shell commands `trouble`.
    number: the run's index in the sweep's order. Return the run's name, the reasons by run, and the command's log.
    """
    fabric = CopyingFabric(runs_per_command=10)
    sweep = sweep_of(VALUES, results=results, fabric=fabric)
    broken = sweep.order()[number]
    fabric.troubles = {broken.rpartition(".")[0]: trouble}
    folder, heard = carried_out(sweep, Local(sweep.run_settings, 1))
    assert sorted(heard) == sorted(sweep.order())
    bad = {name: str(ending.reason) for name, ending in heard.items() if ending.status != "ok"}
    return broken, bad, folder / sweep.order()[0] / "console.log"


def test_the_run_at_work_has_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a shared command, the run that hangs has its own time limit, reason, and log. The other runs go on."""
    monkeypatch.setattr(local, "wall_limit_s", lambda *_: 1.0)
    hung, bad, log = broken_runs(1, "echo so far; exec sleep 66.5", tmp_path)
    assert bad == {hung: f"{hung}: it took longer than 1 s of wall time (log: {log})"}
    assert "so far" in log.read_text()


def test_a_command_that_breaks_off(tmp_path: Path) -> None:
    """The run in progress fails. Its reason has the command's last line, and the path of the command's log.

    The log is in the folder of the command's first run.
    """
    broken, bad, log = broken_runs(2, "echo no such luck; exit 3", tmp_path)
    assert list(bad) == [broken]
    assert bad[broken].startswith(f"{broken}: it ended without an outcome; its last output: ")
    assert bad[broken].endswith(f"no such luck (log: {log})")
    assert "no such luck" in log.read_text()


def test_what_cannot_be_judged_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run whose evaluation raises any exception has failed, and the sweep goes on."""

    def findings(evidence: Evidence, *rest: Any) -> Any:
        if "lowat-4096.1" in evidence.source:
            raise KeyError("nothing like it")
        return judge(evidence, *rest)

    monkeypatch.setattr("priolab.analysis.loads.findings.findings", findings)
    sweep = sweep_of(VALUES, results=tmp_path)
    folder, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    bad = {name: str(ending.reason) for name, ending in heard.items() if ending.status != "ok"}
    log = folder / "lowat-4096.1" / "judging.log"
    assert bad == {
        "lowat-4096.1": f"lowat-4096.1: its files could not be evaluated: KeyError: 'nothing like it' (log: {log})",
    }
    assert "KeyError" in log.read_text()
    statuses = {arm["name"]: arm["status"] for arm in summarize(load_experiment(folder))["arms"]}
    assert statuses["lowat-4096"] == "failed"


@pytest.mark.parametrize("outcome", ["", "[]", '{"status": "ok"}'])
def test_an_outcome_that_is_none(tmp_path: Path, outcome: str) -> None:
    """A run with an unreadable outcome has failed."""
    fabric = CopyingFabric(troubles={"lowat-4096": f"printf %s '{outcome}' >outcome.json"})
    sweep = sweep_of(VALUES, results=tmp_path, fabric=fabric)
    _, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    bad = {name: str(ending.reason) for name, ending in heard.items() if ending.status != "ok"}
    assert list(bad) == ["lowat-4096.1"]
    assert bad["lowat-4096.1"].startswith("lowat-4096.1: its files could not be evaluated: ")


def test_an_interruption_leaves_what_is_done(tmp_path: Path) -> None:
    """After an interruption, finished runs stay, and the next sweep carries out only the missing ones."""
    fabric = CopyingFabric(log=tmp_path / "made")
    sweep = sweep_of(VALUES, repeat=2, results=tmp_path / "results", fabric=fabric)
    told: list[str] = []

    def interrupt(run: Run, *_: object) -> None:
        told.append(run.name)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, Local(sweep.run_settings, 2), SweepProgress(step=str, opened=lambda _: None, ended=interrupt))  # type: ignore[arg-type]
    (partial,) = (tmp_path / "results").iterdir()
    filed = {path.name for path in partial.iterdir() if (path / "run.json").exists() and path.suffix != ".partial"}
    assert set(told) <= filed
    _, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    assert set(heard) == set(sweep.order()) - filed
    made = (tmp_path / "made").read_text().split()
    assert len(made) <= len(sweep.order()) + 2


class Forgetful(Local):
    """An executor that omits one of the runs."""

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        super().carry_out([run for run in runs if run.name != "lowat-4096.1"], store, ended)


def test_a_run_that_did_not_come_back(tmp_path: Path) -> None:
    """A sweep that lacks a run fails, and can be continued."""
    sweep = sweep_of(VALUES, results=tmp_path)
    with pytest.raises(StepFailed, match=r"the sweep: 1 run ended without a result, for example lowat-4096\.1"):
        carried_out(sweep, Forgetful(sweep.run_settings, 2))
    _, heard = carried_out(sweep, Local(sweep.run_settings, 2))
    assert list(heard) == ["lowat-4096.1"]


def test_no_more_side_by_side_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The number of runs side by side is limited by processors and by memory for guests, and is at least 1."""
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
        assert bearable(sweep.scenarios, sweep.run_settings.fabric) == most


@pytest.mark.parametrize(("processors", "most"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_on_a_real_clock_an_arm_has_two_processors(monkeypatch: pytest.MonkeyPatch, processors: int, most: int) -> None:
    """On a real clock each arm has two processors, because waiting for one would affect results.
    Memory for guests does not limit it.
    """
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
    """Two arms with the lab's client run side by side on two processors. A browser's arm needs more.
    It needs more processors, and more memory for its guest.
    """
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.setattr(local, "_available_mib", lambda: 3500)
    monkeypatch.setattr(local, "memory_room_mib", lambda _: 100_000)
    scenarios = [scenario_from({"CLIENT": client}) for client in clients]
    assert side_by_side(scenarios, cast("Fabric", fabric)) == most
